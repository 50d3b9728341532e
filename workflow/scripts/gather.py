"""Put all records that a paper needs into one file."""

from pathlib import Path

from crosslens.runs import logs
from crosslens.storage.records import gather

logs.start(snakemake.log[0], snakemake.output[0])
gather(snakemake.input, Path(snakemake.output[0]))
