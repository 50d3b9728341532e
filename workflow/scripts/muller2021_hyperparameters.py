"""Table 3 of muller2021."""

import json
from pathlib import Path

import pandas as pd
from crosslens import logs
from crosslens.papers.muller2021.hyperparameters import hyperparameters
from crosslens.provenance import write_table


def main(snakemake):
    """Read the rule's object, write the table and its record."""
    logs.start(snakemake.log[0], title="table3")
    recipes = [json.loads(Path(path).read_text("utf-8")) for path in snakemake.input.records]
    histories = [pd.read_csv(path) for path in snakemake.input.histories]
    settings = snakemake.params.settings
    made = hyperparameters(recipes, histories, pd.read_csv(snakemake.input.published), settings["search"])
    write_table(made, snakemake.output.table, settings, snakemake.input.records)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
