"""Tokenise every file of a corpus for an encoder."""

from pathlib import Path

from crosslens.config.tokenisations import Tokenisation
from crosslens.encoding.tokens.tokenise import write_corpus_tokens
from crosslens.jobs import logs
from crosslens.jobs.checksums import verified

log = logs.start(snakemake.log[0], snakemake.output[0])
settings = snakemake.params.settings
files = zip(map(tuple, settings["parts"]), map(Path, settings["files"]), strict=True)
tokenisation, output = Tokenisation.model_validate(settings["tokenisation"]), Path(snakemake.output[0])
punkt = next((verified(Path(path)) for path in snakemake.input.punkt), None)
name = snakemake.wildcards.tokenisation
write_corpus_tokens(Path(snakemake.input.tokenizer), dict(files), output, tokenisation, settings["shared"], log, name, punkt)
