"""Tokenise every file of a corpus for an encoder."""

from pathlib import Path

from crosslens import logs
from crosslens.config.tokens import Tokens
from crosslens.tokens.tokenise import write_tokens


def main(snakemake):
    """Read the rule's object, write a folder of tokens."""
    log = logs.start(snakemake.log[0], title=f"tokens of {snakemake.wildcards.corpus} for {snakemake.wildcards.encoder}")
    settings = snakemake.params.settings
    tokens = Tokens.model_validate(settings["tokens"])
    folder = Path(snakemake.output[0])
    for (language, split), corpus in zip(settings["parts"], snakemake.input.corpus, strict=True):
        output = folder / f"{language}.{split}.parquet"
        counts = write_tokens(Path(snakemake.input.encoder), Path(corpus), output, tokens, split)
        log.info("%s: %s", output.name, ", ".join(f"{name} {count}" for name, count in counts.items()))


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
