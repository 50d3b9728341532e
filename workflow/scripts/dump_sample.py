"""Fetch some blocks of a Wikipedia dump, as a small dump."""

from pathlib import Path

from crosslens.corpora.sources.fetch import parts
from crosslens.corpora.sources.mirrors import in_mirrors
from crosslens.corpora.sources.pins import reading
from crosslens.corpora.sources.wikipedia import sample
from crosslens.jobs import logs
from crosslens.jobs.checksums import verified

wildcards, settings = snakemake.wildcards, snakemake.params.settings
log = logs.start(snakemake.log[0], snakemake.output[0], seed=wildcards.seed)
mirror = in_mirrors(snakemake.config.get("mirror", []), settings["mirror"])
file = f"{wildcards.source}/{wildcards.dump}.xml.bz2"
official = parts(file, urls=settings["urls"], mirror=mirror, manual=settings["manual"])
with official as dump, reading(snakemake.input):
    numbers = {"blocks": int(wildcards.blocks), "seed": int(wildcards.seed)}
    log.info("%s", sample(verified(Path(snakemake.input.index)), dump, Path(snakemake.output[0]), **numbers))
