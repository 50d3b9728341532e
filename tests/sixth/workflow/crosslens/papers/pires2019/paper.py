"""pires2019: what it trains, measures and shows. See crosslens.papers.paper."""

from collections.abc import Mapping
from typing import Any

from crosslens.config.states import Draw
from crosslens.config.whole import Config
from crosslens.measures.definitions import ACCURACY
from crosslens.papers.paper import Paper
from crosslens.papers.pires2019.config import section
from crosslens.papers.pires2019.items import items
from crosslens.papers.pires2019.recipes import recipes
from crosslens.recipes import TASK, Recipe


def draws(recipe: Recipe, config: Config) -> dict[str, Draw]:
    """Means of the parallel sentences' states, at all layers, under the encoder that is not trained."""
    return {} if recipe.stages else {section(config).parallel: Draw(means=True)}


def measures(recipe: Recipe, config: Config) -> Mapping[str, Mapping[str, Any]]:
    """See Paper."""
    paper = section(config)
    resamples = {"resamples": paper.bootstrap}
    if not recipe.stages:
        return {"translation": {"corpus": paper.parallel, "reference": "en"} | resamples}
    return {"classification": {"labels": {TASK: recipe.labels(TASK)}, "definitions": {TASK: [ACCURACY]}} | resamples}


PAPER = Paper(
    key="pires2019",
    about="Pires, Schlinger and Garrette (2019), *How multilingual is multilingual BERT?*: a tagger is trained on one language "
    "and tested on others, and sentences of the encoder as it was pretrained are translated by the nearest neighbour.",
    recipes=recipes,
    draws=draws,
    measures=measures,
    items=items,
)
