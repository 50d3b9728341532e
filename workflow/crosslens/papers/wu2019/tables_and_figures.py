"""wu2019: the tables and figures, each with its needs and the settings of its module."""

from dataclasses import asdict, replace
from typing import Any

from crosslens.config.base import languages_table
from crosslens.config.whole import Config, once
from crosslens.papers import captions
from crosslens.papers.wording import by_seeds
from crosslens.papers.wu2019.config import section
from crosslens.papers.wu2019.names import FULL, IDENTIFICATION, PAPER, RELEASED_ROOT, TABLES, TAGS, UNTRAINED, Study
from crosslens.papers.wu2019.recipes import grid, recipes, study
from crosslens.reports.paper import Need, TableOrFigure

MEASURES = {"topic": "classification", "nli": "classification", "ner": "spans", "pos": "classification", "parsing": "attachment"}
"""Task -> kind of measure that scores it."""


@once
def items(config: Config) -> dict[str, TableOrFigure]:
    """Tables and figures by name."""
    configured_study = study(config)
    study_settings = {"study": asdict(configured_study)}
    items_by_name = {"table1": _item("table1", "tables", settings=study_settings, decimals=None)}
    for task in configured_study.tasks:
        of_source = [FULL, *([TAGS, *[RELEASED_ROOT] * configured_study.released_root] if task == "parsing" else [])]
        trained = [configured_study.zero_shot(task, variant) for variant in of_source]
        names = [*dict.fromkeys([*trained, *configured_study.in_language(task).values()])]
        items_by_name[TABLES[task]] = _item(TABLES[task], "tables", needs=_needs(names, config), settings=study_settings)
    variants = [
        configured_study.zero_shot(task, variant)
        for task in configured_study.tasks
        for variant in (FULL, *configured_study.variants)
    ]
    if configured_study.variants:
        of_variants: dict[str, Any] = {"needs": _needs(variants, config), "settings": study_settings}
        items_by_name["figure1"] = _item("figure1", "figures", **of_variants)
        items_by_name["figure1_cells"] = _item("figure1_cells", "layers", form="table", **of_variants)
    if section(config).identification:
        layers = {name: list(recipes(config)[name].heads) for name in (IDENTIFICATION, UNTRAINED)}
        needs = _needs(list(layers), config)
        items_by_name["figure2"] = _item("figure2", "identification", needs=needs, settings={"layers": layers})
    items_by_name |= _overlap(configured_study, config)
    if trials := grid(config):
        settings_by_trial = {trial.name: {"task": trial.task, "variant": trial.variant.name} | trial.values for trial in trials}
        needs = tuple(Need("history", trial.job, tuple(section(config).seeds[:1])) for trial in trials)
        items_by_name["search"] = _item(
            "search", "search", needs=needs, settings={"trials": settings_by_trial}, decimals=None, searched=True
        )
    return {name: _named(name, items_by_name[name], configured_study) for name in captions.items(PAPER) if name in items_by_name}


def _named(name: str, item: TableOrFigure, configured_study: Study) -> TableOrFigure:
    """A table or figure that names corpora other than the paper's: a task's table in its heading, others in the caption."""
    for task, table in TABLES.items():
        if name == table and (instead := configured_study.instead(task)):
            return replace(item, shows=f"{item.shows} ({instead})")
    if name in ("table1", "figure1", "figure1_cells", "figure3", "search") and configured_study.note:
        return replace(item, caption=f"{item.caption}\n\n{configured_study.note}")
    return item


def _overlap(configured_study: Study, config: Config) -> dict[str, TableOrFigure]:
    """The table of overlaps and, if any task with overlaps is trained, figure 3."""
    paper = section(config)
    if paper.overlap is None or not paper.compared():
        return {}
    trains = {str(task): paper.compared_texts(task, config, "train")[paper.source_language] for task in paper.compared()}
    tests = {str(task): paper.compared_texts(task, config, "test") for task in paper.compared()}
    codes = sorted({code for languages in tests.values() for code in languages})
    facts = {code: {key: languages_table()[code][key] for key in ("name", "family", "genus", "script")} for code in codes}
    corpora = tuple(
        dict.fromkeys(
            [*trains.values(), *(corpus for corpus_by_language in tests.values() for corpus in corpus_by_language.values())]
        )
    )
    texts = {"source": paper.source_language, "trains": trains, "tests": tests, "languages": facts}
    fields: dict[str, Any] = {
        "corpora": corpora,
        "encoder": paper.overlap.encoder,
        "tokenisation": paper.overlap.tokenisation,
        "tokenizer": True,
    }
    items_by_name = {
        "overlap": _item("overlap", "overlap", settings=texts, typology=paper.overlap.typology, decimals=2, **fields)
    }
    if tasks := [task for task in configured_study.tasks if task in tests]:
        needs = _needs([configured_study.zero_shot(task) for task in tasks], config)
        settings = texts | {"recipes": {task: configured_study.zero_shot(task) for task in tasks}}
        items_by_name["figure3"] = _item("figure3", "figure3", needs=needs, settings=settings, **fields)
    return items_by_name


def _needs(names: list[str], config: Config) -> tuple[Need, ...]:
    configured = recipes(config)
    kinds = {name: MEASURES.get(str(configured[name].task), "classification") for name in names}
    return tuple(Need(kinds[name], name, tuple(section(config).seeds)) for name in names)


def _item(name: str, module: str, **fields: Any) -> TableOrFigure:
    numbers = {len(need.seeds) for need in fields.get("needs", ())}
    values = {
        "spread": by_seeds(numbers, "spread over {} seeds", "intervals, the jackknife over texts,"),
        "mean": by_seeds(numbers, ", with the mean over {} seeds", ", with the score of one seed"),
    }
    return captions.captioned(PAPER, name, module, values=values, **fields)
