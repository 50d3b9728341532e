"""A figure of tanti2021: six t-SNE panels with their scores."""

from pathlib import Path

import pandas as pd
from crosslens import logs
from crosslens.figures.save import save
from crosslens.papers.tanti2021.figures import figure
from crosslens.provenance import write_record
from crosslens.records import read


def main(snakemake):
    """Read the rule's object, draw."""
    logs.start(snakemake.log[0], title=snakemake.wildcards.figure)
    settings = snakemake.params.settings
    points = {run: pd.read_parquet(path) for run, path in zip(settings["runs"], snakemake.input.points, strict=True)}
    drawn = figure(snakemake.wildcards.figure, points, read(snakemake.input.scores), settings["languages"], settings["title"])
    save(drawn, Path(snakemake.output.figure))
    write_record(snakemake.output.figure, settings, snakemake.input.records)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
