"""muller2021: figures 1 to 8, similarity of English and other languages by layer, and its correlation with transfer.

Similarity is CKA of translated sentences, a column for each definition: ours, debiased, and the three of which the published
curves may be one, which are high for unrelated states too. Layer 0 is the embedding output.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslens.errors import DataError
from crosslens.figures.curves import Curve, panels
from crosslens.figures.style import COLOURS, MARKERS
from crosslens.measures.cka import HEADINGS, MAY_BE_PRINTED, OURS
from crosslens.papers.muller2021.correlation import spearman_by_layer
from crosslens.papers.muller2021.layout import PRETRAINED, REF, UNTRAINED, Study, recipe_name

TASKS = {"parsing": "parsing", "pos": "POS", "ner": "NER"}
LANGUAGES = ("fr", "de", "tr", "id", "ar")  # beside Russian
COLUMNS = {definition: HEADINGS[definition].replace(" (", "\n(") for definition in (OURS, *MAY_BE_PRINTED)}
CKA, FLOOR = "cka", "cka floor"

Look = Mapping[str, str | float]
Known = Mapping[tuple[str, str, str, str], pd.DataFrame]  # by measure, recipe, language, definition
Grid = Mapping[str, Mapping[str, Sequence[Curve]]]


@dataclass(frozen=True)
class FigureOf:
    """What tells the curves of a panel apart, the task (empty: each), and the printed targets."""

    curves: Literal["tasks", "layers", "targets", "correlations"]
    task: str = ""
    targets: tuple[str, ...] = ()


FIGURES = {
    "figure1": FigureOf("tasks", targets=("ru",)),
    "figure2": FigureOf("layers", "ner", ("ru",)),
    "figure3": FigureOf("correlations"),
    "figure4": FigureOf("targets", "ner", LANGUAGES),
    "figure5": FigureOf("tasks", targets=LANGUAGES),
    "figure6": FigureOf("layers", "parsing", (*LANGUAGES, "ru")),
    "figure7": FigureOf("layers", "pos", (*LANGUAGES, "ru")),
    "figure8": FigureOf("layers", "ner", (*LANGUAGES, "ru")),
}

NOTE = "Bands: range over seeds; of an encoder with one seed, 95 % jackknife interval over documents. Dotted: pairs shuffled."
NOTE_CORRELATIONS = "Bands: 95 % bootstrap interval over languages."
_TUNED = {
    "tasks": "fine-tuned on English for each task",
    "layers": "fine-tuned on English for {} without (REF) and with re-initialised layers",
    "targets": "fine-tuned on English for {}",
}


def _look(number: int) -> Look:
    size = len(COLOURS) - 1  # without black
    return {"color": COLOURS[number % size], "marker": MARKERS[number % size], "markersize": 1.9, "linewidth": 0.8}


_LOOKS: Mapping[str, Look] = {
    UNTRAINED: {"color": "#707070", "linewidth": 0.6},
    PRETRAINED: {"color": "#000000", "linewidth": 1.0},
    **{task: _look(number) for number, task in enumerate(TASKS)},
}


def figure(name: str, records: pd.DataFrame, study: Study, layers: Sequence[str] = ("1-2",)) -> Figure:
    """One of FIGURES; what the records lack is left out.

    records: the paper's; study: its parallel languages in their order (figures 1 and 2 take the first that is there where
    Russian is not); layers: re-initialised ones, which figures 2 and 6 to 8 show beside none.
    Raises DataError when nothing is left of the fine-tuned encoders.
    """
    of = FIGURES[name]
    if of.curves == "correlations":
        return _correlations(name, records, study)
    languages = {code: study.names[code] for code in study.languages[study.parallel]}
    known = _known(records)
    tuned = {recipe_name(task, "en", REF): (label, _LOOKS[task]) for task, label in TASKS.items() if of.task in ("", task)}
    if of.curves == "layers":
        tuned = {recipe_name(of.task, "en", REF): ("REF", _LOOKS[of.task])}
        for number, which in enumerate(layers, len(TASKS)):
            tuned[recipe_name(of.task, "en", which)] = (f"re-init. {which}", _look(number))
    there = [code for code in languages if any((CKA, recipe, code, how) in known for recipe in tuned for how in COLUMNS)]
    targets = [code for code in of.targets if code in there] or (there[:1] if len(of.targets) == 1 else [])
    if not targets:
        raise DataError(
            f"{name}: no records of CKA of English and {', '.join(of.targets)} by {', '.join(tuned)}, those of one of each "
            "expected; add the language to the parallel corpus, and English to the sources"
        )
    controls = {recipe: (recipe.rpartition("/")[2], _LOOKS[recipe]) for recipe in (PRETRAINED, UNTRAINED)}
    if of.curves == "targets":
        rows = {
            encoder: [(recipe, code, languages[code], _look(of.targets.index(code))) for code in targets]
            for recipe, (encoder, _) in (tuned | controls).items()
        }
    else:
        rows = {
            languages[code]: [(recipe, code, encoder, look) for recipe, (encoder, look) in (controls | tuned).items()]
            for code in targets
        }
    grid = {
        row: {column: [curve for line in lines for curve in _curves(known, how, *line)] for how, column in COLUMNS.items()}
        for row, lines in rows.items()
    }
    shown = pd.concat(known[key] for key in known if key[0] == CKA and key[1] in tuned and key[2] in targets)
    names = ", ".join(languages[code] for code in targets)
    title = f"CKA of English and {names}: encoders {_TUNED[of.curves].format(TASKS.get(of.task))}"
    note = f"{_range(shown['n'])} sentence pairs; seeds of fine-tuning: {shown['seed'].nunique()}. {NOTE}"
    return panels(_filled(grid), title, note, ylabel="CKA", ylim=(0, 1))


def _known(records: pd.DataFrame) -> Known:
    here = records[records["measure"].isin([CKA, FLOOR]) & records["definition"].isin(COLUMNS)].dropna(subset=["value"])
    return {key: part for key, part in here.groupby(["measure", "recipe", "language", "definition"])}  # type: ignore[misc]


def _curves(known: Known, definition: str, recipe: str, language: str, name: str, look: Look) -> list[Curve]:
    """Mean over seeds with its band, and that of shuffled pairs; none where there are no values."""
    curves = []
    if (FLOOR, recipe, language, definition) in known:
        floor = known[FLOOR, recipe, language, definition].groupby("layer")[["value"]].mean()
        dotted: Look = {"color": look["color"], "linestyle": ":", "linewidth": 0.7}
        curves.append(_curve(floor.assign(low=np.nan, high=np.nan), dotted))
    if (CKA, recipe, language, definition) in known:
        by_layer = known[CKA, recipe, language, definition].groupby("layer")
        values, one = by_layer["value"], by_layer.size() == 1
        low, high = by_layer["low"].first().where(one, values.min()), by_layer["high"].first().where(one, values.max())
        curves.append(_curve(pd.DataFrame({"value": values.mean(), "low": low, "high": high}), look, name))
    return curves


def _curve(of: pd.DataFrame, look: Look, name: str = "") -> Curve:
    """Of value, low and high by layer."""
    value, low, high = (of[part].to_numpy(float) for part in ("value", "low", "high"))
    return Curve(of.index.to_numpy(), value, low, high, look, name)


def _correlations(name: str, records: pd.DataFrame, study: Study) -> Figure:
    grid: dict[str, dict[str, list[Curve]]] = {}
    counts = []
    for task, row in TASKS.items():
        grid[row] = {}
        for how, column in COLUMNS.items():
            grid[row][column] = []
            encoders = {PRETRAINED: "pretrained", UNTRAINED: "untrained", recipe_name(task, "en", REF): "fine-tuned"}
            for recipe, heading in encoders.items():
                look = _LOOKS.get(recipe, _LOOKS[task])
                found = spearman_by_layer(records, task, study, definition=how, recipe=recipe).dropna(subset=["rho"])
                if len(found):
                    by_layer = found.set_index("layer").rename(columns={"rho": "value"})
                    grid[row][column].append(_curve(by_layer, look, heading))
                    counts.append(found["n"])
    if not counts:
        raise DataError(
            f"{name}: no task with scores and CKA of English and at least five other languages; add languages to the parallel "
            "corpus, and English to the sources"
        )
    title = "Spearman correlation of CKA with English and score after fine-tuning on English, over languages"
    note = f"{_range(pd.concat(counts))} languages. {NOTE_CORRELATIONS}"
    return panels(_filled(grid), title, note, ylabel="rho", ylim=(-1, 1))


def _filled(grid: Grid) -> Grid:
    """Without the rows and columns that have no curve."""
    columns = [column for column in COLUMNS.values() if any(row[column] for row in grid.values())]
    return {name: {column: row[column] for column in columns} for name, row in grid.items() if any(row.values())}


def _range(counts: pd.Series) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
