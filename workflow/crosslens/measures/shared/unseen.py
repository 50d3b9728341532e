"""Scores on the test texts that do not occur in the training data of their language, in addition to those on all texts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from crosslens.corpora.overlap import repeated
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.f1 import Counts
from crosslens.numerics.intervals import score_interval

UNSEEN = "; texts unseen in training"  # suffix of the definition of a score


def unseen(subject: Subject, part: pd.DataFrame, training: Sequence[Sequence[str]]) -> np.ndarray:
    """Return whether each row of predictions is of a text that the training data of its language lack, (n,) bool.

    Rows outside test count as unseen. training: corpus, language and split of each file of training data.
    """
    is_unseen = np.full(len(part), True)
    groups: Any = part.groupby(["corpus", "split", "language"]).indices
    for (corpus, split, language), rows in groups.items():
        train = [subject.tokens[folder] / f"{code}.{name}.parquet" for folder, code, name in training if code == language]
        if train and split == "test":
            ids = repeated(subject.tokens[corpus] / f"{language}.{split}.parquet", *train)["id"].to_pylist()
            is_unseen[rows] = ~part["id"].iloc[rows].isin(ids)
    return is_unseen


def subsets(chosen: np.ndarray, is_unseen: np.ndarray) -> dict[str, np.ndarray]:
    """Return suffix of a definition -> rows, (n,) bool: the chosen ones, and the unseen ones if only some of these are."""
    return {"": chosen} | ({UNSEEN: chosen & is_unseen} if 0 < (chosen & is_unseen).sum() < chosen.sum() else {})


def score_records(
    place: Mapping[str, Any], counts: Mapping[str, Counts], score: Callable[[Counts], np.ndarray], is_unseen: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Yield the records of a score by definition.

    place: fields of every record. counts: definition -> counts of n texts. is_unseen: (n,) bool.
    """
    for suffix, rows in subsets(np.full(len(is_unseen), True), is_unseen).items():
        for definition, part in ((name, take(part, rows)) for name, part in counts.items()):
            value, low, high = score_interval(part, score)
            yield {**place, "measure": "score", "definition": f"{definition}{suffix}", "value": value, "low": low, "high": high,
                   "n": int(part.true.sum())}  # fmt: skip


def take(counts: Counts, rows: np.ndarray) -> Counts:
    """Return the counts of some rows."""
    return Counts(counts.true[rows], counts.predicted[rows], counts.correct[rows])
