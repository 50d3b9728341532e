"""Reader of bilingual dictionaries in MUSE's format."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crosslens.corpora.lines import read_lines, refuse, stem
from crosslens.corpora.schema import DICTIONARY
from crosslens.jobs.errors import DataError

SCHEMA = DICTIONARY
SMALLEST = 20  # fewest entries of a file, so that no error page passes; MUSE's files have 1,500 words or more
DIRECTION = re.compile(r"([a-z]{2,3})-([a-z]{2,3})\.")  # en-fr.0-5000.txt


def read(paths: Sequence[Path], language: str) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Rows of the distinct entries in some files, in order, and the number of repeated entries that are left out (`repeated`).

    An entry is a line: source word, tab or space, target word. Words may contain spaces only if a tab separates them; those in
    the official files contain none. The name of a file gives its languages: en-fr.0-5000.txt is from English to French.
    `language` is either of them.

    Raises DataError, `path:line: expected, found, remedy`, for any other line or name, and for a file with few entries.
    """
    rows = []
    entries: set[tuple[str, ...]] = set()
    repeated = 0
    for path in paths:
        match = DIRECTION.match(path.name)
        if not match or language not in match.groups():
            raise DataError(
                f"{path}:1: expected a file name such as {language}-en.0-5000.txt or en-{language}.0-5000.txt, which gives the "
                "languages, source first; name another file or rename this one"
            )
        source, target = match.groups()
        number = 0
        for number, line in read_lines(path):
            parts = [part.strip() for part in line.split("\t" if "\t" in line else " ") if part.strip()]
            if len(parts) != 2:
                refuse(path, number, f"{len(parts)} parts", "a source and a target word separated by a tab or a space")
            if (source, *parts) in entries:
                repeated += 1
                continue
            entries.add((source, *parts))
            rows.append(
                {
                    "id": f"{stem(path)}/{number}",
                    "source_language": source,
                    "target_language": target,
                    "source": parts[0],
                    "target": parts[1],
                }
            )
        if number < SMALLEST:
            refuse(path, number, f"{number}", f"a dictionary of at least {SMALLEST} entries")
    return rows, {"repeated": repeated}
