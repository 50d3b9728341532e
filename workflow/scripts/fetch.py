"""Fetch one official file from a mirror or the network, verified."""

from pathlib import Path

from crosslens import logs
from crosslens.digests import seal
from crosslens.sources.fetch import fetch, in_mirrors

wildcards = snakemake.wildcards
log = logs.start(snakemake.log[0], snakemake.output[0])
settings = dict(snakemake.params.settings)
# Where a copy is looked for is no setting: the bytes are verified, and another mirror must not rerun everything.
mirror = in_mirrors(snakemake.config.get("mirror", []), settings.pop("mirror"))
digest = fetch(f"{wildcards.source}/{wildcards.path}", Path(snakemake.output[0]), mirror=mirror, **settings)
seal(Path(snakemake.output[0]))
log.info("sha256 %s", digest)
