"""Store hidden states of sampled words or texts, from a trained or only pretrained encoder."""

from pathlib import Path

from crosslens.config.samples import Samples
from crosslens.config.units import Units
from crosslens.encoding.dump import run
from crosslens.jobs import gpus, logs
from crosslens.jobs.training_folders import seen

settings = snakemake.params.settings
log = logs.start(snakemake.log[0], snakemake.output[0], seed=int(snakemake.wildcards.seed))
gpus.take(snakemake.resources.get("gpu", 0), log)
seen(snakemake.input.model)  # clean up here too, since not every run has the handler `Jobs` of commands/messages.py
run(
    Path(snakemake.input.encoder),
    [Path(path) for path in snakemake.input.model],
    Path(snakemake.input.samples),
    {Path(folder).name: Path(folder) for folder in snakemake.input.tokens},
    Path(snakemake.output[0]),
    samples=Samples.model_validate(settings["samples"]),
    layers=settings["layers"],
    units=Units.model_validate(settings["units"]),
    precision=settings["precision"],
    dtype=settings["stored"],
    threads=snakemake.threads,
    log=log,
)
