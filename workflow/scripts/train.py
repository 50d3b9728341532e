"""Train a recipe with one seed and write predictions on all its test data."""

from pathlib import Path

from crosslens.jobs import gpus, logs

seed = int(snakemake.wildcards.seed)
log = logs.start(snakemake.log[0], snakemake.output[0], seed=seed)
gpus.take(snakemake.resources.get("gpu", 0), log)

# Imported only after `logs.start`: these imports take seconds, during which signals must already be handled.
from crosslens.config.recipes import Recipe  # noqa: E402
from crosslens.training.run import train  # noqa: E402

train(
    Recipe.model_validate(snakemake.params.recipe),
    seed,
    Path(snakemake.input.encoder),
    {Path(folder).name: Path(folder) for folder in snakemake.input.tokens},
    Path(snakemake.output.record).parent,
    version=[snakemake.params.code, snakemake.params.environment],
    threads=snakemake.threads,
    log=log,
    log_file=Path(snakemake.log[0]),
    artefact=next(map(Path, snakemake.input.artefact), None),
    pretrained=next(map(Path, snakemake.input.pretrained), None),
    leaves_states=snakemake.params.leaves_states,
)
