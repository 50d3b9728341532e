"""liang2021: the tables and figures, each with the measures that it needs and the settings of its module."""

from collections.abc import Sequence
from dataclasses import asdict

from crosslens.config.recipes import Recipe
from crosslens.config.whole import Config, once
from crosslens.jobs.quantities import listed
from crosslens.papers import captions
from crosslens.papers.captions import APPENDIX, appendix
from crosslens.papers.liang2021.config import section
from crosslens.papers.liang2021.names import PAPER, pretrained, untrained
from crosslens.papers.liang2021.probes import GROUPS, IDENTIFICATION, SIMILARITY, TYPOLOGY
from crosslens.papers.liang2021.recipes import recipes, removals, study
from crosslens.reports.paper import Need, TableOrFigure

PROBES = {
    "figure1": (IDENTIFICATION, TYPOLOGY, SIMILARITY),
    "figure2": (IDENTIFICATION, TYPOLOGY, SIMILARITY),
    "figure3": (IDENTIFICATION, TYPOLOGY, SIMILARITY),
    "figure5": (GROUPS,),
    "subspaces": (IDENTIFICATION,),
}
SPLIT = ("figure1", "figure2")  # have a column for each method, and an appendix with the panels of further encoders


def kind(recipe: Recipe) -> str:
    """Kind of the measure that scores a training run: `spans` for entities, otherwise `classification`.

    In figure 4, whose heads read part of a state, `classification` also scores entities: its chunks are the same spans.
    """
    projected = any(head.kind == "linear" and head.projection for head in recipe.heads.values())
    return "spans" if recipe.task == "ner" and not projected else "classification"


@once
def items(config: Config) -> dict[str, TableOrFigure]:
    """Tables and figures by name."""
    items_by_name = {name: _item(name, config) for name in captions.items(PAPER)}
    if further_encoders := [encoder for encoder in section(config).texts if encoder != section(config).encoder]:
        for name in SPLIT:
            further = _probes(name, config, further_encoders)
            items_by_name[f"{name}{APPENDIX}"] = appendix(further, f"of {listed(further_encoders)}")
    return items_by_name


def _item(name: str, config: Config) -> TableOrFigure:
    if name in PROBES:
        return _probes(name, config)
    return _removal(config) if name == "figure4" else _table(name, config)


def _table(name: str, config: Config) -> TableOrFigure:
    configured, configured_study = recipes(config), study(config)
    names = [
        configured_study.recipe(*combination, model)
        for combination in configured_study.combinations(name)
        for model in configured_study.shown(name)
    ]
    corpora = tuple(dict.fromkeys(configured_study.tasks[task] for task, _ in configured_study.combinations(name)))
    seeds = tuple(section(config).seeds)
    needs = tuple(Need(measure, recipe, seeds) for recipe in names for measure in (kind(configured[recipe]), "history"))
    return captions.captioned(PAPER, name, "tables", needs=needs, settings={"study": asdict(configured_study)}, corpora=corpora)


def _removal(config: Config) -> TableOrFigure:
    parts_by_task = removals(config)
    names = dict.fromkeys(part["recipe"] for parts in parts_by_task.values() for part in parts)
    needs = tuple(Need("classification", recipe, tuple(section(config).seeds)) for recipe in names)
    return captions.captioned(
        PAPER, "figure4", "removal", needs=needs, settings={"study": asdict(study(config)), "removals": parts_by_task}
    )


def _probes(name: str, config: Config, columns: Sequence[str] = ()) -> TableOrFigure:
    """A figure of probe scores.

    columns: encoders to show; empty: the paper's encoder or, in figure 3, all encoders. Figure 3 also shows the paper's encoder
    with random weights.
    """
    paper, probing = section(config), section(config).probing
    main, control = pretrained(paper.encoder), untrained(paper.encoder)
    encoders = {encoder: pretrained(encoder) for encoder in columns or (paper.texts if name == "figure3" else [paper.encoder])}
    recipes = [*encoders.values(), *([control] if name == "figure3" else [])]
    settings = {
        "encoders": {recipe: encoder for encoder, recipe in encoders.items()},
        "untrained": {main: control},
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
    return captions.captioned(PAPER, name, "figures", form="figure", needs=needs, settings=settings)
