"""tanti2021: the tables and figures, each with its needs and the settings of its module."""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain, product
from typing import Any

from crosslens.config.base import languages_table
from crosslens.config.whole import Config, once
from crosslens.numerics.definitions import ACCURACY, PROBE_ACROSS, PROBE_WITHIN
from crosslens.papers import captions
from crosslens.papers.tanti2021.config import PAPER_RUNS, section
from crosslens.papers.tanti2021.names import CONTROLLED, FIGURES, PAPER, RUNS, SPELLING, TABLES, TUNED, column, recipe_name
from crosslens.papers.tanti2021.recipes import trials
from crosslens.papers.tanti2021.samples import samples, samples_name
from crosslens.reports.paper import Need, TableOrFigure

DECIDES = (ACCURACY, PROBE_ACROSS, PROBE_WITHIN)  # show whether hidden states encode the language; the paper's F1 does not
COMPARED = (*TUNED, *CONTROLLED, "frozen_dropout", "finetuned_dropout")  # runs compared in findings.csv
SINGLE = {"table3": "Student's t over the k-means runs", "epochs": "none"}
"""Table -> interval of a single seed, if it is not the jackknife over texts."""


@once
def items(config: Config) -> dict[str, TableOrFigure]:
    """Tables and figures by name."""
    paper = section(config)
    items_by_name = {name: _table(name, config) for name in TABLES}
    items_by_name["findings"] = _findings(config)
    items_by_name["units"] = _units(config)
    grid = paper.search.model_dump(exclude={"experiments", "trials", "trials_per_job", "seed"})
    chosen = {task: {run: paper.run(task, run).model_dump() for run in PAPER_RUNS} for task in paper.tasks}
    items_by_name["table4"] = _item("table4", config, "search", settings={"search": grid}, decimals=None)
    items_by_name["table5"] = _item("table5", config, "search", settings={"tasks": chosen}, decimals=None)
    if paper.experiments():
        items_by_name["table5_search"] = _search(config)
    items_by_name |= {
        name: _released(name, kind, config) for name, kind in (("languages", "classification"), ("epochs", "history"))
    }
    items_by_name["dataset_sizes"] = _sizes(config)
    items_by_name["figure2"] = _item("figure2", config, "figures", settings=_figure_settings("figure2", config))
    items_by_name |= {name: _figure(name, config) for name, (task, _) in FIGURES.items() if task in paper.tasks}
    return {name: items_by_name[name] for name in captions.items(PAPER) if name in items_by_name}


def _item(name: str, config: Config, module: str, *, needs: tuple[Need, ...] = (), **fields: Any) -> TableOrFigure:
    paper, most = section(config), section(config).clustering.language_clusters
    task = FIGURES[name][0] if name in FIGURES else next(iter(paper.tasks))
    values = {
        "clusters": f"labels, or {most} for languages" if most else "labels or of languages",
        "points": paper.task(task).points_per_label,
        "printed": 50 if task == "nli" else 10,
        "paragraphs": paper.clustering.points_per_language,
        "seeds": ", ".join(map(str, sorted({seed for need in needs for seed in need.seeds}))),
        "first": config.seeds[0],
    }
    single = SINGLE.get(name, "the jackknife over texts")
    return captions.captioned(PAPER, name, module, values=values, single=single, needs=needs, **fields)


def _needs(kinds: Iterable[str], runs: Iterable[str], config: Config, tasks: Iterable[str] | None = None) -> tuple[Need, ...]:
    """Needs of each kind (a measure or a file of training runs) for the configured ones among `runs`, with all their seeds.

    tasks: tasks of the runs; None means all configured tasks.
    """
    paper = section(config)
    return tuple(
        Need(kind, recipe_name(task, run), tuple(paper.run(task, run).seeds or config.seeds))
        for kind, task, run in product(kinds, tasks or paper.tasks, runs)
        if task in paper.tasks and run in paper.task(task).runs
    )


def _shared(runs: Collection[str], config: Config) -> dict[str, Any]:
    """Settings that tables with scores share: task -> its configured runs among `runs`, and the corpus of paragraphs."""
    paper = section(config)
    configured = {task: [run for run in settings.runs if run in runs] for task, settings in paper.tasks.items()}
    return {"runs": configured, "wiki": paper.language_corpus}


def _table(name: str, config: Config) -> TableOrFigure:
    table = TABLES[name]
    needs, paper = _needs(table.kinds, table.runs, config), section(config)
    if SPELLING in table.runs:  # spelling does not depend on the model, so one recipe and seed is enough
        needs += tuple(Need(SPELLING, recipe_name(task, "frozen"), (config.seeds[0],)) for task in paper.tasks)
    settings, decides = _shared(table.runs, config), DECIDES if name in ("table1", "table2") else ()
    return _item(name, config, "tables", needs=needs, decides=decides, **_recorded(settings, paper.tasks, config))


