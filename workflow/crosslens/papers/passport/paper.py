"""passport: the measures of encoders, each with its samples and its table, as one Paper (crosslens.reports.paper)."""

from collections.abc import Mapping
from typing import Any

from crosslens.config.recipes import Recipe
from crosslens.config.samples import Samples, Sampling
from crosslens.config.whole import Config, once
from crosslens.papers.passport.config import section
from crosslens.papers.passport.recipes import PAPER as KEY
from crosslens.papers.passport.recipes import recipes
from crosslens.papers.passport.tables_and_figures import items, sentences
from crosslens.papers.passport.terms import PIVOT
from crosslens.reports.paper import Paper


def seeds(recipe: Recipe, config: Config) -> tuple[int, ...]:
    """Seeds of a recipe: the section's for random weights, 0 for an unchanged encoder."""
    return tuple(section(config).seeds) if recipe.edit.changes() else (0,)


@once
def samples(config: Config) -> dict[str, Samples]:
    """Samples by name, one for each encoder: all parallel sentences, and those from which topics are learned.

    The states of a sentence are averaged.
    """
    paper = section(config)
    parallel = Sampling(languages=tuple(config.corpora[paper.parallel].languages), means=True, pivot=PIVOT)
    topics = Sampling(languages=(PIVOT,), means=True, sample_split="train")
    shared: dict[str, Any] = {"tokenisation": paper.tokenisation, "unit": "text", "labels": paper.labels(config)}
    return {
        sentences(encoder): Samples(encoder=encoder, corpora={paper.parallel: parallel, paper.topics: topics}, **shared)
        for encoder in paper.encoders
    }


def measures(recipe: Recipe, config: Config) -> Mapping[str, Mapping[str, Any]]:
    """Settings of the measures, by kind."""
    paper = section(config)
    shared = {"corpus": paper.parallel, "block": paper.block}
    return {
        "alignment": {**shared, "pivot": PIVOT, "k": paper.neighbours, "shuffles": paper.shuffles},
        "language_geometry": {
            **shared, "penalty": paper.penalty, "tolerance": paper.tolerance, "permutations": paper.permutations,
            "kinship": paper.kinship(config),
        },
        "topic_transfer": {
            **shared, "training": paper.topics, "source": PIVOT, "penalties": list(paper.penalties),
            "tolerance": paper.tolerance,
        },
    }  # fmt: skip


PAPER = Paper(
    key=KEY,
    about="The passport of an encoder: where it keeps the language of a sentence and where its meaning, by layer, and which "
    "languages it fails, beside the same encoder with random weights.",
    recipes=recipes,
    seeds=seeds,
    samples=samples,
    sampled=lambda recipe, config: sentences(recipe.encoder),
    measures=measures,
    items=items,
)
