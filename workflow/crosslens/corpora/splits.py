"""Splits of a corpus that has official files: a validation share of train, and samples."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from crosslens.errors import DataError

Row = TypeVar("Row")


@dataclass(frozen=True)
class Part(Generic[Row]):
    """Rows of a split, and where they come from."""

    rows: list[Row]
    dropped: dict[str, int]  # why -> how many of the files' rows
    files: list[str]
    drawn_from: str  # the split whose files these are
    available: int  # rows before the limit

    def metadata(self) -> dict[str, Any]:
        """What a corpus file tells of itself, beside its rows."""
        return {"files": self.files, "dropped": self.dropped, "drawn_from": self.drawn_from, "available": self.available}


def draw_splits(
    read: Callable[[Sequence[Path]], tuple[list[Row], dict[str, int]]],
    files: Mapping[str, Sequence[Path]],
    asked: Collection[str],
    *,
    language: str,
    validation_share: float,
    limits: Mapping[str, int],
    seed: int,
) -> dict[str, Part[Row]]:
    """Rows of the asked splits of a language.

    read: the kept rows of some files, in order, and how many were dropped by reason. files: by split. Where `validation`
    is asked for and has no files, it is a share of train, drawn at random, and train is the rest (tanti2021, appendix A:
    10 % of English train). limits: at most so many rows of a split, drawn at random after that. Samples keep the order
    of the files; they depend on the seed, the language and the split alone.
    Raises DataError where a split has no files or ends up empty.
    """
    drawn = "validation" in asked and not files.get("validation")
    sources = {split: "train" if drawn and split == "validation" else split for split in asked}
    whole: dict[str, Part[Row]] = {}
    for split in sorted(set(sources.values())):
        if not files.get(split):
            raise DataError(f"{language}.{split}: no files; name some for this split in the configuration")
        rows, dropped = read(files[split])
        whole[split] = Part(rows, dropped, [path.name for path in files[split]], split, len(rows))
    if drawn:
        rows = whole["train"].rows
        order = list(range(len(rows)))
        random.Random(f"{seed}/{language}/validation").shuffle(order)
        chosen = set(order[: round(validation_share * len(order))])
        for split, inside in (("train", False), ("validation", True)):
            kept = [row for i, row in enumerate(rows) if (i in chosen) == inside]
            whole[split] = replace(whole["train"], rows=kept, available=len(kept))
    parts = {}
    for split in asked:
        part = whole[split]
        limit = limits.get(split, len(part.rows))
        if limit < len(part.rows):
            sample = sorted(random.Random(f"{seed}/{language}/{split}/limit").sample(range(len(part.rows)), limit))
            part = replace(part, rows=[part.rows[i] for i in sample])
        if not part.rows:
            raise DataError(
                f"{', '.join(part.files)}: no sentences for {language}.{split} (dropped: {part.dropped}, "
                f"limit {limits.get(split)}, validation share {validation_share:g}); name other files or change these"
            )
        parts[split] = part
    return parts
