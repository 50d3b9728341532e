"""V-measure of k-means on sampled hidden states (tanti2021)."""

from pathlib import Path

from crosslens import logs, records
from crosslens.config.tanti2021 import Clustering
from crosslens.papers.tanti2021.clusters import cluster_records
from crosslens.states.files import read_corpora


def main(snakemake):
    """Read the rule's object, write the records."""
    seed, settings = int(snakemake.wildcards.seed), snakemake.params.settings
    logs.start(snakemake.log[0], title=f"clusters of {snakemake.wildcards.recipe}", seed=seed)
    rows = cluster_records(
        *read_corpora(snakemake.input.states, settings["corpora"]), Clustering.model_validate(settings["clustering"])
    )
    records.write(rows, Path(snakemake.output[0]), settings["common"] | {"seed": seed})


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
