"""Score a training's predictions under every definition (tanti2021)."""

from itertools import chain
from pathlib import Path

import pandas as pd
from crosslens import logs, records
from crosslens.papers.tanti2021.scores import adversary_records, prediction_records
from crosslens.recipes import Recipe


def main(snakemake):
    """Read the rule's object, write the records."""
    seed = int(snakemake.wildcards.seed)
    logs.start(snakemake.log[0], title=f"scores of {snakemake.wildcards.recipe}", seed=seed)
    settings = snakemake.params.settings
    rows = prediction_records(
        Path(snakemake.input.predictions),
        Recipe.model_validate(settings["recipe"]),
        target=settings["target"],
        source_language=settings["source_language"],
        resamples=settings["bootstrap"],
        seed=seed,
    )
    rows = chain(rows, adversary_records(pd.read_csv(snakemake.input.history)))
    records.write(rows, Path(snakemake.output[0]), settings["common"] | {"seed": seed})


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
