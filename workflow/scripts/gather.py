"""Put all records that a paper needs into one file."""

from pathlib import Path

from crosslens import logs
from crosslens.records import gather


def main(snakemake):
    """Read the rule's object, write the scores."""
    logs.start(snakemake.log[0], title=f"records of {snakemake.wildcards.paper}")
    gather(snakemake.input, Path(snakemake.output[0]))


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
