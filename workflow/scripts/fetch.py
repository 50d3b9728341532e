"""Fetch one official file from a mirror or the network, verified."""

from pathlib import Path

from crosslens import logs
from crosslens.sources.fetch import fetch


def main(snakemake):
    """Read the rule's object, fetch."""
    log = logs.start(snakemake.log[0], title=f"fetch {snakemake.wildcards.path} of {snakemake.wildcards.source}")
    settings = snakemake.params.settings
    # Where a copy is looked for is no setting: the bytes are verified, and another mirror must not rerun everything.
    mirror = [Path(folder) / inside for folder in snakemake.config.get("mirror", []) for inside in settings["mirror"]]
    digest = fetch(
        snakemake.wildcards.path,
        Path(snakemake.output[0]),
        url=settings["url"],
        sha256=settings["sha256"],
        mirror=mirror,
        manual=settings["manual"],
    )
    log.info("sha256 %s", digest)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
