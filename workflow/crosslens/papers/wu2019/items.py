"""wu2019: its tables and figures, each with what it needs and how the report describes it."""

from dataclasses import asdict, replace
from typing import Any

from crosslens.config.base import languages_table
from crosslens.config.whole import Config, once
from crosslens.papers import captions
from crosslens.papers.wording import by_seeds
from crosslens.papers.wu2019.config import section
from crosslens.papers.wu2019.layout import FULL, IDENTIFICATION, PAPER, RELEASED_ROOT, TABLES, TAGS, UNTRAINED, Study
from crosslens.papers.wu2019.recipes import grid, recipes, study
from crosslens.reports.paper import Item, Need

MEASURES = {"topic": "classification", "nli": "classification", "ner": "spans", "pos": "classification", "parsing": "attachment"}
"""Task -> kind of its scores."""


@once
def items(config: Config) -> dict[str, Item]:
    """Items by name."""
    shown = study(config)
    of_tables = {table: [task] for task, table in TABLES.items() if task in shown.tasks}
    made = {"table1": _made("table1", "tables", settings={"study": asdict(study(config))}, decimals=None)}
    made |= {table: _table(table, tasks[0], shown, config) for table, tasks in of_tables.items()}
    variants = [shown.zero_shot(task, variant) for task in shown.tasks for variant in (FULL, *shown.variants)]
    if shown.variants:
        of_variants = {"needs": _needs(variants, config), "settings": {"study": asdict(study(config))}}
        made["figure1"] = _made("figure1", "figures", **of_variants)
        made["figure1_cells"] = _made("figure1_cells", "layers", form="table", **of_variants)
    if section(config).identification:
        layers = {name: list(recipes(config)[name].heads) for name in (IDENTIFICATION, UNTRAINED)}
        needs = _needs(list(layers), config)
        made["figure2"] = _made("figure2", "identification", needs=needs, settings={"layers": layers})
    made |= _overlap(shown, config)
    if trials := grid(config):
        tried = {trial.name: {"task": trial.task, "variant": trial.variant.name} | trial.values for trial in trials}
        needs = tuple(Need("history", trial.job, tuple(section(config).seeds[:1])) for trial in trials)
        made["search"] = _made("search", "search", needs=needs, settings={"trials": tried}, decimals=None, searched=True)
    return {name: _named(name, made[name], shown) for name in captions.items(PAPER) if name in made}


def _named(name: str, item: Item, shown: Study) -> Item:
    """An item that says where corpora are not the paper's: a task's table in its heading, others of the tasks in the caption."""
    for task, table in TABLES.items():
        if name == table and (instead := shown.instead(task)):
            return replace(item, shows=f"{item.shows} ({instead})")
    if name in ("table1", "figure1", "figure1_cells", "figure3", "search") and shown.note:
        return replace(item, caption=f"{item.caption}\n\n{shown.note}")
    return item


def _table(name: str, task: str, shown: Study, config: Config) -> Item:
    of_source = [shown.zero_shot(task)]
    if task == "parsing":
        of_source += [shown.zero_shot(task, TAGS), *([shown.zero_shot(task, RELEASED_ROOT)] if shown.released_root else [])]
    names = list(dict.fromkeys([*of_source, *shown.in_language(task).values()]))
    return _made(name, "tables", needs=_needs(names, config), settings={"study": asdict(study(config))})


def _overlap(shown: Study, config: Config) -> dict[str, Item]:
    """The table, and the figure where a task is trained."""
    paper = section(config)
    if paper.overlap is None or not paper.compared():
        return {}
    trains = {str(task): paper.compared_texts(task, config, "train")[paper.source_language] for task in paper.compared()}
    tests = {str(task): paper.compared_texts(task, config, "test") for task in paper.compared()}
    codes = sorted({code for languages in tests.values() for code in languages})
    facts = {code: {key: languages_table()[code][key] for key in ("name", "family", "genus", "script")} for code in codes}
    corpora = tuple(dict.fromkeys([*trains.values(), *(corpus for of in tests.values() for corpus in of.values())]))
    texts = {"source": paper.source_language, "trains": trains, "tests": tests, "languages": facts}
    read: dict[str, Any] = {
        "corpora": corpora,
        "encoder": paper.overlap.encoder,
        "reading": paper.overlap.reading,
        "tokenizer": True,
    }
    made = {"overlap": _made("overlap", "overlap", settings=texts, typology=paper.overlap.typology, **read)}
    if trained := [task for task in shown.tasks if task in tests]:
        needs = _needs([shown.zero_shot(task) for task in trained], config)
        settings = texts | {"recipes": {task: shown.zero_shot(task) for task in trained}}
        made["figure3"] = _made("figure3", "figure3", needs=needs, settings=settings, **read)
    return made


def _needs(names: list[str], config: Config) -> tuple[Need, ...]:
    configured = recipes(config)
    kinds = {name: MEASURES.get(str(configured[name].task), "classification") for name in names}
    return tuple(Need(kinds[name], name, tuple(section(config).seeds)) for name in names)


def _made(name: str, module: str, **fields: Any) -> Item:
    numbers = {len(need.seeds) for need in fields.get("needs", ())}
    values = {
        "spread": by_seeds(numbers, "spread over {} seeds", "intervals, the jackknife over texts,"),
        "mean": by_seeds(numbers, ", with the mean over {} seeds", ", with the score of one seed"),
    }
    return captions.made(PAPER, name, module, values=values, **fields)
