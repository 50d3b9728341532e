"""Whether what a run needs from the network can be had: asked once, before the first job."""

import socket
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from pathlib import PurePosixPath
from urllib.parse import urlsplit
from urllib.request import getproxies

from crosslens.sources.fetch import found_in
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
    hosts: dict[str, set[str]] = {}  # of a file that is to be downloaded
    for file in files:
        source, _, path = file.partition("/")
        if source not in sources:
            source, path = source.removesuffix("-sample"), path.partition("/")[2]
        urls = sources[source].urls_of(path)
        if urls and not found_in(PurePosixPath(path), sources[source].mirrors(list(mirrors))):
            hosts[f"{source}/{path}"] = {str(urlsplit(url).hostname) for url in urls}
    unknown = {host for host in set().union(*hosts.values()) if not _is_known(host)}
    unreachable = sorted(file for file, its_hosts in hosts.items() if its_hosts <= unknown)
    if not unreachable:
        return None
    missing = defaultdict(list)
    for file in unreachable:
        missing[file.partition("/")[0]].append(file)
    servers = ", ".join(sorted(set().union(*(hosts[file] for file in unreachable))))
    folder = mirrors[0] if mirrors else "MIRROR, and name that folder under `mirror:` in the configuration"
    lines = [f"no network: {servers} cannot be found, and no mirror has these files; put them below {folder}"]
    for names in missing.values():
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        lines.append(f"  {', '.join(names[:NAMED])}{more}")
    return "\n".join(lines)


def _is_known(host: str) -> bool:
    """Whether a host's name can be resolved, within a few seconds."""
    pool = ThreadPoolExecutor(1)
    try:
        return bool(pool.submit(socket.getaddrinfo, host, 443).result(WAIT))
    except (OSError, TookTooLong):
        return False
    finally:
        pool.shutdown(wait=False)
