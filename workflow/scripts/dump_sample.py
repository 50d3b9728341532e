"""Fetch some blocks of a Wikipedia dump, as a small dump."""

from pathlib import Path

from crosslens import logs
from crosslens.digests import verified
from crosslens.sources.fetch import in_mirrors, parts
from crosslens.sources.wikipedia import sample

wildcards, settings = snakemake.wildcards, snakemake.params.settings
log = logs.start(snakemake.log[0], snakemake.output[0], seed=wildcards.seed)
mirror = in_mirrors(snakemake.config.get("mirror", []), settings["mirror"])
file = f"{wildcards.source}/{wildcards.dump}.xml.bz2"
with parts(file, urls=settings["urls"], mirror=mirror, manual=settings["manual"]) as dump:
    target, numbers = Path(snakemake.output[0]), {"blocks": int(wildcards.blocks), "seed": int(wildcards.seed)}
    log.info("%s", sample(verified(Path(snakemake.input.index)), dump, target, **numbers))
