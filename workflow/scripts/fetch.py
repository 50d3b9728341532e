"""Fetch one official file from a mirror or the network, verified."""

from pathlib import Path

from crosslens.runs import logs
from crosslens.sources.fetch import fetch
from crosslens.sources.mirrors import in_mirrors
from crosslens.storage.seals import seal

wildcards = snakemake.wildcards
log = logs.start(snakemake.log[0], snakemake.output[0])
settings = dict(snakemake.params.settings)
# The mirrors are no settings: bytes are verified, and another mirror must not rerun everything.
mirror = in_mirrors(snakemake.config.get("mirror", []), settings.pop("mirror"))
target = Path(snakemake.output[0])
digest = fetch(f"{wildcards.source}/{wildcards.path}", target, mirror=mirror, **settings)
seal(target)
log.info("sha256 %s", digest)
