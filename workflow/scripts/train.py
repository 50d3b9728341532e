"""Train a recipe with one seed and predict all its targets."""

from pathlib import Path

from crosslens import logs
from crosslens.recipes import Recipe
from crosslens.training.run import run

recipe, seed = Recipe.model_validate(snakemake.params.settings), int(snakemake.wildcards.seed)
log = logs.start(snakemake.log[0], snakemake.output[0], seed=seed)
run(
    recipe,
    seed,
    Path(snakemake.input.encoder),
    {Path(folder).name: Path(folder) for folder in snakemake.input.tokens},
    Path(snakemake.output.record).parent,
    threads=snakemake.threads,
    log=log,
    artefact=next(map(Path, snakemake.input.artefact), None),
)
