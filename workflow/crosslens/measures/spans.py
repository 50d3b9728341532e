"""F1 of named entities, read as spans of IOB2 tags in whole sentences and in the windows of long ones."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from crosslens.jobs import parquet
from crosslens.measures.shared.subject import Subject
from crosslens.measures.shared.unseen import score_records, unseen
from crosslens.numerics.definitions import ACROSS_WINDOWS, F1, F1_BY_WINDOW, F1_MISC_AS_O, F1_STRICT
from crosslens.numerics.f1 import chunk_counts, cut_shares, flattened, micro_f1, sentences


def measure(
    subject: Subject, *, head: str, labels: Sequence[str], training: Sequence[Sequence[str]] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the scores on each corpus, split and language, with intervals over sentences.

    The windows of a long sentence are joined before spans are read. F1_BY_WINDOW is the published score of wu2019 and of
    XTREME, which read spans in each window, so that an entity that crosses an edge counts as two. It is yielded even if no
    sentence has several windows and it equals F1, so that tables can rely on it.

    labels: the tags, including `O`. training: corpus, language and split of each file of training data (see `unseen`).
    """
    table = parquet.read(subject.folder / "predictions.parquet").to_pandas()
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
        counts_by_definition = {name: chunk_counts(*tags, whole[rows], n, labels) for name, tags in readings.items()}
        counts_by_definition[F1_BY_WINDOW] = chunk_counts(gold, predicted, rows, len(part), labels).together(whole)
        entities = int(counts_by_definition[F1].true.sum())
        crossings = counts_by_definition[F1_BY_WINDOW].true.sum() - entities  # each crossing adds a span
        yield place | {"measure": "cut", "definition": ACROSS_WINDOWS, "value": crossings / max(entities, 1), "n": entities}
        is_unseen = unseen(subject, part, training)[np.unique(whole, return_index=True)[1]]
        yield from score_records(place, counts_by_definition, micro_f1, is_unseen)


def _readings(
    gold: np.ndarray, predicted: np.ndarray, rows: np.ndarray, labels: Sequence[str]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return definition -> gold and predicted tags as that definition reads them.

    A model without MISC in its training data can only miss a gold MISC; F1_MISC_AS_O does not count it.

    rows: (n,), number of each tag's sentence.
    """
    outside = labels.index("O")
    misc = [number for number, tag in enumerate(labels) if tag.endswith("-MISC")]
    readings = {F1: (gold, predicted), F1_STRICT: (strict(gold, rows, labels), strict(predicted, rows, labels))}
    if misc:
        gold_without, predicted_without = (np.where(np.isin(tags, misc), outside, tags) for tags in (gold, predicted))
        readings[F1_MISC_AS_O] = (gold_without, predicted_without)
    return readings


def strict(tags: np.ndarray, sentences: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """Return tags with each I- that does not continue a span of its type replaced by O, as seqeval's strict IOB2 reads them."""
    outside, strict_tags = labels.index("O"), tags.copy()
    before, sentence = "O", -1
    for place, (number, row) in enumerate(zip(tags.tolist(), sentences.tolist(), strict=True)):
        tag = labels[number]
        if row != sentence:
            before, sentence = "O", row
        if tag.startswith("I-") and before[2:] != tag[2:]:
            tag, strict_tags[place] = "O", outside
        before = tag
    return strict_tags
