"""Write an encoder's tokenizer and configuration into a Hugging Face folder."""

from pathlib import Path

from crosslens.config.encoders import Encoder
from crosslens.corpora.sources.pins import reading
from crosslens.encoding.encoders.describe import describe
from crosslens.jobs import logs
from crosslens.jobs.checksums import verified
from pydantic import TypeAdapter

log = logs.start(snakemake.log[0], snakemake.output[0])
settings = snakemake.params.settings
encoder = TypeAdapter(Encoder).validate_python(settings["encoder"])
hub, shared = ([verified(Path(path)) for path in paths] for paths in (snakemake.input.hub, snakemake.input.shared))
folders = [*(path.parent for path in hub), *shared]
texts, folder = [Path(path) for path in settings["texts"]], Path(snakemake.output[0])
with reading(hub):
    describe(encoder, texts, folder, log, next(iter(folders), None), settings["package"])
