"""tanti2021: the training runs, measures, tables and figures of the paper, as one Paper (crosslens.reports.paper)."""

from collections.abc import Mapping
from typing import Any

from crosslens.config.heads import LANGUAGE, TASK
from crosslens.config.recipes import Recipe
from crosslens.config.whole import Config
from crosslens.numerics import definitions as scores
from crosslens.papers.tanti2021.config import section
from crosslens.papers.tanti2021.printed import place
from crosslens.papers.tanti2021.recipes import recipes, trials
from crosslens.papers.tanti2021.samples import samples, samples_name
from crosslens.papers.tanti2021.tables_and_figures import items
from crosslens.reports.paper import Paper

DEFINITIONS = {  # unit -> definitions of scores for every head, only for the task's head, only for language heads
    "word": ((scores.CHUNK_MACRO_F1, scores.MACRO_F1, scores.ACCURACY), (scores.CHUNK_MICRO_F1, scores.TRANSFER), ()),
    "text": ((scores.UNION_F1, scores.MACRO_F1, scores.ACCURACY), (scores.TRANSFER,), (scores.CEILING,)),
}
CUT = {"word": (scores.CUT_TEXTS, scores.CUT_WORDS), "text": (scores.CUT_TEXTS,)}


def seeds(recipe: Recipe, config: Config) -> tuple[int, ...]:
    """Seeds of a recipe: the run's own or, without any, the configured ones. A trial has only the first configured seed."""
    if recipe.trial:
        return (config.seeds[0],)
    task, run = section(config).run_of(recipe.name)
    return tuple(section(config).run(task, run).seeds or config.seeds)


def measures(recipe: Recipe, config: Config) -> Mapping[str, Mapping[str, Any]]:
    """Settings of the measures of a recipe, by kind."""
    paper = section(config)
    heads = [TASK] if recipe.trial else list(recipe.heads)
    settings: dict[str, dict[str, Any]] = {
        "classification": {
            "labels": {head: recipe.heads[head].labels for head in heads},
            "definitions": {head: definitions(head, recipe.units.unit) for head in heads},
            "source_language": paper.source_language,
        }
    }
    if recipe.trial:
        return settings
    target, paragraphs = paper.task(str(recipe.task)).corpus, paper.language_corpus
    corpora = {"target": target, "paragraphs": paragraphs}
    grouped = paper.clustering.model_dump(exclude={"points_per_language"}) | {"source_language": paper.source_language}
    return settings | {
        "adversary": {"head": LANGUAGE},
        "clusters": {"corpora": [target, paragraphs]} | grouped,
        "probes": corpora | paper.probe.model_dump(),
        "spelling": corpora,
        "units": {"corpora": {paragraphs: paper.tokenisation}, "pooler": recipe.units.state == "pooler"}
        | paper.units.model_dump()
        | paper.probe.model_dump(include={"penalties", "tolerance"}),
        "projection": {"corpora": [target, paragraphs], "tsne": paper.tsne.model_dump()},
    }


def definitions(head: str, unit: str) -> list[str]:
    """Definitions of a head's scores; for the task's head and the main language head also the shares of cut texts and words."""
    of_every_head, of_task_head, of_language_head = DEFINITIONS[unit]
    cut = CUT[unit] if head in (TASK, LANGUAGE) else ()
    return [*of_every_head, *(of_task_head if head == TASK else of_language_head), *cut]


PAPER = Paper(
    key="tanti2021",
    headline=True,
    about="Tanti, van der Plas, Borg and Gatt (2021), *On the language-specificity of multilingual BERT and the impact of "
    "fine-tuning*: an encoder is trained for part-of-speech tagging and for natural language inference, on English "
    "alone, in four ways; after each, a new head is trained to identify the language of a word or a text from the "
    "encoder's states, which are also clustered and plotted.",
    recipes=recipes,
    trials=trials,
    seeds=seeds,
    samples=samples,
    sampled=lambda recipe, config: samples_name(str(recipe.task)),
    measures=measures,
    items=items,
    place=place,
)
