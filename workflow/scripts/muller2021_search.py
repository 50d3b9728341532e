"""Grid search of muller2021."""

from pathlib import Path

import pandas as pd
from crosslens import logs
from crosslens.files import written
from crosslens.papers.muller2021.hyperparameters import searched
from crosslens.provenance import write_record


def main(snakemake):
    """Read the rule's object, write the table and its record."""
    log = logs.start(snakemake.log[0], title="table3_search")
    settings = snakemake.params.settings
    made = searched(settings["trials"], [pd.read_csv(path) for path in snakemake.input.histories])
    with written(Path(snakemake.output.table)) as temporary:
        made.to_csv(temporary, index=False)
    log.info("%d trials", len(made))
    write_record(Path(snakemake.output.record), Path(snakemake.output.table), settings, snakemake.input.records)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
