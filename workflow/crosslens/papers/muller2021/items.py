"""muller2021: its tables and figures, each with what it needs and how the report describes it."""

from dataclasses import asdict
from typing import Any, Literal

from crosslens.config.whole import Config, once
from crosslens.papers.muller2021 import captions
from crosslens.papers.muller2021.config import section
from crosslens.papers.muller2021.layout import COMPARED, ITEMS, REF, recipe_name
from crosslens.papers.muller2021.layout import needs as shown_by
from crosslens.papers.muller2021.recipes import recipes, set_name, study, trials
from crosslens.reports.paper import Item, Need

KINDS = {"parsing": "attachment", "pos": "classification", "ner": "spans"}  # task -> kind of its scores
TITLES = {
    "table1": ("Table 1", "What re-initialising layers costs, in the language of training and across languages"),
    "table2": ("Table 2", "What re-initialising layers costs, across domains"),
    "table3": ("Table 3", "Hyperparameters of the reference trainings"),
    "table3_search": ("Table 3 by search", "Grid search, the best set of each task first"),
    "table4": ("Table 4", "Correlation over languages of the similarity with English and transfer from English"),
    "table5": ("Table 5", "Scores by language with single layers, pairs, triples, quarters or all re-initialised"),
    "table6": ("Table 6", "What re-initialising layers costs in parsing, by language"),
    "table7": ("Table 7", "What re-initialising layers costs in part-of-speech tagging, by language"),
    "table8": ("Table 8", "What re-initialising layers costs in named-entity recognition, by language"),
    "figure1": ("Figure 1", "Similarity of English and Russian sentences by layer, before and after fine-tuning"),
    "figure2": ("Figure 2", "Similarity of English and Russian sentences with re-initialised layers, named-entity recognition"),
    "figure3": ("Figure 3", "Correlation of the similarity with English and transfer from English, by layer"),
    "figure4": ("Figure 4", "Similarity with English by layer and language, named-entity recognition"),
    "figure5": ("Figure 5", "Similarity with English by layer and language, before and after fine-tuning"),
    "figure6": ("Figure 6", "Similarity with English by language, with re-initialised layers, parsing"),
    "figure7": ("Figure 7", "Similarity with English by language, with re-initialised layers, part-of-speech tagging"),
    "figure8": ("Figure 8", "Similarity with English by language, with re-initialised layers, named-entity recognition"),
}


@once
def items(config: Config) -> dict[str, Item]:
    """Items by name."""
    made = {name: _item(name, config) for name in ITEMS} | {"table3": _hyperparameters(config), "table3_search": _search(config)}
    return {name: made[name] for name in TITLES}


def _item(name: str, config: Config) -> Item:
    paper, configured = section(config), recipes(config)
    compared = [set_name(layers) for layers in paper.similarity.sets]
    further = [] if name == "table5" else compared
    names = [recipe for recipe in shown_by(name, paper.source_languages, further) if recipe in configured]
    needs = []
    for recipe in names:
        trained = configured[recipe].stages  # an untrained encoder has one seed and no scores
        seeds = tuple(paper.seeds if trained else paper.seeds[:1])
        if trained and (name not in COMPARED or not COMPARED[name].targets):
            needs.append(Need(KINDS[str(configured[recipe].task)], recipe, seeds))
        if name in COMPARED:
            needs.append(Need("similarity", recipe, seeds))
    settings: dict[str, Any] = {"study": asdict(study(config))}
    if name.startswith("figure"):
        return _made(name, "figures", needs=tuple(needs), settings=settings | {"layers": compared})
    settings |= {"recipes": names, "further": further}
    decimals = 3 if name == "table4" else 2
    return _made(name, "tables", needs=tuple(needs), settings=settings, tokenizer=True, decimals=decimals)


def _hyperparameters(config: Config) -> Item:
    paper = section(config)
    tasks = {recipe_name(task, "en", REF): task for task in paper.tasks}
    needs = tuple(Need(kind, recipe, tuple(paper.seeds)) for kind in ("record", "history") for recipe in tasks)
    settings = {"tasks": tasks, "grid": paper.search.model_dump()}
    return _made("table3", "hyperparameters", needs=needs, settings=settings, decimals=None)


def _search(config: Config) -> Item:
    jobs = trials(config)
    shown = {each.name: {"task": each.task, "source": each.source} | each.trial for job in jobs.values() for each in job}
    needs = tuple(Need("history", job, tuple(section(config).seeds[:1])) for job in jobs)
    return _made("table3_search", "hyperparameters", needs=needs, settings={"trials": shown}, decimals=None, searched=True)


def _made(name: str, module: str, **fields: Any) -> Item:
    form: Literal["table", "figure"] = "figure" if name.startswith("figure") else "table"
    numbers = {len(need.seeds) for need in fields.get("needs", ())}
    return Item(form, *TITLES[name], captions.caption(name, numbers), module, **fields)
