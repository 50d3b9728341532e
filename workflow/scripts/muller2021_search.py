"""Grid search of muller2021."""

import pandas as pd
from crosslens import logs
from crosslens.papers.muller2021.hyperparameters import searched
from crosslens.provenance import write_table


def main(snakemake):
    """Read the rule's object, write the table and its record."""
    log = logs.start(snakemake.log[0], title="table3_search")
    settings = snakemake.params.settings
    made = searched(settings["trials"], [pd.read_csv(path) for path in snakemake.input.histories])
    log.info("%d trials", len(made))
    write_table(made, snakemake.output.table, settings, snakemake.input.records)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
