"""Fetch some blocks of a Wikipedia dump, as a small dump."""

from pathlib import Path

from crosslens.runs import logs
from crosslens.sources.fetch import in_mirrors, parts
from crosslens.sources.origins import Origin, Recorded, copy_stamp, remember
from crosslens.sources.pins import reading
from crosslens.sources.wikipedia import sample
from crosslens.storage.seals import verified

wildcards, settings = snakemake.wildcards, snakemake.params.settings
log = logs.start(snakemake.log[0], snakemake.output[0], seed=wildcards.seed)
mirror = in_mirrors(snakemake.config.get("mirror", []), settings["mirror"])
file = f"{wildcards.source}/{wildcards.dump}.xml.bz2"
target = Path(snakemake.output[0])
published = settings["sha256"] or settings.get("git_blob")
copy = copy_stamp(file, mirror)  # before it is read
official = parts(file, urls=settings["urls"], mirror=mirror, manual=settings["manual"])
with official as opened, reading(snakemake.input):
    dump, numbers = Recorded(opened), {"blocks": int(wildcards.blocks), "seed": int(wildcards.seed)}
    log.info("%s", sample(verified(Path(snakemake.input.index)), dump, target, **numbers))
remember(target, Origin(dump.sha256(), copy, published, snakemake.params.changed, dump.parts))
