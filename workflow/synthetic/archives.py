"""Files and archives with the same bytes at every run: fixed dates and owners.

A zip holds its members as they are, since compressed bytes depend on zlib's version; so does a .gz, whose blocks at level 0
are zlib's as well. An .xz is compressed, with preset 1 for speed: its bytes are those of one version of liblzma.
"""

import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Iterable, Mapping


def lined(lines: Iterable[str]) -> bytes:
    """Lines of a text file."""
    return "".join(line + "\n" for line in lines).encode()


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A zip of the members, in their order."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, content)
    return stream.getvalue()


def tarred(members: Mapping[str, bytes]) -> bytes:
    """A tar of the members, in their order, each of 1970 and of user 0."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def gz(content: bytes) -> bytes:
    """A .gz without date or name."""
    stream = io.BytesIO()
    # gzip.compress leaves the header to zlib, in which the operating system stands.
    with gzip.GzipFile("", "wb", 0, stream, mtime=0) as packed:
        packed.write(content)
    return stream.getvalue()


def xz(content: bytes) -> bytes:
    """An .xz."""
    return lzma.compress(content, preset=1)
