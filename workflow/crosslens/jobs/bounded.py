"""Reading of small files of text and of JSON."""

import json
from pathlib import Path
from typing import Any

from crosslens.jobs.errors import DataError


def read_text(path: Path) -> str:
    """Text of a file in UTF-8. Raises DataError if it is not UTF-8, OSError if it may not be read."""
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: expected UTF-8, found byte {error.start} that is not; save it in UTF-8") from None


def read_json(path: Path) -> Any:
    """Content of a JSON file. Raises DataError if it is not valid, OSError if it may not be read."""
    return parse_json(read_text(path), path)


def parse_json(text: str | bytes, place: object) -> Any:
    """Content of JSON. place: where it is, for messages. Raises DataError if it is not valid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: deeply nested brackets
        raise DataError(f"{place}: not valid JSON: {' '.join(str(error).split()):.200}; correct it") from None
