"""Fetch one official file from a mirror or the network, verified."""

from pathlib import Path

from crosslens.runs import logs
from crosslens.sources.fetch import fetch, in_mirrors
from crosslens.sources.origins import Origin, copy_stamp, remember
from crosslens.storage.seals import seal

wildcards = snakemake.wildcards
log = logs.start(snakemake.log[0], snakemake.output[0])
settings = dict(snakemake.params.settings)
# The mirrors are no settings: bytes are verified, and another mirror must not rerun everything.
mirror = in_mirrors(snakemake.config.get("mirror", []), settings.pop("mirror"))
file, target = f"{wildcards.source}/{wildcards.path}", Path(snakemake.output[0])
published = settings["sha256"] or settings.get("git_blob")
copy = copy_stamp(file, mirror)  # before it is copied
digest = fetch(file, target, mirror=mirror, **settings)
seal(target)
remember(target, Origin(digest, copy, published, snakemake.params.changed))
log.info("sha256 %s", digest)
