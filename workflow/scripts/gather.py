"""Gather all records of a paper in one file."""

from pathlib import Path

from crosslens.jobs import logs
from crosslens.jobs.records import gather

logs.start(snakemake.log[0], snakemake.output[0])
gather(snakemake.input, Path(snakemake.output[0]))
