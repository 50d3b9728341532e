"""Accuracy of language identification from the spelling of words alone: a baseline for probes of hidden states."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from crosslens.encoding.samples import read
from crosslens.measures.probes import accuracy_of
from crosslens.measures.shared.subject import Subject


def measure(subject: Subject, *, target: str, paragraphs: str) -> Iterator[dict[str, Any]]:
    """Yield the accuracy on the sampled words of `target` and on the test words of `paragraphs`.

    The baseline is trained on the words of `paragraphs` in train.
    """
    paragraph_words, words = read(subject.folder / paragraphs), read(subject.folder / target)
    train, test = (
        paragraph_words.take(paragraph_words.random & (paragraph_words.splits == split)) for split in ("train", "test")
    )
    for corpus, tested in ((target, words.take(words.random)), (paragraphs, test)):
        predicted = spelling_probe(train.words.tolist(), train.languages, tested.words.tolist())
        yield {"corpus": corpus, "measure": "spelling", "definition": "accuracy"} | accuracy_of(predicted, tested)


def spelling_probe(train: Sequence[str], truth: np.ndarray, test: Sequence[str]) -> np.ndarray:
    """Return the classes that naive Bayes on character 1- to 3-grams predicts for test words. truth: (n_train,) classes."""
    model = make_pipeline(CountVectorizer(analyzer="char_wb", ngram_range=(1, 3), lowercase=False), MultinomialNB(alpha=0.1))
    return np.asarray(model.fit(train, truth).predict(test))
