"""liang2021: its tables and figures, each with what it needs and how the report describes it."""

from dataclasses import asdict

from crosslens.config.whole import Config, once
from crosslens.papers import captions
from crosslens.papers.liang2021.config import section
from crosslens.papers.liang2021.layout import PAPER, pretrained, untrained
from crosslens.papers.liang2021.probes import GROUPS, IDENTIFICATION, SIMILARITY, TYPOLOGY
from crosslens.papers.liang2021.recipes import recipes, removals, study
from crosslens.recipes import Recipe
from crosslens.reports.paper import Item, Need

PROBES = {
    "figure1": (IDENTIFICATION, TYPOLOGY, SIMILARITY),
    "figure2": (IDENTIFICATION, TYPOLOGY, SIMILARITY),
    "figure3": (IDENTIFICATION, TYPOLOGY, SIMILARITY),
    "figure5": (GROUPS,),
    "subspaces": (IDENTIFICATION,),
}


def kind(recipe: Recipe) -> str:
    """Kind of a training's scores: spans of entity tags; figure 4's, of several heads, as chunks, which are the same spans."""
    projected = any(head.kind == "linear" and head.projection for head in recipe.heads.values())
    return "spans" if recipe.task == "ner" and not projected else "classification"


@once
def items(config: Config) -> dict[str, Item]:
    """Items by name."""
    return {name: _item(name, config) for name in captions.items(PAPER)}


def _item(name: str, config: Config) -> Item:
    if name in PROBES:
        return _probes(name, config)
    return _removal(config) if name == "figure4" else _table(name, config)


def _table(name: str, config: Config) -> Item:
    configured, shown = recipes(config), study(config)
    names = [shown.recipe(*combination, model) for combination in shown.combinations(name) for model in shown.shown(name)]
    corpora = tuple(dict.fromkeys(shown.tasks[task] for task, _ in shown.combinations(name)))
    seeds = tuple(section(config).seeds)
    needs = tuple(Need(measure, recipe, seeds) for recipe in names for measure in (kind(configured[recipe]), "history"))
    return captions.made(PAPER, name, "tables", needs=needs, settings={"study": asdict(shown)}, corpora=corpora)


def _removal(config: Config) -> Item:
    shown = removals(config)
    names = dict.fromkeys(part["recipe"] for parts in shown.values() for part in parts)
    needs = tuple(Need("classification", recipe, tuple(section(config).seeds)) for recipe in names)
    return captions.made(PAPER, "figure4", "removal", needs=needs, settings={"study": asdict(study(config)), "removals": shown})


def _probes(name: str, config: Config) -> Item:
    paper, probing = section(config), section(config).probing
    encoders = {encoder: pretrained(encoder) for encoder in paper.texts}
    own, control = encoders[paper.encoder], untrained(paper.encoder)
    recipes = {"figure5": [own], "subspaces": [own], "figure3": [*encoders.values(), control]}.get(name, [*encoders.values()])
    settings = {
        "encoders": {recipe: encoder for encoder, recipe in encoders.items()},
        "untrained": {own: control},
        "methods": probing.methods,
        "compared": probing.compared,
        "band": probing.band,
        "layer_dimensions": {
            IDENTIFICATION: probing.layer_dimension,
            TYPOLOGY: probing.typology.layer_dimension,
            SIMILARITY: probing.similarity.layer_dimension,
        },
    }
    needs = tuple(Need(kind, recipe, tuple(paper.seeds[:1])) for recipe in recipes for kind in PROBES[name])
    return captions.made(PAPER, name, "figures", form="figure", needs=needs, settings=settings)
