"""A table of muller2021 from the paper's records, beside what was published, with a record of how it was made."""

import json
from pathlib import Path

import pandas as pd
from crosslens import logs
from crosslens.papers.muller2021.items import Study
from crosslens.papers.muller2021.tables import table
from crosslens.provenance import write_table
from crosslens.records import read


def main(snakemake):
    """Read the rule's object, write the table and its record."""
    log = logs.start(snakemake.log[0], title=snakemake.wildcards.table)
    settings = snakemake.params.settings
    made = table(
        snakemake.wildcards.table,
        read(snakemake.input.scores),
        pd.read_csv(snakemake.input.published),
        settings["recipes"],
        Study(**settings["study"]),
        json.loads((Path(snakemake.input.encoder) / "config.json").read_text("utf-8"))["num_hidden_layers"],
        further=settings["further"],
    )
    log.info("%d lines", len(made))
    write_table(made, snakemake.output.table, settings, snakemake.input.records)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
