"""muller2021: what it trains, measures and shows. See crosslens.reports.paper."""

from collections.abc import Mapping
from typing import Any

from crosslens.config.draws import Draws
from crosslens.config.heads import ARC, TASK
from crosslens.config.whole import Config, once
from crosslens.numerics.definitions import ACCURACY, CUT_WORDS
from crosslens.papers.muller2021.config import section
from crosslens.papers.muller2021.items import KINDS, items
from crosslens.papers.muller2021.recipes import recipes, trials
from crosslens.recipes import Recipe
from crosslens.reports.paper import Paper

PARALLEL = "muller2021/parallel"


def seeds(recipe: Recipe, config: Config) -> tuple[int, ...]:
    """Of the paper's section; the first for a trial, and for an encoder that is not trained."""
    found = tuple(section(config).seeds)
    return found if recipe.stages and not recipe.trial else found[:1]


@once
def draws(config: Config) -> dict[str, Draws]:
    """The parallel sentences, whose states are averaged, at all layers."""
    paper = section(config)
    return {PARALLEL: Draws.averaged_texts(paper, paper.parallel, config.corpora[paper.parallel].languages)}


def measures(recipe: Recipe, config: Config) -> Mapping[str, Mapping[str, Any]]:
    """See Paper."""
    paper = section(config)
    similarity = {"corpus": paper.parallel, "reference": "en", "draws": paper.similarity.draws}
    found: dict[str, dict[str, Any]] = {} if recipe.trial else {"similarity": similarity}
    if recipe.task is None or recipe.trial:
        return found
    labels = recipe.heads[TASK].labels
    training = [file for data in recipe.taught(TASK) for file in data.files()]
    scores: dict[str, dict[str, Any]] = {
        "attachment": {"head": TASK, "arcs": ARC, "relations": labels, "training": training},
        "classification": {"labels": {TASK: labels}, "definitions": {TASK: [ACCURACY, CUT_WORDS]}},
        "spans": {"head": TASK, "labels": labels},
    }
    kind = KINDS[recipe.task]
    return found | {kind: scores[kind]}


PAPER = Paper(
    key="muller2021",
    about="Muller, Elazar, Sagot and Seddah (2021), *First align, then predict*: before an encoder is fine-tuned on one "
    "language, some of its layers are re-initialised; measured are the cost in-language and across languages, and the "
    "similarity of its states for translated sentences.",
    recipes=recipes,
    trials=trials,
    seeds=seeds,
    draws=draws,
    drawn=lambda recipe, config: PARALLEL,
    measures=measures,
    items=items,
)
