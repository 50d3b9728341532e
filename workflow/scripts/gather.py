"""Put all records that a paper needs into one file."""

from pathlib import Path

from crosslens import logs
from crosslens.records import gather

logs.start(snakemake.log[0], snakemake.output[0])
gather(snakemake.input, Path(snakemake.output[0]))
