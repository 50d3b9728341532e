"""Tokenise every file of a corpus for an encoder."""

from pathlib import Path

from crosslens.config.readings import Reading
from crosslens.runs import logs
from crosslens.storage.seals import verified
from crosslens.tokens.tokenise import write_corpus_tokens

log = logs.start(snakemake.log[0], snakemake.output[0])
settings = snakemake.params.settings
files = zip(map(tuple, settings["parts"]), map(Path, settings["files"]), strict=True)
reading, output = Reading.model_validate(settings["reading"]), Path(snakemake.output[0])
punkt = next((verified(Path(path)) for path in snakemake.input.punkt), None)
write_corpus_tokens(Path(snakemake.input.tokenizer), dict(files), output, reading, settings["shared"], log, punkt)
