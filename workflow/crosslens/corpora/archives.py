"""Files out of an archive, without trusting it."""

import fnmatch
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from crosslens.errors import DataError


@contextmanager
def extracted(archive: Path, patterns: Mapping[str, Sequence[str]]) -> Iterator[dict[str, list[Path]]]:
    """Members of a tar archive whose names match glob patterns, by split, in a folder that goes when the block ends.

    Only regular files are read, and under names of our own, so that no path of the archive is ever written to. Raises
    DataError for an archive that is damaged.
    """
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, list[Path]] = {split: [] for split in patterns}
        try:
            with tarfile.open(archive) as tar:
                for member in tar:
                    for split, globs in patterns.items():
                        if member.isfile() and any(fnmatch.fnmatchcase(member.name, glob) for glob in globs):
                            target = Path(folder) / split / Path(member.name).name
                            target.parent.mkdir(exist_ok=True)
                            content = tar.extractfile(member)
                            assert content is not None  # a regular file has content
                            with open(target, "wb") as stream:
                                shutil.copyfileobj(content, stream)
                            found[split].append(target)
        except (tarfile.TarError, EOFError, OSError) as error:
            raise DataError(f"{archive}: a whole tar archive expected ({error}): delete it to fetch it again") from error
        yield {split: sorted(paths) for split, paths in found.items() if paths}
