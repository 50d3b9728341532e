"""Write the inventory of all corpora."""

from pathlib import Path

import pyarrow.csv
from crosslens.corpora.inventory import inventory
from crosslens.runs import logs
from crosslens.storage.seals import sealed

log = logs.start(snakemake.log[0], snakemake.output[0])
settings = snakemake.params.settings
table = inventory([Path(path) for path in settings["files"]], settings["corpora"])
with sealed(Path(snakemake.output[0])) as temporary:
    pyarrow.csv.write_csv(table, temporary)
log.info("%d files of %d corpora", len(table), len(table["corpus"].unique()))
