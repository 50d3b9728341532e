"""Train the trials of a search that share a job."""

from pathlib import Path

from crosslens.jobs import gpus, logs

seed = int(snakemake.wildcards.seed)
log = logs.start(snakemake.log[0], snakemake.output[0], seed=seed)
gpus.take(snakemake.resources.get("gpu", 0), log)

# Imported only after `logs.start`: these imports take seconds, during which signals must already be handled.
from crosslens.config.recipes import Recipe  # noqa: E402
from crosslens.training.search import search  # noqa: E402

search(
    [Recipe.model_validate(trial) for trial in snakemake.params.settings],
    seed,
    Path(snakemake.input.encoder),
    {Path(folder).name: Path(folder) for folder in snakemake.input.tokens},
    Path(snakemake.output[0]),
    version=[snakemake.params.code, snakemake.params.environment],
    threads=snakemake.threads,
    log=log,
)
