"""Official files that a person must supply; a run lists those that are missing before its first job."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from crosslens.corpora.sources.mirrors import found_in, in_mirrors
from crosslens.corpora.sources.registry import Source, place_of
from crosslens.jobs.quantities import shortened


def by_hand(files: Sequence[str], sources: Mapping[str, Source], mirrors: Sequence[str]) -> list[str]:
    """Messages, one per source that has no URL: which files are in no mirror, how to obtain them, where to put them.

    files: files to fetch, as SOURCE/PATH or SOURCE-sample/BLOCKS-SEED/PATH.
    """
    missing = defaultdict(list)
    for source, path, _ in (place_of(file, sources) for file in sorted(files)):
        if not sources[source].url and not found_in(PurePosixPath(path), in_mirrors(mirrors, sources[source].mirror)):
            missing[source].append(f"{source}/{path}")
    folder = mirrors[0] if mirrors else "a folder MIRROR, and add `mirror: [MIRROR]` to the configuration, or to an overlay"
    lines = []
    for source, paths in missing.items():
        remedy = f"put what is missing below {folder}"
        lines.append(f"{shortened(paths)}: in no mirror, and cannot be downloaded ({sources[source].manual}); {remedy}")
    return lines
