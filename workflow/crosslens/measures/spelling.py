"""How well spelling alone tells the language of a word (of a text): what an encoder has to beat."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from crosslens.encoding.drawn import read
from crosslens.measures.given import Given
from crosslens.measures.probes import accuracy_of

READS = ("draws",)


def measure(given: Given, *, target: str, paragraphs: str) -> Iterator[dict[str, Any]]:
    """Languages of the drawn words of `target`, and of `paragraphs`, on which the baseline is trained."""
    known, words = read(given.folder / paragraphs), read(given.folder / target)
    train, test = (known.take(known.random & (known.splits == split)) for split in ("train", "test"))
    for corpus, tested in ((target, words.take(words.random)), (paragraphs, test)):
        predicted = spelling_probe(train.words.tolist(), train.languages, tested.words.tolist())
        yield {"corpus": corpus, "measure": "spelling", "definition": "accuracy"} | accuracy_of(predicted, tested)


def spelling_probe(train: Sequence[str], truth: np.ndarray, test: Sequence[str]) -> np.ndarray:
    """Classes by naive Bayes on character 1- to 3-grams of the word."""
    model = make_pipeline(CountVectorizer(analyzer="char_wb", ngram_range=(1, 3), lowercase=False), MultinomialNB(alpha=0.1))
    return np.asarray(model.fit(train, truth).predict(test))
