"""Splits of a corpus that has official files: a validation share of train, and samples."""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from crosslens.corpora.schema import write
from crosslens.errors import DataError

Row = dict[str, Any]


class Reader(Protocol):
    """A module that reads one kind of corpus: treebanks, entities, pairs, documents, dictionaries."""

    SCHEMA: pa.Schema

    def read(self, paths: Sequence[Path], language: str, /, **settings: Any) -> tuple[list[Row], dict[str, int]]:
        """Rows of the schema, in the order of the files; why -> how many the files have that were dropped."""


@dataclass(frozen=True)
class Part:
    """Rows of a split, and where they come from."""

    rows: list[Row]
    dropped: dict[str, int]  # why -> how many of the files' rows
    files: list[str]
    drawn_from: str  # the split whose files these are
    available: int  # rows before the limit

    def metadata(self) -> dict[str, Any]:
        """What a corpus file tells of itself, beside its rows."""
        return {"files": self.files, "dropped": self.dropped, "drawn_from": self.drawn_from, "available": self.available}


def write_splits(
    reader: Reader,
    files: Mapping[str, Sequence[Path]],
    outputs: Mapping[str, Path],
    *,
    language: str,
    validation_share: float,
    limits: Mapping[str, int],
    seed: int,
    **settings: Any,
) -> dict[str, int]:
    """Write the splits of a language's corpus; returns rows by split.

    files: split -> official files; outputs: split -> Parquet file; settings: the reader's own.
    Where `validation` is asked for and has no files, it is a share of train, drawn at random, and train is the rest
    (tanti2021, appendix A: 10 % of English train). limits: at most so many rows of a split, drawn at random after that.
    Samples keep the order of the files; they depend on the seed, the language and the split alone; translations (`parallel`
    among the settings) are drawn alike in all languages.
    Raises DataError where a split has no files or ends up empty, or the reader finds a fault; then nothing is written.
    """
    parts = _draw(reader, files, outputs, language, validation_share, limits, seed, settings)
    told = {name: str(value) for name, value in settings.items()}
    for split, part in parts.items():
        write(part.rows, outputs[split], reader.SCHEMA, part.metadata() | told | {"seed": seed})
    return {split: len(part.rows) for split, part in parts.items()}


def _draw(
    reader: Reader,
    files: Mapping[str, Sequence[Path]],
    asked: Collection[str],
    language: str,
    validation_share: float,
    limits: Mapping[str, int],
    seed: int,
    settings: Mapping[str, Any],
) -> dict[str, Part]:
    """Rows of the asked splits."""
    drawn = "validation" in asked and not files.get("validation")
    sources = {split: "train" if drawn and split == "validation" else split for split in asked}
    whole: dict[str, Part] = {}
    for split in sorted(set(sources.values())):
        if not files.get(split):
            raise DataError(f"{language}.{split}: no files; name some for this split in the configuration")
        rows, dropped = reader.read(files[split], language, **settings)
        whole[split] = Part(rows, dropped, [path.name for path in files[split]], split, len(rows))
    if drawn:
        rows = whole["train"].rows
        order = list(range(len(rows)))
        random.Random(f"{seed}/{language}/validation").shuffle(order)
        chosen = set(order[: round(validation_share * len(order))])
        for split, inside in (("train", False), ("validation", True)):
            kept = [row for i, row in enumerate(rows) if (i in chosen) == inside]
            whole[split] = replace(whole["train"], rows=kept, available=len(kept))
    who = "parallel" if settings.get("parallel") else language
    parts = {}
    for split in asked:
        part = whole[split]
        limit = limits.get(split, len(part.rows))
        if limit < len(part.rows):
            sample = sorted(random.Random(f"{seed}/{who}/{split}/limit").sample(range(len(part.rows)), limit))
            part = replace(part, rows=[part.rows[i] for i in sample])
        if not part.rows:
            raise DataError(
                f"{', '.join(map(str, files[part.drawn_from]))}: no rows for {language}.{split} (dropped: {part.dropped}, "
                f"limit {limits.get(split)}, validation share {validation_share:g}); name other files or change these"
            )
        parts[split] = part
    return parts
