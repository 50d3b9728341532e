"""t-SNE of sampled hidden states (tanti2021)."""

from pathlib import Path

from crosslens import logs
from crosslens.config.tanti2021 import Tsne
from crosslens.files import written
from crosslens.papers.tanti2021.projection import projection
from crosslens.states.files import read_corpora


def main(snakemake):
    """Read the rule's object, write the coordinates."""
    settings = snakemake.params.settings
    logs.start(snakemake.log[0], title=f"t-SNE of {snakemake.wildcards.recipe}", seed=int(snakemake.wildcards.seed))
    points = projection(*read_corpora(snakemake.input.states, settings["corpora"]), Tsne.model_validate(settings["tsne"]))
    with written(Path(snakemake.output[0])) as temporary:
        points.to_parquet(temporary, index=False)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
