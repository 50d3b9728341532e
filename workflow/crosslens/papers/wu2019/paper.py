"""wu2019: the training runs, measures, tables and figures of the paper, as one Paper (crosslens.reports.paper)."""

from collections.abc import Mapping
from typing import Any

from crosslens.config.heads import ARC, TASK
from crosslens.config.recipes import Recipe
from crosslens.config.whole import Config
from crosslens.numerics.definitions import ACCURACY, CUT_TEXTS, CUT_WORDS
from crosslens.papers.wu2019.config import section
from crosslens.papers.wu2019.printed import place
from crosslens.papers.wu2019.recipes import recipes, trials
from crosslens.papers.wu2019.tables_and_figures import MEASURES, items
from crosslens.reports.paper import Paper


def seeds(recipe: Recipe, config: Config) -> tuple[int, ...]:
    """Seeds of a recipe: all configured ones, but only the first for a trial."""
    seeds_of_section = tuple(section(config).seeds)
    return seeds_of_section[:1] if recipe.trial else seeds_of_section


def measures(recipe: Recipe, config: Config) -> Mapping[str, Mapping[str, Any]]:
    """Settings of the measures of a recipe, by kind."""
    if recipe.trial:
        return {}
    labels = recipe.labels(TASK)
    match MEASURES.get(str(recipe.task), "classification"):
        case "attachment":
            return {"attachment": {"head": TASK, "arcs": ARC, "relations": labels}}
        case "spans":
            return {"spans": {"head": TASK, "labels": labels}}
    cut = CUT_TEXTS if recipe.units.unit == "text" else CUT_WORDS
    heads = {name: head.labels for name, head in recipe.heads.items()}
    return {"classification": {"labels": heads, "definitions": dict.fromkeys(heads, [ACCURACY, cut])}}


PAPER = Paper(
    key="wu2019",
    about="Wu and Dredze (2019), *Beto, Bentz, Becas: the surprising cross-lingual effectiveness of BERT*: five tasks in 39 "
    "languages, in each language and from English alone; with frozen bottom layers and from features; which language a text is "
    "in by layer; and the overlap of subwords.",
    recipes=recipes,
    trials=trials,
    seeds=seeds,
    measures=measures,
    items=items,
    place=place,
)
