"""Sample paragraphs of a language and split them by page."""

from pathlib import Path

from crosslens.corpora.sampling import write_paragraphs
from crosslens.corpora.sources.pins import reading
from crosslens.jobs import logs
from crosslens.jobs.checksums import verified


def main(snakemake):
    """Read the rule's object, write one file a split."""
    wildcards, settings = snakemake.wildcards, snakemake.params.settings
    log = logs.start(snakemake.log[0], snakemake.output[0], seed=settings["seed"])
    outputs = {split: Path(path) for split, path in snakemake.output.items()}
    dump = verified(Path(snakemake.input[0]))
    with reading(snakemake.input):
        metadata = write_paragraphs(dump, outputs, language=wildcards.language, processes=snakemake.threads, **settings)
    log.info("%s", metadata)


if __name__ == "__main__":  # its processes import this file where they are not forked
    main(snakemake)
