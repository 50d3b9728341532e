"""Read the official files of a language's split and write them as typed rows."""

from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

from crosslens import logs
from crosslens.corpora.archives import extracted
from crosslens.corpora.splits import write_split


def main(snakemake):
    """Read the rule's object, write the split."""
    wildcards, settings = snakemake.wildcards, dict(snakemake.params.settings)
    log = logs.start(snakemake.log[0], title=f"{wildcards.corpus} in {wildcards.language}", seed=settings["seed"])
    # Not an import at the top: the reader is one of several, and the rule's fingerprint takes in just this one.
    reader = import_module(f"crosslens.corpora.{snakemake.params.reader}")
    given = {name: [Path(path) for path in as_list(paths)] for name, paths in snakemake.input.items()}
    archive, texts = given.pop("archive", None), given.pop("texts", None)
    reading = settings.pop("reading") | ({"texts": texts[0]} if texts else {})
    patterns, named = settings.pop("patterns"), {"language": wildcards.language, "split": wildcards.split}
    with extracted(archive[0], patterns) if archive else nullcontext(given) as files:
        found = files.get(wildcards.split, [])
        rows = write_split(reader, found, Path(snakemake.output[0]), **named, **settings, **reading)
    log.info("%s: %d rows", wildcards.split, rows)


def as_list(paths):
    """One file or several: Snakemake gives a single named input as a string."""
    return [paths] if isinstance(paths, str) else paths


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
