"""First bytes of each file format, and of what servers send with status 200 instead of a file."""

import re
from pathlib import Path, PurePosixPath

OPENING = 2**16  # bytes of a file that are examined
SHOWN = 40  # bytes of those that a message shows

FORMATS = {
    ".zip": ("a zip archive", rb"PK\x03\x04"),
    ".gz": ("a gzip file", rb"\x1f\x8b\x08"),
    ".tgz": ("a gzip file", rb"\x1f\x8b\x08"),
    ".bz2": ("a bzip2 file", rb"BZh[1-9]"),
    ".xz": ("an xz file", rb"\xfd7zXZ\0"),
    ".safetensors": ("a safetensors file", rb".{7}\0\{"),
    ".json": ("JSON", rb"\s*[\[{]"),
    ".jsonl": ("lines of JSON", rb"\s*\{"),
    ".xml": ("XML", rb"(\xef\xbb\xbf)?\s*<"),
    ".conllu": ("CoNLL-U", rb"\s*(#|\d+([-.]\d+)?\t)"),
    ".tsv": ("columns separated by tabs", rb"[^\t]*\t"),
    ".csv": ("columns separated by commas, semicolons or tabs", rb"[^,;\t]*[,;\t]"),
    ".txt": ("text", rb"[^\0]*\Z"),
}
"""Suffix -> name of the format, and pattern of its first bytes. Text has no zero bytes, unlike UTF-16."""

INTRUDERS = {
    "a web page": rb"(?>\xef\xbb\xbf|\s|<!--.*?-->|<\?.*?\?>)*+<(!doctype\s+html|html|head|body|center|h1)\b",
    "an error in XML": rb"\s*+(?><\?.*?\?>)?+\s*+<error\b",
    "an error in JSON": rb'[\[{\s]*+"(error|errors|message|msg|detail)"\s*:',
    "the pointer of a file that is stored elsewhere": rb"version https://git-lfs|/annex/objects/",
}
"""Name of what a server or repository sends instead of a file -> pattern of its beginning. (?> ) and *+ avoid backtracking."""


def answer(opening: bytes) -> str:
    """Name of what a server sent instead of a file, according to its first bytes; "" for anything else."""
    names = (name for name, pattern in INTRUDERS.items() if re.match(pattern, opening, re.DOTALL | re.IGNORECASE))
    return next(names, "")


def fault(file: Path, path: PurePosixPath) -> str:
    """Reason why a received file cannot be the official file of a path: "expected FORMAT, found ...", or "" if it can.

    Only the beginning is examined; the step that reads the file checks the rest.
    """
    with open(file, "rb") as stream:
        opening = stream.read(OPENING)
    name, pattern = FORMATS.get(path.suffix.lower(), ("a file", rb""))
    if not opening.strip():
        return f"expected {name}, found nothing in it"
    intruder = answer(opening)
    if intruder or not re.match(pattern, opening, re.DOTALL):
        return f"expected {name}, found {intruder or repr(opening[:SHOWN])[1:]}"
    return ""
