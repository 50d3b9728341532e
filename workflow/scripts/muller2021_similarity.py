"""Compare English with other languages, layer by layer, under one model (muller2021)."""

from pathlib import Path

from crosslens import logs, records
from crosslens.papers.muller2021.similarity import similarity_records


def main(snakemake):
    """Read the rule's object, write the records."""
    seed, settings = int(snakemake.wildcards.seed), snakemake.params.settings
    logs.start(snakemake.log[0], title=f"similarity under {snakemake.wildcards.recipe}", seed=seed)
    folder = Path(snakemake.input.states) / settings["corpus"]
    rows = similarity_records(folder, "en", draws=settings["draws"], seed=seed, threads=snakemake.threads)
    records.write(rows, Path(snakemake.output[0]), settings["common"] | {"seed": seed})


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
