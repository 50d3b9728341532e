"""Write the phrasebook's corpora in their official formats."""

from pathlib import Path

from crosslens.phrasebook.write import Sizes, write_sources
from crosslens.runs import logs
from crosslens.storage.seals import seal

settings = dict(snakemake.params.settings)
log = logs.start(snakemake.log[0], snakemake.output[0], seed=settings["seed"])
languages, seed = settings.pop("languages"), settings.pop("seed")
sizes = Sizes(**settings | {"train_languages": tuple(settings["train_languages"])})
write_sources(Path(snakemake.params.folder), languages, seed, sizes)
for path in snakemake.output:
    seal(Path(path))
log.info("%d files", len(snakemake.output))
