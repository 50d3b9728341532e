"""Reading of small files during planning, restricted to regular files of limited size.

A pipe, a device or a huge file in an encoder's folder would make planning hang or fill the memory. Here, it causes a one-line
error.
"""

import json
from pathlib import Path
from typing import Any

from crosslens.jobs.errors import DataError
from crosslens.jobs.quantities import readable

LARGEST = 10**6  # bytes
LARGEST_JSON = 10**7  # bytes; config.json of an encoder may list many labels


def regular(path: Path) -> int:
    """Size of a regular file in bytes. Raises DataError for a folder, pipe or device, OSError if the path does not exist."""
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: expected a file, found a folder, a pipe or a device; put the file itself there")
    return path.stat().st_size


def read_text(path: Path, largest: int = LARGEST) -> str:
    """Text of a small file in UTF-8.

    Raises DataError if it is not a regular file, larger than `largest` bytes or not UTF-8, OSError if it may not be read.
    """
    if (size := regular(path)) > largest:
        raise DataError(f"{path}: expected at most {readable(largest)}, found {readable(size)}; put the right file there")
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: expected UTF-8, found byte {error.start} that is not; save it in UTF-8") from None


def read_json(path: Path) -> Any:
    """Content of a small JSON file. Raises DataError if it is not valid, OSError if it may not be read."""
    return parse_json(read_text(path, LARGEST_JSON), path)


def parse_json(text: str | bytes, place: object) -> Any:
    """Content of a JSON text. place: its file, for messages. Raises DataError if it is not valid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: deeply nested brackets
        raise DataError(f"{place}: not valid JSON: {' '.join(str(error).split()):.200}; correct it") from None
