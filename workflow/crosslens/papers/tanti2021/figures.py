"""tanti2021: figure 2, the legends, and figures 3 to 6, t-SNE of hidden states by label and by language."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from crosslens.figures.scatter import Panel, Row, legends, panels
from crosslens.measures.definitions import ACCURACY
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.layout import CAPTIONS, FIGURES, LABELS, PAPER, TASKS, V_PAPER, recipe_name
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
    points = pd.concat([pd.read_parquet(path) for _, path in inputs.measured("projection")])
    points["corpus"] = points["corpus"].map(lambda corpus: "wiki" if corpus == settings["wiki"] else "target")
    scores = named(inputs.records("classification", "clusters"), settings["wiki"])
    return scattered(
        name, {str(recipe): part for recipe, part in points.groupby("recipe")}, scores, settings["languages"], settings["title"]
    )


def scattered(
    name: str, points: Mapping[str, pd.DataFrame], scores: pd.DataFrame, languages: Mapping[str, str], title: str
) -> Figure:
    """Six panels.

    points: recipe -> corpus (target, wiki), x, y, label, language; scores: `named` records; languages: see `legend`.
    """
    task, runs = FIGURES[name]
    rows, letters = [], iter("abcdef")
    for corpus, by, kind, item, clusters in (
        ("target", "label", f"{TASKS[task]} labels", "task", "labels"),
        ("target", "language", f"{TASKS[task]} languages", "language, target", "language, target"),
        ("wiki", "language", "Wikipedia languages", "language, wiki", "language, wiki"),
    ):
        drawn = []
        for run in runs:
            recipe = recipe_name(task, run)
            here = points[recipe][points[recipe]["corpus"] == corpus]
            of_run = scores[scores["recipe"] == recipe]
            values = (_percent(of_run, item, PAPER), _percent(of_run, item, ACCURACY), _percent(of_run, clusters, V_PAPER))
            heading = f"({next(letters)}) {kind}, {CAPTIONS[run]}\nF1 {values[0]}, accuracy {values[1]}, V {values[2]}"
            drawn.append(Panel(here[["x", "y"]].to_numpy(), here[by].to_numpy(), heading))
        shown = {value for panel in drawn for value in panel.classes}
        rows.append(_languages(languages, drawn, shown) if by == "language" else _labels(task, drawn, shown))
    seeds = sorted({int(seed) for seed in scores["seed"].dropna()})
    paper = "chunks of bare tags, compare accuracy" if task == "pos" else "classes predicted but never true count as 0"
    caption = CAPTION.format(units=UNITS[task], paper=paper, seeds=", ".join(map(str, seeds)), seed=seeds[0])
    return panels(rows, title, caption)


def legend(languages: Mapping[str, str], tasks: Sequence[str], title: str) -> Figure:
    """Figure 2: the marks of languages and, for each task, of its labels. languages: code -> name, all of the study, in order."""
    return legends([_languages(languages), *(_labels(task) for task in tasks)], title, LEGEND_CAPTION)


def _languages(languages: Mapping[str, str], drawn: Sequence[Panel] = (), shown: Collection[str] | None = None) -> Row:
    """Languages, all of the study, so that each has the same mark in every figure."""
    return Row(drawn, dict(languages), "language", shown)


def _labels(task: str, drawn: Sequence[Panel] = (), shown: Collection[str] | None = None) -> Row:
    """Labels by name, all of the task."""
    return Row(drawn, {label: label for label in sorted(LABELS[task])}, HEADINGS[task], shown)


def _percent(scores: pd.DataFrame, item: str, definition: str) -> str:
    values = scores[(scores["item"] == item) & (scores["definition"] == definition)]["value"]
    return f"{100 * values.mean():.1f}" if len(values) else "-"
