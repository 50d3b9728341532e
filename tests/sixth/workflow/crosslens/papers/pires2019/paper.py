"""pires2019: the training runs, measures, table and figures of the paper, as one Paper (crosslens.reports.paper)."""

from collections.abc import Mapping
from typing import Any

from crosslens.config.heads import TASK
from crosslens.config.recipes import Recipe
from crosslens.config.samples import Samples
from crosslens.config.whole import Config, once
from crosslens.numerics.definitions import ACCURACY
from crosslens.papers.pires2019.config import section
from crosslens.papers.pires2019.recipes import recipes
from crosslens.papers.pires2019.tables_and_figures import items
from crosslens.reports.paper import Paper

PARALLEL = "pires2019/parallel"


@once
def samples(config: Config) -> dict[str, Samples]:
    """Draws of the parallel sentences, whose states are averaged, at all layers."""
    paper = section(config)
    return {PARALLEL: Samples.averaged_texts(paper, paper.parallel, config.corpora[paper.parallel].languages)}


def measures(recipe: Recipe, config: Config) -> Mapping[str, Mapping[str, Any]]:
    """Settings of the measures of a recipe, by kind."""
    paper = section(config)
    if not recipe.stages:
        return {"nearest_translation": {"corpus": paper.parallel, "reference": "en"}}
    return {"classification": {"labels": {TASK: recipe.labels(TASK)}, "definitions": {TASK: [ACCURACY]}}}


PAPER = Paper(
    key="pires2019",
    about="Pires, Schlinger and Garrette (2019), *How multilingual is multilingual BERT?*: a tagger is trained on one language "
    "and tested on others, and sentences of the encoder as it was pretrained are translated by the nearest neighbour.",
    recipes=recipes,
    samples=samples,
    sampled=lambda recipe, config: None if recipe.stages else PARALLEL,
    measures=measures,
    items=items,
)
