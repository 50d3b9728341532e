"""Writing of all languages and splits of a corpus from its official files."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from crosslens.corpora.archives import extracted
from crosslens.corpora.overlap import words_in_train
from crosslens.corpora.splits import Reader, write_split
from crosslens.jobs.checksums import checksummed, digest, write_checksums
from crosslens.jobs.errors import DataError
from crosslens.jobs.progress import Progress


def write_corpus(
    reader: Reader,
    parts: Mapping[str, Mapping[str, Sequence[str]]],
    folder: Path,
    log: logging.Logger,
    *,
    limits: Mapping[str, int],
    texts: Mapping[str, str],
    **settings: Any,
) -> None:
    """Write LANGUAGE.SPLIT.parquet of each part into `folder`: all of them or nothing.

    parts: archive -> LANGUAGE.SPLIT -> glob patterns of its members; the key "" has the paths of files outside archives.
    limits: split -> largest number of rows per language. texts: language -> archive of texts, if the reader needs one.
    settings: the seed and the reader's own. Each archive is opened once; memory holds the rows of one part at a time.
    Raises DataError if a part has no files or no rows, the reader finds a fault, or a split has the texts of train.
    """
    parts_by_content: dict[tuple[str, str], list[str]] = {}
    with checksummed(folder) as temporary, Progress(sum(map(len, parts.values())), "files", log) as progress:
        for archive, patterns_by_part in parts.items():
            with extracted(Path(archive), patterns_by_part) if archive else _plain(patterns_by_part) as paths_by_part:
                for part in patterns_by_part:
                    language, split = part.split(".")
                    own_settings = {**settings, "texts": Path(texts[language])} if language in texts else settings
                    files, output = paths_by_part.get(part, []), temporary / f"{part}.parquet"
                    for file in (file for file in files if not file.name.startswith("y_")):  # label files of WiLI may coincide
                        parts_of_file = parts_by_content.setdefault((language, digest(file)), [])
                        parts_of_file.append(part)
                        if f"{language}.train" in parts_of_file and (names := " and ".join(sorted({*parts_of_file}))) != part:
                            raise DataError(f"{file}:1: expected files that differ, found the same one for {names}; name another")
                    rows = write_split(
                        reader, files, output, language=language, split=split, limit=limits.get(split), **own_settings
                    )
                    log.info("%s: %d rows", part, rows)
                    progress.advance()
        write_checksums(temporary)  # first, since files are not read without a checksum file
        for output in sorted(temporary.glob("*.parquet")):
            words_in_train(output)  # which raises DataError if train has all texts of a split


def _plain(files_by_part: Mapping[str, Sequence[str]]) -> AbstractContextManager[Mapping[str, Sequence[Path]]]:
    """Context manager that yields the paths of files outside archives, by part, as `extracted` does for members."""
    return nullcontext({part: [Path(file) for file in files] for part, files in files_by_part.items()})
