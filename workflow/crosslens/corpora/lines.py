"""Lines of official text files, errors about these lines, and ids of their rows."""

import codecs
import lzma
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NoReturn

from crosslens.jobs.errors import DataError, shown
from crosslens.jobs.files import open_binary

Encoding = Literal["utf-8", "iso-8859-1"]
LONGEST = 32 * 10**6  # bytes of a line
BYTE_ORDER_MARK = "\ufeff"
LANGUAGE = re.compile(r"[a-z]{2,3}([-_][a-z]+)*", re.IGNORECASE | re.ASCII)
DAMAGED = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)  # what reading a compressed file may raise
UNSPACED = ("ja", "lzh", "th", "zh", "zh_hant")  # languages whose words and sentences follow each other without a space


def refuse(path: Path, line: int, content: str, expected: str) -> NoReturn:
    """Raise DataError with the content that was found and the content that was expected, in one readable line."""
    raise DataError(
        f"{path}:{line}: expected {expected}, found {shown(content)}; fetch the file again or correct the line"
    ) from None


def read_lines(path: Path, encoding: Encoding = "utf-8", *, crawled: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text without its line end) for each line of a file, plain or compressed (.xz, .gz, .bz2).

    crawled: whether the text was crawled from the web; lines after the first may then contain zero bytes. Otherwise, a byte
    order mark is removed from lines after the first.
    Raises DataError if bytes do not fit the encoding (any fit ISO 8859-1), the first line has a byte order mark, or a line has
    a zero byte or more than 32 MB. It is also raised for a truncated or damaged compressed file, and for an empty file: a
    failed download, or an empty .gz, which decompresses without an error.
    """
    number, blank = 0, True
    with open_binary(path) as stream:
        while True:
            try:
                raw = stream.readline(LONGEST + 1)
            except DataError:
                raise
            except DAMAGED as error:
                refuse(path, number, f"a damaged compressed file ({error})", "a complete file")
            if not raw:
                if blank:
                    refuse(path, max(number, 1), "an empty file", "text")
                return
            number += 1
            if len(raw) > LONGEST:
                refuse(path, number, "a longer one", f"a line of at most {LONGEST // 10**6} MB")
            blank = blank and raw.isspace()
            if number == 1 and (raw.startswith(codecs.BOM_UTF8) or b"\0" in raw):  # both would pass for text
                mark = "a byte order mark or the zero bytes of UTF-16 or UTF-32"
                refuse(path, 1, mark, f"{encoding.upper()} without a byte order mark")
            if not crawled and b"\0" in raw:
                refuse(path, number, f"a zero byte, number {raw.index(0) + 1} of the line", "text")
            try:
                line = raw.decode(encoding).rstrip("\r\n").removeprefix("" if crawled else BYTE_ORDER_MARK)
            except UnicodeDecodeError as error:
                refuse(path, number, f"an invalid byte, number {error.start + 1} of the line", "UTF-8")
            yield number, line


def is_language(code: str) -> bool:
    """Whether a cell may be a language code of any standard. Rows of other languages are skipped."""
    return LANGUAGE.fullmatch(code) is not None


def stem(path: Path) -> str:
    """Name of a file without .txt or .tsv and compression suffix; it precedes the number in the ids of the file's rows."""
    return re.sub(r"(\.txt|\.tsv)?(\.xz|\.gz|\.bz2)?$", "", path.name)
