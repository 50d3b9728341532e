"""Sample paragraphs of a language and split them by page."""

from pathlib import Path

from crosslens.corpora.sampling import write_paragraphs
from crosslens.corpora.sources.pins import reading
from crosslens.jobs import logs
from crosslens.jobs.checksums import verified


def main(snakemake):
    """Write one file per split. snakemake: the object that Snakemake passes to scripts."""
    wildcards, settings = snakemake.wildcards, snakemake.params.settings
    log = logs.start(snakemake.log[0], snakemake.output[0], seed=settings["seed"])
    outputs = {split: Path(path) for split, path in snakemake.output.items()}
    dump = verified(Path(snakemake.input[0]))
    with reading(snakemake.input):
        metadata = write_paragraphs(dump, outputs, language=wildcards.language, processes=snakemake.threads, **settings)
    log.info("%s", metadata)


if __name__ == "__main__":  # worker processes import this file unless they are forked
    main(snakemake)
