"""F1 of named entities: spans of IOB2 tags, in whole sentences and in windows of long ones."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from crosslens.measures.given import Given
from crosslens.numerics.definitions import ACROSS_WINDOWS, F1, F1_BY_WINDOW, F1_MISC_AS_O, F1_STRICT
from crosslens.numerics.f1 import chunk_counts, cut_shares, flattened, micro_f1, sentences
from crosslens.numerics.intervals import score_interval
from crosslens.storage import parquet

READS = ("predictions",)


def measure(given: Given, *, head: str, labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Scores on each corpus, split and language, with intervals over sentences. labels: the tags, `O` among them.

    The windows of a long sentence are put together before spans are found. F1_BY_WINDOW is the published score of wu2019 and of
    XTREME, which find them in each window: an entity across an edge is two. It is there in any case, equal to F1 where no
    sentence has several windows, so that what reads it need not know.
    """
    table = parquet.read(given.folder / "predictions.parquet").to_pandas()
    table = table[table["head"] == head]
    for (corpus, split, language), part in table.groupby(["corpus", "split", "language"], sort=False):
        place = {"item": head, "corpus": corpus, "split": split, "language": language}
        gold, predicted, rows = flattened(part["gold"].tolist(), part["predicted"].tolist())
        lost = cut_shares(part["cut"].to_numpy(), part["cut_words"].to_numpy(), sum(map(len, part["gold"])))
        for definition, (share, n) in lost.items():
            yield place | {"measure": "cut", "definition": definition, "value": share, "n": n}
        whole = sentences(part["id"].tolist())
        n = int(whole[-1]) + 1
        readings = _readings(gold, predicted, whole[rows], labels)
        found = {name: chunk_counts(*tags, whole[rows], n, labels) for name, tags in readings.items()}
        found[F1_BY_WINDOW] = chunk_counts(gold, predicted, rows, len(part), labels).together(whole)
        entities = int(found[F1].true.sum())
        crossings = found[F1_BY_WINDOW].true.sum() - entities  # each adds a span
        yield place | {"measure": "cut", "definition": ACROSS_WINDOWS, "value": crossings / max(entities, 1), "n": entities}
        for definition, counts in found.items():
            value, low, high = score_interval(counts, micro_f1)
            yield place | {"measure": "score", "definition": definition, "value": value, "low": low, "high": high,
                           "n": int(counts.true.sum())}  # fmt: skip


def _readings(
    gold: np.ndarray, predicted: np.ndarray, rows: np.ndarray, labels: Sequence[str]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Definition -> gold and predicted tags as it reads them.

    A gold MISC can only be missed by a model whose training data have none; with MISC as O it is not asked for.
    """
    outside = labels.index("O")
    misc = [number for number, tag in enumerate(labels) if tag.endswith("-MISC")]
    readings = {F1: (gold, predicted), F1_STRICT: (strict(gold, rows, labels), strict(predicted, rows, labels))}
    if misc:
        gold_without, predicted_without = (np.where(np.isin(tags, misc), outside, tags) for tags in (gold, predicted))
        readings[F1_MISC_AS_O] = (gold_without, predicted_without)
    return readings


def strict(tags: np.ndarray, sentences: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """Tags whose I- do not continue a span of their type made O: what seqeval reads in strict mode under IOB2."""
    outside, read = labels.index("O"), tags.copy()
    before, sentence = "O", -1
    for place, (number, row) in enumerate(zip(tags.tolist(), sentences.tolist(), strict=True)):
        tag = labels[number]
        if row != sentence:
            before, sentence = "O", row
        if tag.startswith("I-") and before[2:] != tag[2:]:
            tag, read[place] = "O", outside
        before = tag
    return read
