"""Draw words of some corpora."""

from pathlib import Path

from crosslens import logs
from crosslens.config.draws import Draws
from crosslens.draws.files import write


def main(snakemake):
    """Read the rule's object, write a folder a corpus."""
    logs.start(snakemake.log[0], title=f"draws {snakemake.wildcards.draws}")
    settings = Draws.model_validate(snakemake.params.settings)
    write(settings, {Path(folder).name: Path(folder) for folder in snakemake.input.tokens}, Path(snakemake.output[0]))


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
