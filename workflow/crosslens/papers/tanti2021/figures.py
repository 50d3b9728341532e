"""tanti2021: figure 2, the legends, and figures 3 to 6, t-SNE of hidden states by label and by language."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from crosslens.cells import where
from crosslens.figures.scatter import Panel, Row, legends, panels
from crosslens.measures.definitions import ACCURACY
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.layout import CAPTIONS, FIGURES, LABELS, PANELS, PAPER, TASKS, V_PAPER, recipe_name
from crosslens.papers.tanti2021.records import named

UNITS = {"pos": "words", "nli": "pairs and paragraphs"}
HEADINGS = {"pos": "UPOS", "nli": "inference"}
CAPTION = (
    "t-SNE of the states that the heads read, for sampled {units}; one column per model. In percent: F1, macro F1 as computed by "
    "the authors' code ({paper}); accuracy; V, V-measure of k-means on the full vectors, mean over runs. Seeds of the scores: "
    "{seeds}; of the points: {seed}."
)
LEGEND_CAPTION = (
    "Legend for figures 3 to 6. Languages are ordered by family, so that related languages are neighbours; neighbours differ in "
    "colour."
)


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """A figure. settings: title; languages, code -> name, all of the study in order; tasks; wiki, the corpus of paragraphs."""
    if name == "figure2":
        return legend(settings["languages"], settings["tasks"], settings["title"])
    points = pd.concat([pd.read_parquet(path) for _, _, path in inputs.by_seed("projection")])
    points["corpus"] = points["corpus"].map(lambda corpus: "wiki" if corpus == settings["wiki"] else "target")
    scores = named(inputs.records("classification", "clusters"), settings["wiki"])
    return scattered(name, points, scores, settings["languages"], settings["title"])


def scattered(name: str, points: pd.DataFrame, scores: pd.DataFrame, languages: Mapping[str, str], title: str) -> Figure:
    """Six panels.

    points: recipe, corpus (target, wiki), x, y, label, language; scores: `named` records; languages: see `legend`.
    """
    task, runs = FIGURES[name]
    rows, letters = [], iter("abcdef")
    for clusters, kind in PANELS.items():
        corpus = "wiki" if clusters == "language, wiki" else "target"
        item, by = ("task", "label") if clusters == "labels" else (clusters, "language")
        drawn = []
        for run in runs:
            here = where(points, recipe=recipe_name(task, run), corpus=corpus)
            shown = ((item, PAPER), (item, ACCURACY), (clusters, V_PAPER))
            values = [_percent(where(scores, recipe=recipe_name(task, run), item=of, definition=how)) for of, how in shown]
            heading = f"({next(letters)}) {kind.format(TASKS[task])}, {CAPTIONS[run]}"
            scored = "F1 {}, accuracy {}, V {}".format(*values)
            drawn.append(Panel(here[["x", "y"]].to_numpy(), here[by].to_numpy(), f"{heading}\n{scored}"))
        classes = {value for panel in drawn for value in panel.classes}
        names, above = (languages, "language") if by == "language" else (_labels(task), HEADINGS[task])
        rows.append(Row(drawn, names, above, classes))
    seeds = sorted({int(seed) for seed in scores["seed"].dropna()})
    paper = "chunks of bare tags, compare accuracy" if task == "pos" else "classes predicted but never true count as 0"
    caption = CAPTION.format(units=UNITS[task], paper=paper, seeds=", ".join(map(str, seeds)), seed=seeds[0])
    return panels(rows, title, caption)


def legend(languages: Mapping[str, str], tasks: Sequence[str], title: str) -> Figure:
    """Figure 2: the marks of languages and, for each task, of its labels.

    languages: code -> name, all of the study, in order, so that each has the same mark in every figure.
    """
    rows = [Row((), languages, "language"), *(Row((), _labels(task), HEADINGS[task]) for task in tasks)]
    return legends(rows, title, LEGEND_CAPTION)


def _labels(task: str) -> dict[str, str]:
    return {label: label for label in sorted(LABELS[task])}


def _percent(records: pd.DataFrame) -> str:
    return f"{100 * records['value'].mean():.1f}" if len(records) else "-"
