"""muller2021: the training runs, measures, tables and figures of the paper, as one Paper (crosslens.reports.paper)."""

from collections.abc import Mapping
from typing import Any

from crosslens.config.heads import ARC, TASK
from crosslens.config.recipes import Recipe
from crosslens.config.samples import Samples
from crosslens.config.whole import Config, once
from crosslens.numerics.definitions import ACCURACY, CUT_WORDS
from crosslens.papers.muller2021.config import section
from crosslens.papers.muller2021.printed import place
from crosslens.papers.muller2021.recipes import recipes, trials
from crosslens.papers.muller2021.tables_and_figures import KINDS, items
from crosslens.reports.paper import Paper

PARALLEL = "muller2021/parallel"


def seeds(recipe: Recipe, config: Config) -> tuple[int, ...]:
    """Seeds of a recipe: all configured ones, but only the first for a trial or an encoder that is not trained."""
    seeds_of_section = tuple(section(config).seeds)
    return seeds_of_section if recipe.stages and not recipe.trial else seeds_of_section[:1]


@once
def samples(config: Config) -> dict[str, Samples]:
    """Samples by name: all parallel sentences, each with its mean hidden state at every layer."""
    paper = section(config)
    return {PARALLEL: Samples.averaged_texts(paper, paper.parallel, config.corpora[paper.parallel].languages)}


def measures(recipe: Recipe, config: Config) -> Mapping[str, Mapping[str, Any]]:
    """Settings of the measures of a recipe, by kind."""
    paper = section(config)
    if recipe.trial:
        return {}
    settings: dict[str, dict[str, Any]] = {
        "similarity": {"corpus": paper.parallel, "reference": "en", "draws": paper.similarity.draws},
        "sentence_probes": {"corpus": paper.parallel, **paper.probe.model_dump()},
    }
    if recipe.task is None:
        return settings
    settings["change"] = {"corpora": {paper.parallel: paper.tokenisation}}
    labels = recipe.heads[TASK].labels
    training = [file for data in recipe.taught(TASK) for file in data.files()]
    scores: dict[str, dict[str, Any]] = {
        "attachment": {"head": TASK, "arcs": ARC, "relations": labels, "training": training},
        "classification": {"labels": {TASK: labels}, "definitions": {TASK: [ACCURACY, CUT_WORDS]}},
        "spans": {"head": TASK, "labels": labels},
    }
    kind = KINDS[recipe.task]
    return settings | {kind: scores[kind]}


PAPER = Paper(
    key="muller2021",
    about="Muller, Elazar, Sagot and Seddah (2021), *First align, then predict*: before an encoder is fine-tuned on one "
    "language, some of its layers are re-initialised; measured are the cost in-language and across languages, and the "
    "similarity of its states for translated sentences.",
    recipes=recipes,
    trials=trials,
    seeds=seeds,
    samples=samples,
    sampled=lambda recipe, config: PARALLEL,
    measures=measures,
    items=items,
    place=place,
)
