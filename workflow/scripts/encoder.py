"""Write an encoder's weights into a Hugging Face folder, together with its tokenizer."""

from pathlib import Path

from crosslens.config.encoders import Encoder
from crosslens.corpora.sources.pins import reading
from crosslens.encoding.encoders.build import build
from crosslens.jobs import logs
from crosslens.jobs.checksums import verified
from pydantic import TypeAdapter

log = logs.start(snakemake.log[0], snakemake.output[0])
settings = snakemake.params.settings
hub = next((verified(Path(path)).parent for path in snakemake.input.hub), None)
with reading(snakemake.input.hub):
    build(
        TypeAdapter(Encoder).validate_python(settings["encoder"]),
        Path(snakemake.input.tokenizer),
        Path(snakemake.output[0]),
        log,
        hub,
        settings["package"],
        settings["rehearse"],
    )
