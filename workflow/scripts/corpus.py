"""Read the official files of a language and write the asked splits as typed rows."""

from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

from crosslens import logs
from crosslens.corpora.archives import extracted
from crosslens.corpora.splits import write_splits


def main(snakemake):
    """Read the rule's object, write one file a split."""
    wildcards, settings = snakemake.wildcards, dict(snakemake.params.settings)
    log = logs.start(snakemake.log[0], title=f"{wildcards.corpus} in {wildcards.language}", seed=settings["seed"])
    # Not an import at the top: the reader is one of several, and the rule's fingerprint takes in just this one.
    reader = import_module(f"crosslens.corpora.{snakemake.params.reader}")
    outputs = dict(snakemake.output.items()) or {wildcards.split: snakemake.output[0]}
    given = {split: [Path(path) for path in as_list(paths)] for split, paths in snakemake.input.items()}
    archive, texts = given.pop("archive", None), given.pop("texts", None)
    reading = settings.pop("reading") | ({"texts": texts[0]} if texts else {})
    patterns = settings.pop("patterns")
    with extracted(archive[0], patterns) if archive else nullcontext(given) as files:
        outputs = {split: Path(path) for split, path in outputs.items()}
        counts = write_splits(reader, files, outputs, language=wildcards.language, **settings, **reading)
    log.info("%s", ", ".join(f"{split}: {count} rows" for split, count in counts.items()))


def as_list(paths):
    """One file or several: Snakemake gives a single named input as a string."""
    return [paths] if isinstance(paths, str) else paths


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
