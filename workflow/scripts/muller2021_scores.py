"""Score a recipe's predictions with each seed (muller2021)."""

from pathlib import Path

from crosslens import logs, records
from crosslens.papers.muller2021.scores import prediction_records


def main(snakemake):
    """Read the rule's object, write the records."""
    logs.start(snakemake.log[0], title=f"scores of {snakemake.wildcards.recipe}")
    settings, tokens = snakemake.params.settings, {Path(folder).name: Path(folder) for folder in snakemake.input.tokens}
    task = settings["common"]["task"]
    rows = []
    for seed, path in zip(settings["seeds"], snakemake.input.predictions, strict=True):
        found = prediction_records(Path(path), tokens, task, settings["labels"], resamples=settings["bootstrap"], seed=seed)
        rows += [{"seed": seed} | row for row in found]
    records.write(rows, Path(snakemake.output[0]), settings["common"])


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
