"""liang2021: its tables and figures, each with what it needs and how the report describes it."""

from typing import Any, Literal

from crosslens.config.whole import Config
from crosslens.papers.liang2021 import captions
from crosslens.papers.liang2021.config import section
from crosslens.papers.liang2021.layout import ITEMS, Study
from crosslens.papers.liang2021.recipes import recipes, removals, study
from crosslens.papers.paper import Item, Need
from crosslens.recipes import Recipe


def kind(recipe: Recipe) -> str:
    """Kind of a training's scores: spans of entity tags; figure 4's, of several heads, as chunks, which are the same spans."""
    projected = any(head.kind == "linear" and head.projection for head in recipe.heads.values())
    return "spans" if recipe.task == "ner" and not projected else "classification"


def items(config: Config) -> dict[str, Item]:
    """Items by name."""
    return {name: _figure(config) if name == "figure4" else _table(name, config) for name in ITEMS}


def _table(name: str, config: Config) -> Item:
    configured, shown = recipes(config), Study(**study(config))
    names = [shown.recipe(*combination, model) for combination in shown.combinations(name) for model in shown.shown(name)]
    corpora = tuple(dict.fromkeys(shown.tasks[task] for task, _ in shown.combinations(name)))
    needs = tuple(Need(kind(configured[recipe]), recipe, tuple(section(config).seeds)) for recipe in names)
    return _made(name, "tables", needs=needs, settings=study(config), corpora=corpora)


def _figure(config: Config) -> Item:
    shown = removals(config)
    names = dict.fromkeys(part["recipe"] for parts in shown.values() for part in parts)
    needs = tuple(Need("classification", recipe, tuple(section(config).seeds)) for recipe in names)
    return _made("figure4", "figures", needs=needs, settings={"study": study(config), "removals": shown})


def _made(name: str, module: str, **fields: Any) -> Item:
    form: Literal["table", "figure"] = "figure" if name.startswith("figure") else "table"
    title = f"{form.capitalize()} {name.removeprefix(form)}"
    return Item(form, title, ITEMS[name], captions.caption(name), module, **fields)
