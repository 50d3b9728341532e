"""Read the official files of a corpus and write them as typed rows."""

from importlib import import_module
from pathlib import Path

from crosslens.corpora.official import write_corpus
from crosslens.corpora.sources.pins import reading
from crosslens.jobs import logs
from crosslens.jobs.checksums import verified

settings = snakemake.params.settings
log = logs.start(snakemake.log[0], snakemake.output[0], seed=settings["rows"]["seed"])
for path in snakemake.input:
    verified(Path(path))
# Not imported at the top: there are several readers, and the fingerprint of the rule covers only this one.
reader = import_module(f"crosslens.corpora.{settings['reader']}")
with reading(snakemake.input):
    write_corpus(reader, settings["parts"], Path(snakemake.output[0]), log, **settings["rows"])
