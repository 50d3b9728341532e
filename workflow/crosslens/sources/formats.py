"""First bytes of files, by format, and of what servers send in their place with status 200."""

import codecs
import json
import re
import zlib
from pathlib import Path, PurePosixPath

OPENING = 2**16  # bytes that are looked at; an error message in JSON is not longer
SHOWN = 40  # characters of them that a message has

FORMATS: dict[str, tuple[str, re.Pattern[bytes]]] = {
    suffix: (name, re.compile(pattern, re.DOTALL))
    for suffixes, name, pattern in (
        (".zip", "a zip archive", rb"PK\x03\x04"),
        (".gz .tgz", "a gzip file", rb"\x1f\x8b\x08"),
        (".bz2 .tbz2", "a bzip2 file", rb"BZh[1-9]"),
        (".xz .txz", "an xz file", rb"\xfd7zXZ\0"),
        (".zst", "a Zstandard file", rb"\x28\xb5\x2f\xfd"),
        (".tar", "a tar archive", rb".{257}ustar"),
        (".parquet", "a Parquet file", rb"PAR1"),
        (".safetensors", "a safetensors file", rb".{7}\0\{"),
        (".json", "JSON", rb"\s*[\[{]"),
        (".jsonl", "lines of JSON", rb"\s*\{"),
        (".xml", "XML", rb"(\xef\xbb\xbf)?\s*<"),
        (".conllu", "CoNLL-U", rb"\s*(#|\d+([-.]\d+)?\t)"),
        (".tsv", "columns separated by tabs", rb"(?=[^\0]*\Z)[^\t]*\t"),
        (".csv", "columns separated by commas, semicolons or tabs", rb"(?=[^\0]*\Z)[^,;\t]*[,;\t]"),
        (".txt .conll", "text", rb"[^\0]*\Z"),
    )
    for suffix in suffixes.split()
}
"""Suffix -> name of the format, and what a file of it begins with. Text must have no zero byte, as UTF-16 has."""

POINTER, PAGE, XML, JSON = "the pointer of a file that is stored elsewhere", "a web page", "XML", "JSON"
PART_OF = {".xml": XML, ".json": JSON, ".jsonl": JSON, ".html": PAGE, ".htm": PAGE}  # formats that are not refused as such
POINTERS = re.compile(r"version https://(git-lfs|hawser)\b|/annex/objects/|\.\./.*/annex/objects/")
PREAMBLE = re.compile(r"\s*(<!--.*?-->|<\?.*?\?>)", re.DOTALL)
HTML = re.compile(
    r"<(!doctype\s+html|(html|head|body|title|meta|link|base|script|noscript|style|iframe|frameset|center|h[1-6]|p|div|span|table"
    r"|form|pre|br|hr|img|font)[\s/>])",
    re.IGNORECASE,
)
MARKUP = re.compile(r"<[!?a-z_][^<]*>", re.IGNORECASE)
XML_ERROR = re.compile(r"<(\w+:)?(error|errors|errorresponse|fault|exception)[\s/>]", re.IGNORECASE)
JSON_ERROR = {
    "cause", "code", "detail", "details", "documentation_url", "error", "error_description", "errors", "instance", "message",
    "msg", "ok", "path", "reason", "requestid", "request_id", "retry_after", "status", "status_code", "statuscode", "success",
    "timestamp", "title", "type",
}  # fmt: skip
"""Keys of which a server's error consists, in lower case; no official file is made of them alone, or has one called error."""


def fault(file: Path, path: PurePosixPath) -> str:
    """Why received bytes cannot be the official file of a path: "expected FORMAT, found ...", or "" if they can.

    Only the beginning is read: whether the rest is data, the step that reads it finds out.
    """
    with open(file, "rb") as stream:
        opening = stream.read(OPENING)
    suffix = path.suffix.lower()
    name, pattern = FORMATS.get(suffix, ("a file", re.compile(b"")))
    if not opening.strip():
        return f"expected {name}, found nothing in it"
    intruder = _intruder(opening, suffix)
    if intruder or not pattern.match(opening):
        return f"expected {name}, found {intruder or repr(opening[:SHOWN])[1:]}"
    if suffix in (".gz", ".tgz") and _unpacked(opening).startswith(b"\x1f\x8b"):
        return f"expected {name}, found one that is compressed twice"
    return ""


def answer(opening: bytes) -> str:
    """Name of the answer of a server that does not send a text, by its beginning: a web page, an error or a pointer; or ""."""
    kind = _intruder(opening, ".txt")
    return "" if kind in (XML, JSON) else kind  # a text may begin so


def _intruder(opening: bytes, suffix: str) -> str:
    """Name of what a server, a proxy or a repository sent in the place of a file, "" where that is not seen."""
    text = _text(opening)
    if POINTERS.match(text):
        return POINTER
    if text.startswith(("{", "[")):
        kind = _json(text, len(opening) < OPENING)
    elif text.startswith("<"):
        kind = _markup(text)
    else:
        return ""
    return "" if kind == PART_OF.get(suffix) else kind


def _markup(text: str) -> str:
    """Whether text is a web page, an error in XML, other XML, or "" where it only begins like them."""
    content = text
    while preamble := PREAMBLE.match(content):
        content = content[preamble.end() :]
    content = content.lstrip()
    if HTML.match(content) or "<html" in content[:1000].lower():
        return PAGE
    if XML_ERROR.match(content):
        return "an error in XML"
    return XML if MARKUP.match(text) or text.startswith("<!--") else ""


def _json(text: str, complete: bool) -> str:
    """Whether text is an error in JSON, other JSON, or "" where it only begins like that, as the piece [PAD] does."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return JSON if not complete and re.match(r'\{\s*"', text) else ""
    first = content[0] if isinstance(content, list) and content else content
    keys = {key.lower() for key in first} if isinstance(first, dict) else set()
    return "an error in JSON" if keys and keys <= JSON_ERROR or keys & {"error", "errors"} else JSON


def _text(opening: bytes) -> str:
    """The beginning of a file as text without leading blanks, whatever its encoding."""
    if opening.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encoding = "utf-32"
    elif opening.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif opening[1:2] == b"\0" != opening[:1]:
        encoding = "utf-16-le"
    elif opening[:1] == b"\0" != opening[1:2]:
        encoding = "utf-16-be"
    else:
        encoding = "utf-8"
    return opening.decode(encoding, "replace").lstrip("\ufeff \t\r\n\f\v\0")


def _unpacked(opening: bytes) -> bytes:
    """The first bytes inside a gzip file, b"" where it is damaged."""
    try:
        return zlib.decompressobj(31).decompress(opening, 2)
    except zlib.error:
        return b""
