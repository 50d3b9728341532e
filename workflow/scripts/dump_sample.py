"""Fetch some blocks of a Wikipedia dump, as a small dump."""

from pathlib import Path

from crosslens.runs import logs
from crosslens.sources.fetch import parts
from crosslens.sources.mirrors import in_mirrors
from crosslens.sources.pins import reading
from crosslens.sources.wikipedia import sample
from crosslens.storage.seals import verified

wildcards, settings = snakemake.wildcards, snakemake.params.settings
log = logs.start(snakemake.log[0], snakemake.output[0], seed=wildcards.seed)
mirror = in_mirrors(snakemake.config.get("mirror", []), settings["mirror"])
file = f"{wildcards.source}/{wildcards.dump}.xml.bz2"
official = parts(file, urls=settings["urls"], mirror=mirror, manual=settings["manual"])
with official as dump, reading(snakemake.input):
    numbers = {"blocks": int(wildcards.blocks), "seed": int(wildcards.seed)}
    log.info("%s", sample(verified(Path(snakemake.input.index)), dump, Path(snakemake.output[0]), **numbers))
