"""A figure of muller2021: curves by layer."""

from pathlib import Path

from crosslens import logs
from crosslens.figures.save import save
from crosslens.papers.muller2021.figures import figure
from crosslens.papers.muller2021.items import Study
from crosslens.provenance import write_record
from crosslens.records import read


def main(snakemake):
    """Read the rule's object, draw."""
    logs.start(snakemake.log[0], title=snakemake.wildcards.figure)
    settings = snakemake.params.settings
    study = Study(**settings["study"])
    drawn = figure(snakemake.wildcards.figure, read(snakemake.input.scores), study, settings["layers"])
    save(drawn, Path(snakemake.output.figure))
    write_record(snakemake.output.figure, settings, snakemake.input.records)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
