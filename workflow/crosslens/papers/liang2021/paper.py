"""liang2021: the training runs, measures, tables and figures of the paper, as one Paper (crosslens.reports.paper)."""

from collections.abc import Mapping, Sequence
from typing import Any

from crosslens.config.heads import TASK
from crosslens.config.recipes import Recipe
from crosslens.config.samples import Samples, Sampling
from crosslens.config.whole import Config, once
from crosslens.numerics.definitions import ACCURACY, CHUNK_MICRO_F1, CUT_WORDS
from crosslens.papers.liang2021.config import section
from crosslens.papers.liang2021.names import subwords
from crosslens.papers.liang2021.probes import measures as probes
from crosslens.papers.liang2021.recipes import recipes
from crosslens.papers.liang2021.tables_and_figures import items, kind
from crosslens.reports.paper import Paper

LAYERS = 12  # assumed while an encoder's number of layers is unknown; both encoders of the paper have 12


def seeds(recipe: Recipe, config: Config) -> tuple[int, ...]:
    """Seeds of a recipe: all of the section's, or only the first if the encoder is not trained."""
    seeds_of_section = tuple(section(config).seeds)
    return seeds_of_section if recipe.stages else seeds_of_section[:1]


@once
def samples(config: Config) -> dict[str, Samples]:
    """Samples by name: random subwords of each encoder's texts, from train for the subspaces and from test for the probes.

    Their states are stored at all layers.
    """
    paper, samples_by_name = section(config), {}
    for encoder, corpus in paper.texts.items():
        words = Sampling(
            languages=tuple(config.corpora[str(corpus)].languages),
            random_words={"train": paper.fit_words, "test": paper.probe_words},
            all_layers=True,
        )
        samples_by_name[subwords(encoder)] = Samples(
            encoder=encoder, tokenisation=paper.text_tokenisation, unit="word", corpora={str(corpus): words}
        )  # fmt: skip
    return samples_by_name


def measures(recipe: Recipe, config: Config) -> Mapping[str, Mapping[str, Any]]:
    """Settings of the measures of a recipe, by kind."""
    paper = section(config)
    if recipe.task is None:
        subspaces = {"corpus": paper.texts[recipe.encoder], "split": "train", "methods": ["densray"]}
        return {"subspaces": subspaces, **probes(recipe, config)}
    if kind(recipe) == "spans":
        return {"spans": {"head": TASK, "labels": recipe.labels(TASK)}}
    definitions = [CHUNK_MICRO_F1, ACCURACY, CUT_WORDS]
    return {
        "classification": {
            "labels": {name: head.labels for name, head in recipe.heads.items()},
            "definitions": dict.fromkeys(recipe.heads, definitions),
        }
    }


def names(config: Config) -> Mapping[str, str | float | list[int]]:
    """Value of each $NAME in claims.yaml, whose first lines explain them."""
    paper, probing = section(config), section(config).probing
    languages = len(config.corpora[paper.text_corpus].languages)
    rank = languages - 1
    last = config.encoders[paper.encoder].n_layers() or LAYERS
    layers, third = [*range(1, last + 1)], max(1, last // 3)

    def nearest(number: float, numbers: Sequence[int]) -> int:
        return min(numbers, key=lambda candidate: abs(candidate - number))

    return {
        "encoder": paper.encoder,
        "languages": languages,
        "shared": probing.share or 0.0,
        "last": last,
        "layers": layers,
        "lower": layers[:third],
        "upper": layers[-third:],
        "band": probing.band,
        "typology": probing.typology.layer_dimension,
        "rank": nearest(rank, probing.dimensions),
        "tenth": nearest(rank / 10, probing.dimensions),
        "fifth": nearest(rank / 5, probing.dimensions),
        "double": nearest(2 * rank, probing.dimensions),
        "removed": nearest(rank, paper.removal.first),
    }


PAPER = Paper(
    key="liang2021",
    about="Liang, Dufter and Schütze (2021), *Locating language-specific information in contextualized embeddings*: directions "
    "along which the hidden states of languages differ; tagging without them; and L-DAR, which keeps an encoder's states where "
    "they were within these directions while it is fine-tuned.",
    recipes=recipes,
    seeds=seeds,
    samples=samples,
    sampled=lambda recipe, config: subwords(recipe.encoder) if recipe.task is None else None,
    measures=measures,
    items=items,
    names=names,
)