def _recorded(settings: Mapping[str, Any], tasks: Iterable[str], config: Config) -> dict[str, Any]:
    """Fields of a table or figure that records how paragraphs and the texts of these tasks were tokenised (`tables.record`)."""
    paper = section(config)
    facts = {"tokenisation": paper.tokenisation, "drop_unknown": config.tokenisations[paper.tokenisation].drop_unknown}
    corpora = () if facts["drop_unknown"] else (*(paper.task(task).corpus for task in tasks), paper.language_corpus)
    return {"settings": {**settings, **facts}, "tokenizer": bool(corpora), "corpora": corpora}


def _findings(config: Config) -> TableOrFigure:
    paper = section(config)
    needs = _needs(["classification", "probes"], COMPARED, config)
    needs += _needs(["predictions"], TUNED, config, ["pos"])
    needs += _needs(["history"], ["entropy_maximisation"], config)
    settings = {
        "target": paper.tasks["pos"].corpus if "pos" in paper.tasks else None,
        "languages": config.corpora[paper.language_corpus].languages,
        "weights": {task: settings.runs["entropy_maximisation"].uniformity for task, settings in paper.tasks.items()},
    }
    return _item("findings", config, "findings", needs=needs, settings=_shared(RUNS, config) | settings)


def _units(config: Config) -> TableOrFigure:
    # Before fine-tuning, both tasks have the same encoder, so it is probed once.
    first = next(iter(section(config).tasks))
    needs = _needs(["units"], ["frozen"], config, [first]) + _needs(["units"], ["finetuned"], config)
    columns = {recipe_name(first, "frozen"): RUNS["frozen"]}
    columns |= {recipe_name(task, "finetuned"): column(task, "finetuned") for task in section(config).tasks}
    return _item("units", config, "units", needs=needs, settings={"wiki": section(config).language_corpus, "columns": columns})


def _search(config: Config) -> TableOrFigure:
    paper, jobs, settings_by_trial = section(config), trials(config), {}
    for trial in chain.from_iterable(jobs.values()):
        task, run = paper.run_of(trial.name)
        settings_by_trial[trial.name] = {"task": task, "run": run, "trial": trial.name.rpartition("/")[2]} | trial.trial
    needs = tuple(Need("classification", job, (config.seeds[0],)) for job in jobs)
    settings = {"trials": settings_by_trial, "select_by": paper.training.select_by, "wiki": paper.language_corpus}
    return _item("table5_search", config, "search", needs=needs, settings=settings, decimals=None, searched=True)


def _released(name: str, kind: str, config: Config) -> TableOrFigure:
    columns = {recipe_name(task, run): column(task, run) for task in section(config).tasks for run in PAPER_RUNS}
    settings = {"columns": columns, "select_by": section(config).training.select_by}
    return _item(name, config, "released", needs=_needs([kind], PAPER_RUNS, config), settings=settings)


def _sizes(config: Config) -> TableOrFigure:
    paper = section(config)
    corpora = [*(task.corpus for task in paper.tasks.values()), paper.language_corpus]
    samples_by_task = {task: samples_name(task) for task in paper.tasks}
    settings = {
        "corpora": {corpus: config.corpora[corpus].model_dump() for corpus in corpora},
        "samples": {
            task: {"name": name} | samples(config)[name].model_dump(include={"corpora"}) for task, name in samples_by_task.items()
        },
        "drop_unknown": config.tokenisations[paper.tokenisation].drop_unknown,
    }
    folders: dict[str, Any] = {"corpora": tuple(corpora), "samples": tuple(samples_by_task.values())}
    return _item("dataset_sizes", config, "sizes", settings=settings, decimals=None, **folders)


def _figure(name: str, config: Config) -> TableOrFigure:
    task, runs = FIGURES[name]
    needs = _needs(["classification", "clusters", "probes"], runs, config, [task])
    needs += tuple(Need("projection", recipe_name(task, run), (config.seeds[0],)) for run in runs)
    return _item(name, config, "figures", needs=needs, **_recorded(_figure_settings(name, config), [task], config))


def _figure_settings(name: str, config: Config) -> dict[str, Any]:
    paper, table = section(config), languages_table()
    return {
        "title": captions.items(PAPER)[name]["shows"],
        "languages": {
            code: {field: table[code][field] for field in ("name", "family", "genus")}
            for code in config.corpora[paper.language_corpus].languages
        },
        "tasks": list(paper.tasks),
        "wiki": paper.language_corpus,
    }
