"""Sample words or texts from some corpora."""

from pathlib import Path

from crosslens.config.samples import Samples
from crosslens.encoding.samples import write
from crosslens.jobs import logs

logs.start(snakemake.log[0], snakemake.output[0])
settings = Samples.model_validate(snakemake.params.settings)
write(settings, {Path(folder).name: Path(folder) for folder in snakemake.input.tokens}, Path(snakemake.output[0]))
