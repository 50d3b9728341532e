"""How much there is to download, reported before it starts."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from crosslens.runs.quantities import readable
from crosslens.sources.fetch import found_in
from crosslens.sources.registry import Source

BLOCK = 130_000  # bytes of a block of 100 pages of a multistream dump, about: 90,000 in enwiki, 170,000 in jawiki


def announcement(files: Sequence[str], folder: Path, sources: Mapping[str, Source], mirrors: Sequence[str]) -> str:
    """One line: how many files and bytes a prefetch will download.

    files: paths below `folder`, as SOURCE/PATH or SOURCE-sample/BLOCKS-SEED/PATH for samples of dumps. Sizes that the table
    of sources lacks are asked of the servers, as long as these answer.
    """
    from crosslens.sources.network import size_of  # slow to import, and only a prefetch asks

    here = samples = mirrored = blocks = size_known = unknown = downloads = 0
    answering = True
    for file in files:
        source, _, path = file.partition("/")
        if (folder / file).exists():
            here += 1
        elif source not in sources:
            samples += 1
            blocks += int(path.partition("-")[0])
        elif found_in(PurePosixPath(path), sources[source].mirrors(list(mirrors))):
            mirrored += 1
        else:
            downloads += 1
            size = sources[source].bytes_of(path)
            if size is None and answering:
                size, answering = size_of(sources[source].urls_of(path))
            size_known, unknown = size_known + (size or 0), unknown + (size is None)
    parts = [
        f"{len(files)} files",
        f"{here} already present",
        f"{mirrored} in a mirror",
        f"{downloads} to download: {readable(size_known)}",
    ]
    if unknown:
        parts.append(f"and {unknown} of unknown size")
    if samples:
        parts.append(f"and {samples} samples of dumps, about {readable(blocks * BLOCK)}")
    return f"prefetch: {', '.join(parts)}"
