"""tanti2021: figure 2 (the key) and figures 3 to 6 (t-SNE of hidden states by label and by language)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from crosslens.jobs import parquet
from crosslens.numerics.definitions import ACCURACY, PROBE_ACROSS, PROBE_WITHIN, V_CHANCE
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021 import tables
from crosslens.papers.tanti2021.names import CAPTIONS, FIGURES, LABELS, PANELS, PAPER_F1, V_PAPER, recipe_name
from crosslens.papers.tanti2021.records import named
from crosslens.reports.cells import NEAR, where
from crosslens.reports.figures.scatter import Panel, Row, keys, panels
from crosslens.reports.figures.style import FAMILY_MARKS, families, marks

PROBES = {"language, target": PROBE_WITHIN, "language, wiki": PROBE_ACROSS}
"""Item of the records -> definition of the probe that is trained and tested on different texts of the same corpus."""
UNITS = {"pos": ("words", "part of speech"), "nli": ("pairs", "NLI label")}
HEADER = ("in percent", "V", "chance V", "head accuracy", "head F1", "probe")
CAPTION = (
    "t-SNE; marks: figure 2. V: V-measure of k-means on the full vectors; where it is at most {near} points above chance, the "
    "labels' names are left out. Head: predicts what the panel shows; its F1 is that of the authors' code ({paper}). Probe: "
    "accuracy of a probe trained on the same corpus. Seeds of the scores: {seeds}; of the points: {seed}."
)
KEY_CAPTION = "Circles: branches of Indo-European; triangles: other families."

record = tables.record  # figures are recorded like tables, as their texts are tokenised alike

Languages = Mapping[str, Mapping[str, str]]  # code -> name, family and genus of all languages of the study


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """One of figures 2 to 6.

    settings: title; languages, code -> name, family and genus; tasks; wiki, key of the corpus of paragraphs.
    """
    if name == "figure2":
        return key(settings["languages"], settings["tasks"])
    points = pd.concat([parquet.read(path).to_pandas() for _, _, path in inputs.by_seed("projection")])
    points["corpus"] = points["corpus"].map(lambda corpus: "wiki" if corpus == settings["wiki"] else "target")
    scores = named(inputs.records("classification", "clusters", "probes"), settings["wiki"])
    return scattered(name, points, scores, settings["languages"], settings["title"])


def scattered(name: str, points: pd.DataFrame, scores: pd.DataFrame, languages: Languages, title: str) -> Figure:
    """One of figures 3 to 6: six panels and a table of their scores.

    The rows of panels show the labels, the languages of the task's corpus and the languages of the paragraphs. Each column is a
    model.

    points: columns recipe, corpus (target or wiki), x, y, label and language.
    scores: `named` records.
    languages: code -> name, family and genus.
    """
    task, runs = FIGURES[name]
    units, label = UNITS[task]
    families_by_code = families(languages)
    names = {code: languages[code]["name"] for code in families_by_code}
    rows, letters, table = [], iter("abcdef"), [[*HEADER]]
    for clusters in PANELS:
        corpus, units_shown = ("wiki", "paragraphs") if clusters == "language, wiki" else ("target", units)
        item, by = ("task", "label") if clusters == "labels" else (clusters, "language")
        row_panels = []
        for run in runs:
            here = where(points, recipe=recipe_name(task, run), corpus=corpus)
            of_run = where(scores, recipe=recipe_name(task, run))
            agreement, chance = (_percent(of_run, clusters, definition) for definition in (V_PAPER, V_CHANCE))
            accuracy, f1 = (_percent(of_run, item, definition) for definition in (ACCURACY, PAPER_F1))
            probe = _percent(of_run, item, PROBES[item]) if item in PROBES else math.nan
            heading = f"({next(letters)}) {CAPTIONS[run]}: {units_shown} by {label if by == 'label' else 'language'}"
            numbers = (agreement, chance, accuracy, f1, probe)
            table.append([heading, *("" if math.isnan(number) else f"{number:.1f}" for number in numbers)])
            grouped = not agreement <= chance + NEAR
            row_panels.append(Panel(here[["x", "y"]].to_numpy(), here[by].to_numpy(), heading, grouped))
        if by == "label":
            rows.append(Row(row_panels, {tag: tag for tag in sorted(LABELS[task])}, marks(sorted(LABELS[task]))))
        else:
            rows.append(
                Row(row_panels, names, {code: FAMILY_MARKS[family] for code, family in families_by_code.items()}, apart=True)
            )
    seeds = sorted({int(seed) for seed in scores["seed"].dropna()})
    paper = "chunks of bare tags, compare accuracy" if task == "pos" else "classes predicted but never true count as 0"
    caption = CAPTION.format(near=NEAR, paper=paper, seeds=", ".join(map(str, seeds)), seed=seeds[0])
    return panels(rows, title, caption, table)


def key(languages: Languages, tasks: Sequence[str]) -> Figure:
    """Figure 2: the marks of families with their languages, and the marks of each task's labels."""
    members: dict[str, list[str]] = {}
    for code, family in families(languages).items():
        members.setdefault(family, []).append(languages[code]["name"])
    columns = {"languages": {f"{family}: {', '.join(names)}": FAMILY_MARKS[family] for family, names in members.items()}}
    return keys(columns | {UNITS[task][1]: marks(sorted(LABELS[task])) for task in tasks}, KEY_CAPTION)


def _percent(scores: pd.DataFrame, item: str, definition: str) -> float:
    """Mean over seeds of a score, in percent; nan if there is none."""
    return 100 * float(where(scores, item=item, definition=definition)["value"].mean())
