"""A CSV table as a page to read."""

from pathlib import Path

from crosslens import logs
from crosslens.files import written
from crosslens.pages import page


def main(snakemake):
    """Read the rule's object, write the page."""
    logs.start(snakemake.log[0], title=f"page of {snakemake.input.table}")
    with written(snakemake.output[0]) as temporary:
        temporary.write_text(page(Path(snakemake.input.table), snakemake.params.settings["title"]), encoding="utf-8")


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
