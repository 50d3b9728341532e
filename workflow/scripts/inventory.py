"""Write the inventory of all corpora."""

from pathlib import Path

import pyarrow.csv
from crosslens.corpora.inventory import inventory
from crosslens.jobs import logs
from crosslens.jobs.checksums import checksummed

log = logs.start(snakemake.log[0], snakemake.output[0])
settings = snakemake.params.settings
table = inventory([Path(path) for path in settings["files"]], settings["corpora"])
with checksummed(Path(snakemake.output[0])) as temporary:
    pyarrow.csv.write_csv(table, temporary)
log.info("%d files of %d corpora", len(table), len(table["corpus"].unique()))
