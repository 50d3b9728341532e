"""Table 5 of tanti2021 by random search: all trials and the printed choice."""

import pandas as pd
from crosslens import logs
from crosslens.papers.tanti2021.items import MACRO_F1, PAPER
from crosslens.papers.tanti2021.search import searched
from crosslens.provenance import write_table
from crosslens.records import read


def main(snakemake):
    """Read the rule's object, write the table and its record."""
    logs.start(snakemake.log[0], title="table5_search")
    settings = snakemake.params.settings
    definition = PAPER if settings["select_by"] == "paper" else MACRO_F1
    made = searched(settings["trials"], read(snakemake.input.scores), pd.read_csv(snakemake.input.published), definition)
    write_table(made, snakemake.output.table, settings, snakemake.input.records)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
