"""What the fall of language identification in tanti2021 is made of."""

from pathlib import Path

import pandas as pd
from crosslens import logs
from crosslens.papers.tanti2021.findings import findings
from crosslens.provenance import write_table
from crosslens.records import read


def main(snakemake):
    """Read the rule's object, write the table and its record."""
    logs.start(snakemake.log[0], title="findings")
    settings = snakemake.params.settings
    models = {path: Path(path).parts[-4:-1] for path in (*snakemake.input.predictions, *snakemake.input.histories)}
    names = {path: (task, run, int(seed.removeprefix("seed"))) for path, (task, run, seed) in models.items()}
    made = findings(
        read(snakemake.input.scores),
        {names[path][1:]: pd.read_parquet(path) for path in snakemake.input.predictions},
        {names[path]: pd.read_csv(path) for path in snakemake.input.histories},
        **settings,
    )
    write_table(made, snakemake.output.table, settings, snakemake.input.records)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
