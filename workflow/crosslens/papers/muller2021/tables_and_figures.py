"""muller2021: the tables and figures, each with its needs and the settings of its module."""

from dataclasses import asdict
from typing import Any

from crosslens.config.whole import Config, once
from crosslens.papers import captions
from crosslens.papers.captions import APPENDIX, appendix
from crosslens.papers.muller2021.config import section
from crosslens.papers.muller2021.names import COMPARED, ITEMS, PRETRAINED, REF, SPLIT, UNTRAINED, item_recipes, recipe_name
from crosslens.papers.muller2021.recipes import PAPER, recipes, set_name, study, trials
from crosslens.reports.paper import Need, TableOrFigure

KINDS = {"parsing": "attachment", "pos": "classification", "ner": "spans"}  # task -> kind of measure that scores it


@once
def items(config: Config) -> dict[str, TableOrFigure]:
    """Tables and figures by name."""
    items_by_name = {name: _item(name, config) for name in ITEMS} | {
        "table3": _hyperparameters(config),
        "table3_search": _search(config),
        "change": _change(config),
    }
    further = {f"{name}{APPENDIX}": appendix(items_by_name[name], "by definitions that may be the printed one") for name in SPLIT}
    return {name: items_by_name[name] for name in captions.items(PAPER)} | further


def _item(name: str, config: Config) -> TableOrFigure:
    paper, configured = section(config), recipes(config)
    compared = [set_name(layers) for layers in paper.similarity.sets]
    further = [] if name == "table5" else compared
    names = [recipe for recipe in item_recipes(name, paper.source_languages, further) if recipe in configured]
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
        return captions.captioned(PAPER, name, "figures", needs=tuple(needs), settings=settings | {"layers": compared})
    settings |= {"recipes": names, "further": further}
    if name == "table4":
        return captions.captioned(PAPER, name, "correlation", needs=tuple(needs), settings=settings, decimals=3)
    return captions.captioned(PAPER, name, "tables", needs=tuple(needs), settings=settings, tokenizer=True)


def _hyperparameters(config: Config) -> TableOrFigure:
    paper = section(config)
    tasks = {recipe_name(task, "en", REF): task for task in paper.tasks}
    needs = tuple(Need(kind, recipe, tuple(paper.seeds)) for kind in ("record", "history") for recipe in tasks)
    settings = {"tasks": tasks, "grid": paper.search.model_dump()}
    return captions.captioned(PAPER, "table3", "hyperparameters", needs=needs, settings=settings, decimals=None)


def _change(config: Config) -> TableOrFigure:
    paper = section(config)
    tuned = [recipe_name(task, "en", REF) for task in paper.tasks]
    seeds = dict.fromkeys(tuned, tuple(paper.seeds)) | dict.fromkeys((PRETRAINED, UNTRAINED), tuple(paper.seeds[:1]))
    needs = [Need("change", recipe, seeds[recipe]) for recipe in tuned]
    needs += [Need("sentence_probes", recipe, of_recipe) for recipe, of_recipe in seeds.items()]
    settings = {"study": asdict(study(config))}
    return captions.captioned(PAPER, "change", "change", needs=tuple(needs), settings=settings, decimals=3)


def _search(config: Config) -> TableOrFigure:
    jobs = trials(config)
    settings = {trial.name: {"task": trial.task, "source": trial.source} | trial.trial for job in jobs.values() for trial in job}
    needs = tuple(Need("history", job, tuple(section(config).seeds[:1])) for job in jobs)
    return captions.captioned(
        PAPER, "table3_search", "hyperparameters", needs=needs, settings={"trials": settings}, decimals=None, searched=True
    )
