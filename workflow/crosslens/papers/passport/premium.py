"""passport: the premium, how many subwords a language needs relative to the pivot; no weights are needed."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crosslens.encoding.samples import SampledWords
from crosslens.encoding.tokens.counts import Counts, Vocabulary
from crosslens.measures.shared.parallel import FORMULA, estimate, lengths
from crosslens.papers.passport.terms import UNKNOWN

BYTE = re.compile(r"<0x[0-9A-F]{2}>")  # a subword for one byte of a character that the vocabulary lacks
PREMIUM, DENSITY = "premium", "subwords per character"


def premium(
    tokens: Path, tokenizer: Path, sentences: SampledWords, languages: Sequence[str], pivot: str, blocks: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Yield the records of each language; the baseline is the premium of a model that reads bytes.

    In a sentence that was cut, only the remaining subwords count.

    tokens: folder of the parallel sentences' tokens. sentences: the texts themselves. blocks: (n,) block of each sentence, for
    intervals.
    """
    vocabulary = Vocabulary.read(tokenizer)
    is_byte = np.array([bool(BYTE.fullmatch(subword)) for subword in vocabulary.subwords])
    subwords, sizes, counts = {}, {}, {}
    for language in languages:
        file = tokens / f"{language}.test.parquet"
        texts = sentences.words[_tested(sentences, language)].tolist()
        all_subwords = lengths(file, ids_of(sentences, language))
        counts[language] = Counts.read(file, vocabulary)
        special = all_subwords.sum() - counts[language].subwords  # the same number in each sentence
        subwords[language] = all_subwords - special / len(all_subwords)
        sizes[language] = np.array([len(text.encode()) for text in texts]), np.array([len(text) for text in texts])
    for language in languages:
        total = counts[language].subwords
        place = {"measure": "premium", "language": language}
        yield place | {"definition": PREMIUM} | _ratio(subwords[language], subwords[pivot], blocks)
        bytes_of_language, characters = sizes[language]
        ratio = float(bytes_of_language.sum() / sizes[pivot][0].sum())
        yield place | {"definition": PREMIUM, "item": FORMULA, "value": ratio, "n": len(blocks)}
        lost = counts[language].unknown + int(counts[language].known[is_byte].sum())
        yield place | {"definition": UNKNOWN, "value": lost / total, "n": total}
        yield place | {"definition": DENSITY} | _ratio(subwords[language], characters.astype(float), blocks)


def ids_of(sentences: SampledWords, language: str) -> list[str]:
    """Ids of a language's test sentences in the corpus, which translations share."""
    return [text.partition("/")[2] for text in sentences.texts[_tested(sentences, language)]]


def _tested(sentences: SampledWords, language: str) -> np.ndarray:
    """Whether each sentence is a test sentence of a language, (n,) bool."""
    rows: np.ndarray = (sentences.languages == language) & (sentences.splits == "test")
    return rows


def _ratio(above: np.ndarray, below: np.ndarray, blocks: np.ndarray) -> dict[str, Any]:
    """Part of a record: the ratio of two sums over sentences (n,), with its interval over blocks."""
    sums = [values.sum() - np.bincount(blocks, values) for values in (above, below)]
    return estimate(float(above.sum() / below.sum()), sums[0] / sums[1], len(above), score=False)
