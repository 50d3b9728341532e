"""Lines of official text files, and the one way to refuse one."""

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from crosslens.errors import DataError
from crosslens.files import open_binary


def refuse(path: Path, line: int, what: str, expected: str) -> NoReturn:
    """One readable line, whatever is wrong."""
    raise DataError(f"{path}:{line}: {what}, {expected} expected; fetch the file again or correct the line") from None


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number from 1, text without its line end) of a file, plain or compressed (.xz, .gz, .bz2).

    Raises DataError where it is not UTF-8 or a compressed file is cut short or damaged.
    """
    number = 0
    with open_binary(path) as stream:
        while True:
            try:
                raw = stream.readline()
            except (EOFError, OSError, ValueError) as error:
                refuse(path, number, f"damaged compressed file ({error})", "a whole file")
            if not raw:
                return
            number += 1
            try:
                line = raw.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                refuse(path, number, f"byte {error.start + 1} is not UTF-8", "UTF-8")
            yield number, line
