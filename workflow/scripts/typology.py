"""Write the features that WALS has for the configured languages as typed rows."""

from pathlib import Path

from crosslens.corpora.schema import TYPOLOGY, write
from crosslens.corpora.sources.pins import reading
from crosslens.corpora.wals import read
from crosslens.jobs import logs
from crosslens.jobs.checksums import verified

log = logs.start(snakemake.log[0], snakemake.output[0])
paths = [verified(Path(path)) for path in snakemake.input]
with reading(paths):
    rows, counts = read(paths, snakemake.params.settings["languages"])
write(rows, Path(snakemake.output[0]), TYPOLOGY, counts)
log.info("%d values: %s", len(rows), ", ".join(f"{name} {count}" for name, count in counts.items()))
