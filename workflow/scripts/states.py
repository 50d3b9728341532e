"""Store the hidden states that are needed of a trained encoder."""

from pathlib import Path

from crosslens import logs
from crosslens.config.states import Draw
from crosslens.encoding.reading import Reading
from crosslens.states.run import run


def main(snakemake):
    """Read the rule's object, write a folder a corpus."""
    settings = snakemake.params.settings
    log = logs.start(snakemake.log[0], title=f"states of {snakemake.wildcards.recipe}", seed=int(snakemake.wildcards.seed))
    run(
        Path(snakemake.input.encoder),
        Path(snakemake.input.model),
        {Path(folder).name: Path(folder) for folder in snakemake.input.tokens},
        Path(snakemake.output[0]),
        languages=settings["languages"],
        labels=settings["labels"],
        draws={corpus: Draw.model_validate(draw) for corpus, draw in settings["draws"].items()},
        layers=settings["layers"],
        reading=Reading.model_validate(settings["reading"]),
        precision=settings["precision"],
        stored=settings["stored"],
        threads=snakemake.threads,
        log=log,
    )


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
