"""Write the synthetic corpora in their official formats."""

from pathlib import Path

from crosslens.jobs import logs
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from synthetic.tables import SyntheticCorpusError
from synthetic.write import Sizes, write_sources

settings = dict(snakemake.params.settings["synthetic"])
log = logs.start(snakemake.log[0], snakemake.output[0], seed=settings["seed"])
languages, seed = settings.pop("languages"), settings.pop("seed")
sizes = Sizes(**settings | {"train_languages": tuple(settings["train_languages"])})
try:
    write_sources(Path(snakemake.params.settings["folder"]), languages, seed, sizes)
except SyntheticCorpusError as error:
    raise DataError(str(error)) from error
for path in snakemake.output:
    write_checksums(Path(path))
log.info("%d files", len(snakemake.output))
