"""Whether the official files that a run needs can be had: asked once, before the first job."""

import socket
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from pathlib import PurePosixPath
from urllib.parse import urlsplit
from urllib.request import getproxies

from crosslens.sources.fetch import found_in
from crosslens.sources.network import at_endpoint
from crosslens.sources.prefetch import place_of
from crosslens.sources.registry import Source

WAIT = 5.0  # seconds for a name server's answer
NAMED = 3  # files of a source that the message names


def out_of_reach(files: Sequence[str], sources: Mapping[str, Source], mirrors: Sequence[str]) -> str | None:
    """The message for a run without a network: what is missing and where to put it; None where nothing is out of reach.

    files: those that are to be fetched, as SOURCE/PATH or SOURCE-sample/BLOCKS-SEED/PATH. A file is out of reach where no mirror
    has it and the name of none of its servers is known here. Behind a proxy, which looks names up itself, nothing is asked.
    """
    if getproxies():
        return None
    lacking = _lacking(files, sources, mirrors)
    hosts = {file: {str(urlsplit(url).hostname) for url in urls} for file, urls in lacking.items() if urls}
    unknown = {host for host in set().union(*hosts.values()) if not _is_known(host)}
    unreachable = sorted(file for file, its_hosts in hosts.items() if its_hosts <= unknown)
    if not unreachable:
        return None
    servers = ", ".join(sorted(set().union(*(hosts[file] for file in unreachable))))
    lines = [f"no network: {servers} cannot be found, and no mirror has these files; put them below {_folder(mirrors)}"]
    return "\n".join([*lines, *(f"  {names}" for names in _by_source(unreachable).values())])


def by_hand(files: Sequence[str], sources: Mapping[str, Source], mirrors: Sequence[str]) -> list[str]:
    """A message for each source whose files nobody may distribute: which are in no mirror, how to obtain them, where to put them.

    files: as for `out_of_reach`.
    """
    lacking = sorted(file for file, urls in _lacking(files, sources, mirrors).items() if not urls)
    return [
        f"{names}: in no mirror, and cannot be downloaded ({sources[source].manual}); put what is missing below "
        f"{_folder(mirrors)}"
        for source, names in _by_source(lacking).items()
    ]


def _lacking(files: Sequence[str], sources: Mapping[str, Source], mirrors: Sequence[str]) -> dict[str, list[str]]:
    """Where each file can be downloaded that no mirror has, [] if it cannot."""
    urls_by_file = {}
    for file in files:
        source, path, _ = place_of(file, sources)
        if not found_in(PurePosixPath(path), sources[source].mirrors(list(mirrors))):
            urls_by_file[f"{source}/{path}"] = [*map(at_endpoint, sources[source].urls_of(path))]
    return urls_by_file


def _by_source(files: Sequence[str]) -> dict[str, str]:
    """Source -> some of its files, and how many more there are."""
    files_by_source = defaultdict(list)
    for file in files:
        files_by_source[file.partition("/")[0]].append(file)
    return {
        source: f"{', '.join(names[:NAMED])}{f' and {len(names) - NAMED} more' if len(names) > NAMED else ''}"
        for source, names in files_by_source.items()
    }


def _folder(mirrors: Sequence[str]) -> str:
    return mirrors[0] if mirrors else "a folder MIRROR, and add `mirror: [MIRROR]` to the configuration, or to an overlay"


def _is_known(host: str) -> bool:
    """Whether a host's name can be resolved, within a few seconds."""
    pool = ThreadPoolExecutor(1)
    try:
        return bool(pool.submit(socket.getaddrinfo, host, 443).result(WAIT))
    except (OSError, TookTooLong):
        return False
    finally:
        pool.shutdown(wait=False)
