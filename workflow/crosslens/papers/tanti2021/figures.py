"""tanti2021: figures 3 and 5, t-SNE of hidden states before and after, by label and by language."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from crosslens.config.base import languages_table
from crosslens.figures.scatter import Panel, Row, panels
from crosslens.papers.tanti2021.items import ACCURACY, CAPTIONS, FIGURES, PAPER, V_PAPER

ROWS = (
    ("target", "label", "UDPOS labels", "task", "labels"),
    ("target", "language", "UDPOS languages", "language, target", "language, target"),
    ("wiki", "language", "Wikipedia languages", "language, wiki", "language, wiki"),
)  # corpus, column, name, items of the score and of the clusters

CAPTION = (
    "t-SNE of last hidden states of sampled words; one model a column. In percent: F1, macro F1 of "
    "chunks of bare tags, as the authors' code computes it (on tokens it says little: see accuracy); accuracy, of tokens; "
    "V, V-measure of k-means on the full vectors, mean of the runs. Seeds of the scores: {seeds}; of the points: {seed}."
)


def figure(name: str, points: Mapping[str, pd.DataFrame], scores: pd.DataFrame, title: str) -> Figure:
    """Six panels. points: run -> corpus, x, y, label, language; scores: the paper's records."""
    scores = scores[scores["language"] == "all"]
    rows, letters = [], iter("abcdef")
    for corpus, column, kind, item, clusters in ROWS:
        drawn = []
        for run in FIGURES[name]:
            here = points[run][points[run]["corpus"] == corpus]
            of_run = scores[scores["recipe"] == f"tanti2021/pos/{run}"]
            values = (
                _percent(of_run, item, PAPER),
                _percent(of_run, item, ACCURACY),
                _percent(of_run, clusters, V_PAPER),
            )
            heading = f"({next(letters)}) {kind}, {CAPTIONS[run]}\nF1 {values[0]}, accuracy {values[1]}, V {values[2]}"
            drawn.append(Panel(here[["x", "y"]].to_numpy(), here[column].to_numpy(), heading))
        classes = sorted({value for panel in drawn for value in panel.classes}, key=_order)
        names = [languages_table()[code]["name"] for code in classes] if column == "language" else classes
        rows.append(Row(drawn, classes, names, "language" if column == "language" else "UPOS"))
    seeds = sorted({int(seed) for seed in scores["seed"]})
    return panels(rows, title, CAPTION.format(seeds=", ".join(map(str, seeds)), seed=seeds[0]))


def _order(name: str) -> tuple[str, str]:
    """Languages by family, so that relatives stand together in the legend; labels by name."""
    row = languages_table().get(name)
    return (row["family"], row["name"]) if row else ("", name)


def _percent(scores: pd.DataFrame, item: str, definition: str) -> str:
    values = scores[(scores["item"] == item) & (scores["definition"] == definition)]["value"]
    return f"{100 * values.mean():.1f}" if len(values) else "-"
