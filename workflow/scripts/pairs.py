"""Read the sentence pairs of a language and write the asked splits as typed rows."""

from contextlib import nullcontext
from pathlib import Path

from crosslens import logs
from crosslens.corpora.archives import extracted
from crosslens.corpora.pairs import write_pairs


def main(snakemake):
    """Read the rule's object, write one file a split."""
    wildcards, settings = snakemake.wildcards, snakemake.params.settings
    log = logs.start(snakemake.log[0], title=f"pairs of {wildcards.language} in {wildcards.corpus}", seed=settings["seed"])
    outputs = dict(snakemake.output.items()) or {wildcards.split: snakemake.output[0]}
    given = {split: [Path(path) for path in as_list(paths)] for split, paths in snakemake.input.items()}
    archive = given.pop("archive", None)
    with extracted(archive[0], settings["patterns"]) if archive else nullcontext(given) as files:
        counts = write_pairs(
            files,
            {split: Path(path) for split, path in outputs.items()},
            language=wildcards.language,
            validation_share=settings["validation_share"],
            limits=settings["limits"],
            seed=settings["seed"],
        )
    log.info("%s", ", ".join(f"{split}: {count} pairs" for split, count in counts.items()))


def as_list(paths):
    """One file or several: Snakemake gives a single named input as a string."""
    return [paths] if isinstance(paths, str) else paths


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
