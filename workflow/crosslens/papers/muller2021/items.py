"""muller2021: its tables and figures, each with what it needs and how the report describes it."""

from dataclasses import asdict
from typing import Any

from crosslens.config.whole import Config, once
from crosslens.papers import captions
from crosslens.papers.muller2021.config import section
from crosslens.papers.muller2021.layout import COMPARED, ITEMS, REF, recipe_name
from crosslens.papers.muller2021.layout import needs as shown_by
from crosslens.papers.muller2021.recipes import PAPER, recipes, set_name, study, trials
from crosslens.reports.paper import Item, Need

KINDS = {"parsing": "attachment", "pos": "classification", "ner": "spans"}  # task -> kind of its scores


@once
def items(config: Config) -> dict[str, Item]:
    """Items by name."""
    made = {name: _item(name, config) for name in ITEMS} | {"table3": _hyperparameters(config), "table3_search": _search(config)}
    return {name: made[name] for name in captions.items(PAPER)}


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
        return captions.made(PAPER, name, "figures", needs=tuple(needs), settings=settings | {"layers": compared})
    settings |= {"recipes": names, "further": further}
    decimals = 3 if name == "table4" else 2
    return captions.made(PAPER, name, "tables", needs=tuple(needs), settings=settings, tokenizer=True, decimals=decimals)


def _hyperparameters(config: Config) -> Item:
    paper = section(config)
    tasks = {recipe_name(task, "en", REF): task for task in paper.tasks}
    needs = tuple(Need(kind, recipe, tuple(paper.seeds)) for kind in ("record", "history") for recipe in tasks)
    settings = {"tasks": tasks, "grid": paper.search.model_dump()}
    return captions.made(PAPER, "table3", "hyperparameters", needs=needs, settings=settings, decimals=None)


def _search(config: Config) -> Item:
    jobs = trials(config)
    shown = {each.name: {"task": each.task, "source": each.source} | each.trial for job in jobs.values() for each in job}
    needs = tuple(Need("history", job, tuple(section(config).seeds[:1])) for job in jobs)
    return captions.made(
        PAPER, "table3_search", "hyperparameters", needs=needs, settings={"trials": shown}, decimals=None, searched=True
    )
