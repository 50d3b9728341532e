"""Files and archives with the same bytes in every run: dates and owners are fixed.

A zip or .gz stores its content uncompressed, since compressed bytes depend on zlib's version. (The level-0 blocks of a .gz are
zlib's too.) An .xz is compressed, with preset 1 for speed, so its bytes depend on liblzma's version.
"""

import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Iterable, Mapping


def lined(lines: Iterable[str]) -> bytes:
    """Content of a text file with these lines."""
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
    """A tar of the members, in their order, dated 1970 and owned by user 0."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def gz(content: bytes) -> bytes:
    """A .gz of the content, without date or name."""
    stream = io.BytesIO()
    # gzip.compress lets zlib write the header, which then names the operating system.
    with gzip.GzipFile("", "wb", 0, stream, mtime=0) as packed:
        packed.write(content)
    return stream.getvalue()


def xz(content: bytes) -> bytes:
    """An .xz of the content."""
    return lzma.compress(content, preset=1)
