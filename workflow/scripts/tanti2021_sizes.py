"""Appendices A and B of tanti2021: sizes of splits and samples beside the printed ones."""

import pandas as pd
from crosslens import logs
from crosslens.papers.tanti2021.sizes import configured, sizes
from crosslens.provenance import write_table


def main(snakemake):
    """Read the rule's object, write the table and its record."""
    log = logs.start(snakemake.log[0], title="dataset_sizes")
    settings = snakemake.params.settings
    data = configured(settings["corpora"], settings["draws"], snakemake.input.tokens)
    made = sizes(pd.read_csv(snakemake.input.published), data, settings["drop_unknown"])
    log.info("%d lines, %d equal", len(made), (made["difference"] == 0).sum())
    write_table(made, snakemake.output.table, settings)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
