"""Put all records that a paper needs into one file."""

from pathlib import Path

from crosslens import logs
from crosslens.records import gather

logs.start(snakemake.log[0], title=f"records of {snakemake.wildcards.paper}")
gather(snakemake.input, Path(snakemake.output[0]))
