"""Fetch one official file from a mirror or the network, verified."""

from pathlib import Path

from crosslens.corpora.sources.fetch import fetch
from crosslens.corpora.sources.mirrors import in_mirrors
from crosslens.jobs import logs
from crosslens.jobs.checksums import write_checksums

wildcards = snakemake.wildcards
log = logs.start(snakemake.log[0], snakemake.output[0])
settings = dict(snakemake.params.settings)
# Mirrors are not among the settings: files are verified anyway, and another mirror must not rerun everything.
mirror = in_mirrors(snakemake.config.get("mirror", []), settings.pop("mirror"))
target = Path(snakemake.output[0])
digest = fetch(f"{wildcards.source}/{wildcards.path}", target, mirror=mirror, **settings)
write_checksums(target)
log.info("sha256 %s", digest)
