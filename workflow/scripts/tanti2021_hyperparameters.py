"""Tables 4 and 5 of tanti2021 from the configuration, beside what was published."""

import pandas as pd
from crosslens import logs
from crosslens.papers.tanti2021.search import grid, used
from crosslens.provenance import write_table


def main(snakemake):
    """Read the rule's object, write the table and its record."""
    logs.start(snakemake.log[0], title=snakemake.wildcards.table)
    settings, published = snakemake.params.settings, pd.read_csv(snakemake.input.published)
    is_grid = snakemake.wildcards.table == "table4"
    made = grid(settings["search"], published) if is_grid else used(settings["tasks"], published)
    write_table(made, snakemake.output.table, settings)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
