"""Tokenise every file of a corpus for an encoder."""

from pathlib import Path

from crosslens import logs
from crosslens.config import Tokens
from crosslens.tokens.tokenise import write_tokens


def main(snakemake):
    """Read the rule's object, write its tokens."""
    log = logs.start(snakemake.log[0], title=f"tokens of {snakemake.wildcards.corpus} for {snakemake.wildcards.encoder}")
    settings = Tokens.model_validate(snakemake.params.settings)
    encoder = Path(snakemake.input.encoder).parent
    for corpus, output in zip(snakemake.input.corpus, snakemake.output, strict=True):
        counts = write_tokens(encoder, Path(corpus), Path(output), settings)
        log.info("%s: %s", output, ", ".join(f"{name} {count}" for name, count in counts.items()))


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
