"""Converged probes of a word's language on hidden states, and their controls (tanti2021)."""

from pathlib import Path

from crosslens import logs, records
from crosslens.config.tanti2021 import Probe
from crosslens.papers.tanti2021.probes import probe_records
from crosslens.states.files import read_corpora


def main(snakemake):
    """Read the rule's object, write the records."""
    seed, settings = int(snakemake.wildcards.seed), snakemake.params.settings
    logs.start(snakemake.log[0], title=f"probes of {snakemake.wildcards.recipe}", seed=seed)
    rows = probe_records(
        *read_corpora(snakemake.input.states, settings["corpora"]),
        Probe.model_validate(settings["probe"]),
        resamples=settings["bootstrap"],
        seed=seed,
    )
    records.write(rows, Path(snakemake.output[0]), settings["common"] | {"seed": seed})


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
