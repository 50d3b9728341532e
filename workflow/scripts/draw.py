"""Draw words of some corpora."""

from pathlib import Path

from crosslens.config.draws import Draws
from crosslens.encoding.drawn import write
from crosslens.runs import logs

logs.start(snakemake.log[0], snakemake.output[0])
settings = Draws.model_validate(snakemake.params.settings)
write(settings, {Path(folder).name: Path(folder) for folder in snakemake.input.tokens}, Path(snakemake.output[0]))
