"""Splits of corpora with official files: their rows, samples, and a validation split taken from train."""

import math
import random
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from crosslens.corpora.schema import write
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import sha256

Row = dict[str, Any]
Name = TypeVar("Name", bound=str)


class Reader(Protocol):
    """A module that reads one kind of corpus: treebanks, entities, pairs, documents, dictionaries."""

    SCHEMA: pa.Schema

    def read(self, paths: Sequence[Path], language: str, /, **settings: Any) -> tuple[list[Row], dict[str, int]]:
        """Rows of the schema, in the order of the files, and the number of dropped rows by reason."""


def write_split(
    reader: Reader,
    files: Sequence[Path],
    output: Path,
    *,
    language: str,
    split: str,
    limit: int | None,
    seed: int,
    **settings: Any,
) -> int:
    """Write a split of a language's corpus, and return its number of rows.

    files: the split's official files. settings: the reader's own. limit: largest number of rows, sampled at random if there
    are more; None: all rows.
    Samples keep the order of the files and depend only on the seed, the language and the split. If `parallel` is among the
    settings, they do not depend on the language, so that all languages have the same sample of translations.
    Raises DataError if there are no files, two files with the same content, or no rows, or if the reader finds a fault; nothing
    is then written.
    """
    if not files:
        raise DataError(f"{language}.{split}: expected files, found none; name some for this split in the configuration")
    contents: dict[str, Path] = {}
    for path in files if len(files) > 1 else ():
        if (same := contents.setdefault(sha256(path), path)) != path:
            raise DataError(
                f"{path}:1: expected files that differ, found the content of {same}, whose rows would double; name one"
            )
    rows, dropped = reader.read(files, language, **settings)
    if not rows:
        names = ", ".join(map(str, files))
        raise DataError(f"{names}: expected rows for {language}.{split}, found none (dropped: {dropped}); name other files")
    metadata = {"files": [path.name for path in files], "dropped": dropped, "available": len(rows), "seed": seed}
    metadata |= {name: str(value) for name, value in settings.items()}
    if limit is not None and limit < len(rows):
        stream = "parallel" if settings.get("parallel") else language
        sample = sorted(random.Random(f"{seed}/{stream}/{split}/limit").sample(range(len(rows)), limit))
        rows = [rows[i] for i in sample]
    write(rows, output, reader.SCHEMA, metadata)
    return len(rows)


def validation(groups: Sequence[Hashable], share: float, seed: int, language: str) -> set[int]:
    """Indices of the texts of train that become validation.

    groups: (n_texts,), key of each text's group, such as its premise; the texts of a group stay together. If there are no
    groups, the key is the text's index. int(share x n) of n groups are sampled; the others remain in train (tanti2021's code,
    common/dataset/dataset.py:391-460: 2,100 of 21,006 and 39,037 of 390,377).
    """
    names = list(dict.fromkeys(groups))
    random.Random(f"{seed}/{language}/validation").shuffle(names)
    chosen = set(names[: int(share * len(names))])
    return {place for place, name in enumerate(groups) if name in chosen}


def apportion(number: int, shares: Mapping[Name, float]) -> dict[Name, int]:
    """Whole parts of a number in proportion to shares, by the largest remainder method."""
    exact = {split: number * share / sum(shares.values()) for split, share in shares.items()}
    # Rounding removes the error of floating-point numbers, so that 0.1 * 30 counts as 3.
    parts = {split: math.floor(round(value, 9)) for split, value in exact.items()}
    for split in sorted(exact, key=lambda split: parts[split] - exact[split])[: number - sum(parts.values())]:
        parts[split] += 1
    return parts
