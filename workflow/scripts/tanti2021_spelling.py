"""Language of a word from its spelling alone: the baseline without an encoder (tanti2021)."""

from pathlib import Path

from crosslens import logs, records
from crosslens.papers.tanti2021.probes import spelling_records
from crosslens.states.files import read_corpora


def main(snakemake):
    """Read the rule's object, write the records."""
    settings = snakemake.params.settings
    logs.start(snakemake.log[0], title="language from spelling alone", seed=settings["seed"])
    rows = spelling_records(
        *read_corpora(snakemake.input.states, settings["corpora"]), resamples=settings["bootstrap"], seed=settings["seed"]
    )
    records.write(rows, Path(snakemake.output[0]), settings["common"] | {"seed": settings["seed"]})


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
