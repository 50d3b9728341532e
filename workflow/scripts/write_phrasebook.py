"""Write the phrasebook's corpora in their official formats."""

from pathlib import Path

from crosslens.runs import logs
from crosslens.runs.errors import DataError
from crosslens.storage.seals import seal
from phrasebook.errors import PhrasebookError
from phrasebook.write import Sizes, write_sources

settings = dict(snakemake.params.settings["phrasebook"])
log = logs.start(snakemake.log[0], snakemake.output[0], seed=settings["seed"])
languages, seed = settings.pop("languages"), settings.pop("seed")
sizes = Sizes(**settings | {"train_languages": tuple(settings["train_languages"])})
try:
    write_sources(Path(snakemake.params.settings["folder"]), languages, seed, sizes)
except PhrasebookError as error:
    raise DataError(str(error)) from error
for path in snakemake.output:
    seal(Path(path))
log.info("%d files", len(snakemake.output))
