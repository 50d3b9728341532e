"""Figure 2 of tanti2021: the marks of languages and labels."""

from pathlib import Path

from crosslens import logs
from crosslens.figures.save import save
from crosslens.papers.tanti2021.figures import legend
from crosslens.provenance import write_record


def main(snakemake):
    """Read the rule's object, draw."""
    logs.start(snakemake.log[0], title="figure2")
    settings = snakemake.params.settings
    save(legend(**settings), Path(snakemake.output.figure))
    write_record(snakemake.output.figure, settings)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
