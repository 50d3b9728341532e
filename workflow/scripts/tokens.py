"""Tokenise every file of a corpus for an encoder."""

from pathlib import Path

from crosslens import logs
from crosslens.config.readings import Reading
from crosslens.tokens.tokenise import write_tokens, write_train


def main(snakemake):
    """Read the rule's object, write a folder of tokens."""
    log = logs.start(snakemake.log[0], title=f"tokens of {snakemake.wildcards.corpus} for {snakemake.wildcards.encoder}")
    settings = snakemake.params.settings
    reading = Reading.model_validate(settings["reading"])
    tokenizer, folder = Path(snakemake.input.tokenizer), Path(snakemake.output[0])
    for (language, split), corpus in zip(settings["parts"], snakemake.params.files, strict=True):
        outputs = {name: folder / f"{language}.{name}.parquet" for name in (split, "validation")}
        if split == "train" and language in settings["shared"]["languages"]:
            shared = {name: settings["shared"][name] for name in ("share", "by", "seed")}
            written = write_train(tokenizer, Path(corpus), outputs, reading, language=language, **shared)
        else:
            written = {split: write_tokens(tokenizer, Path(corpus), outputs[split], reading, split)}
        for name, counts in written.items():
            log.info("%s.%s: %s", language, name, ", ".join(f"{what} {count}" for what, count in counts.items()))


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
