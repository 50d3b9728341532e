"""muller2021: figures 1 to 8, similarity of English and other languages by layer, and its correlation with transfer.

Similarity is CKA of translated sentences, a column for each definition: ours, debiased, and the three of which the published
curves may be one, which are high for unrelated states too. Layer 0 is the embedding output.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslens.errors import DataError
from crosslens.figures.curves import Curve, panels
from crosslens.figures.style import COLOURS, MARKERS
from crosslens.measures.cka import HEADINGS, MAY_BE_PRINTED, OURS
from crosslens.papers.inputs import Inputs
from crosslens.papers.muller2021.correlation import spearman_by_layer
from crosslens.papers.muller2021.layout import PRETRAINED, REF, UNTRAINED, Study, recipe_name

TASKS = {"parsing": "parsing", "pos": "POS", "ner": "NER"}
LANGUAGES = ("fr", "de", "tr", "id", "ar")
ALL_LANGUAGES = (*LANGUAGES, "ru")
COLUMNS = {definition: HEADINGS[definition].replace(" (", "\n(") for definition in (OURS, *MAY_BE_PRINTED)}
CKA, FLOOR = "cka", "cka floor"

NOTE = "Bands: range over seeds; for encoders with one seed, 95 % jackknife interval over documents. Dotted: shuffled pairs."
NOTE_CORRELATIONS = "Bands: 95 % bootstrap interval over languages."

Look = Mapping[str, str | float]
Similarities = Mapping[tuple[str, str, str, str], pd.DataFrame]  # by measure, recipe, language, definition
Grid = Mapping[str, Mapping[str, Sequence[Curve]]]  # row -> column -> curves


@dataclass(frozen=True)
class Encoder:
    """A recipe whose states are compared, its name in figures and the look of its curves."""

    recipe: str
    name: str
    look: Look


@dataclass(frozen=True)
class Line:
    """Similarity of English and a language under a recipe, as a named curve."""

    recipe: str
    language: str
    name: str
    look: Look


CONTROLS = (
    Encoder(PRETRAINED, "pretrained", {"color": "#000000", "linewidth": 1.0}),
    Encoder(UNTRAINED, "untrained", {"color": "#707070", "linewidth": 0.6}),
)


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """A figure. settings: study, the fields of Study; layers, re-initialised ones."""
    return drawn(name, inputs.records(), Study(**settings["study"]), settings["layers"])


def drawn(name: str, records: pd.DataFrame, study: Study, layers: Sequence[str] = ("1-2",)) -> Figure:
    """One of figure1 to figure8; what the records lack is left out.

    records: the paper's; study: its parallel languages in their order (where Russian is missing, figures 1 and 2 show the first
    available one); layers: re-initialised ones, which figures 2 and 6 to 8 show next to the encoder without any.
    Raises DataError when nothing is left of the fine-tuned encoders.
    """
    match name:
        case "figure1":
            return by_task(name, records, study, ("ru",))
        case "figure2":
            return by_layers(name, records, study, ("ru",), "ner", layers)
        case "figure3":
            return correlations(name, records, study)
        case "figure4":
            return by_target(name, records, study, LANGUAGES, "ner")
        case "figure5":
            return by_task(name, records, study, LANGUAGES)
        case "figure6":
            return by_layers(name, records, study, ALL_LANGUAGES, "parsing", layers)
        case "figure7":
            return by_layers(name, records, study, ALL_LANGUAGES, "pos", layers)
        case "figure8":
            return by_layers(name, records, study, ALL_LANGUAGES, "ner", layers)
    raise ValueError(f"{name}: expected one of figure1 to figure8")


def by_task(name: str, records: pd.DataFrame, study: Study, targets: Sequence[str]) -> Figure:
    """Figures 1 and 5: a row for each target; curves of the encoder of each task and of the controls."""
    tuned = [_tuned(task, label) for task, label in TASKS.items()]
    return _by_encoder(name, records, study, targets, tuned, "for each task")


def by_layers(name: str, records: pd.DataFrame, study: Study, targets: Sequence[str], task: str, layers: Sequence[str]) -> Figure:
    """Figures 2 and 6 to 8: a row for each target; curves of a task's encoders, without re-initialised layers and with each
    set of them, and of the controls.
    """
    tuned = [_tuned(task, "REF")]
    for number, blocks in enumerate(layers, len(TASKS)):
        tuned.append(Encoder(recipe_name(task, "en", blocks), f"re-init. {blocks}", _look(number)))
    how = f"for {TASKS[task]} without (REF) and with re-initialised layers"
    return _by_encoder(name, records, study, targets, tuned, how)


def by_target(name: str, records: pd.DataFrame, study: Study, targets: Sequence[str], task: str) -> Figure:
    """Figure 4: a row for the encoder of a task and for each control; a curve for each target."""
    tuned = _tuned(task, TASKS[task])
    similarities = _similarities(records)
    languages = _present(name, similarities, study, targets, [tuned])
    rows = {
        encoder.name: [Line(encoder.recipe, code, language, _look(targets.index(code))) for code, language in languages.items()]
        for encoder in (tuned, *CONTROLS)
    }
    return _draw(similarities, rows, languages, [tuned], f"for {TASKS[task]}")


def correlations(name: str, records: pd.DataFrame, study: Study) -> Figure:
    """Figure 3: a row for each task; curves of its encoder and of the controls, correlations with the task's scores."""
    grid: dict[str, dict[str, list[Curve]]] = {row: {column: [] for column in COLUMNS.values()} for row in TASKS.values()}
    counts = []
    for (task, row), (definition, column) in product(TASKS.items(), COLUMNS.items()):
        for encoder in (*CONTROLS, _tuned(task, "fine-tuned")):
            table = spearman_by_layer(records, task, study, definition=definition, recipe=encoder.recipe).dropna(subset=["rho"])
            if len(table):
                by_layer = table.set_index("layer").rename(columns={"rho": "value"})
                grid[row][column].append(_curve(by_layer, encoder.look, encoder.name))
                counts.append(table["n"])
    if not counts:
        raise DataError(
            f"{name}: expected a task with scores and CKA for English and at least five other languages, found none; add "
            "languages to the parallel corpus, and English to the source languages"
        )
    title = "Spearman correlation of CKA with English and score after fine-tuning on English, over languages"
    note = f"{_range(pd.concat(counts))} languages. {NOTE_CORRELATIONS}"
    return panels(_filled(grid), title, note, ylabel="rho", ylim=(-1, 1))


# Encoders and languages.


def _look(number: int) -> Look:
    size = len(COLOURS) - 1  # without black
    return {"color": COLOURS[number % size], "marker": MARKERS[number % size], "markersize": 1.9, "linewidth": 0.8}


def _tuned(task: str, name: str) -> Encoder:
    """The encoder that is fine-tuned on English for a task; each task has a look of its own in all figures."""
    return Encoder(recipe_name(task, "en", REF), name, _look(list(TASKS).index(task)))


def _similarities(records: pd.DataFrame) -> Similarities:
    """CKA and its floors under the definitions that are shown, without undefined values."""
    chosen = records[records["measure"].isin([CKA, FLOOR]) & records["definition"].isin(COLUMNS)].dropna(subset=["value"])
    return dict(iter(chosen.groupby(["measure", "recipe", "language", "definition"])))  # type: ignore[arg-type]


def _present(
    name: str, similarities: Similarities, study: Study, targets: Sequence[str], tuned: Sequence[Encoder]
) -> dict[str, str]:
    """Targets that a fine-tuned encoder has similarities of, code -> name; of a single target the first language instead."""
    present = [
        code
        for code in study.languages[study.parallel]
        if any((CKA, encoder.recipe, code, definition) in similarities for encoder in tuned for definition in COLUMNS)
    ]
    codes = [code for code in targets if code in present] or (present[:1] if len(targets) == 1 else [])
    if not codes:
        recipes = ", ".join(encoder.recipe for encoder in tuned)
        raise DataError(
            f"{name}: expected records of CKA between English and at least one of {', '.join(targets)} for at least one of "
            f"{recipes}, found none; add the language to the parallel corpus, and English to the source languages"
        )
    return {code: study.names[code] for code in codes}


# Panels.


def _by_encoder(
    name: str, records: pd.DataFrame, study: Study, targets: Sequence[str], tuned: Sequence[Encoder], how: str
) -> Figure:
    """A row for each target; curves of the controls and, drawn over them, of the fine-tuned encoders."""
    similarities = _similarities(records)
    languages = _present(name, similarities, study, targets, tuned)
    rows = {
        language: [Line(encoder.recipe, code, encoder.name, encoder.look) for encoder in (*CONTROLS, *tuned)]
        for code, language in languages.items()
    }
    return _draw(similarities, rows, languages, tuned, how)


def _draw(
    similarities: Similarities,
    rows: Mapping[str, Sequence[Line]],
    languages: Mapping[str, str],
    tuned: Sequence[Encoder],
    how: str,
) -> Figure:
    """Rows of lines, a column for each definition. how: what the encoders are fine-tuned for, in the title."""
    grid = {
        row: {
            column: [curve for line in lines for curve in _curves(similarities, definition, line)]
            for definition, column in COLUMNS.items()
        }
        for row, lines in rows.items()
    }
    recipes = {encoder.recipe for encoder in tuned}
    shown = pd.concat(
        table
        for (measure, recipe, language, _), table in similarities.items()
        if measure == CKA and recipe in recipes and language in languages
    )
    title = f"CKA of English and {', '.join(languages.values())}: encoders fine-tuned on English {how}"
    note = f"{_range(shown['n'])} sentence pairs; number of seeds: {shown['seed'].nunique()}. {NOTE}"
    return panels(_filled(grid), title, note, ylabel="CKA", ylim=(0, 1))


def _curves(similarities: Similarities, definition: str, line: Line) -> list[Curve]:
    """Mean over seeds with its band, and that of shuffled pairs; none where there are no values."""
    curves = []
    floors = similarities.get((FLOOR, line.recipe, line.language, definition))
    if floors is not None:
        dotted: Look = {"color": line.look["color"], "linestyle": ":", "linewidth": 0.7}
        curves.append(_curve(floors.groupby("layer")[["value"]].mean().assign(low=np.nan, high=np.nan), dotted))
    values = similarities.get((CKA, line.recipe, line.language, definition))
    if values is not None:
        by_layer = values.groupby("layer")
        value, single = by_layer["value"], by_layer.size() == 1
        low, high = by_layer["low"].first().where(single, value.min()), by_layer["high"].first().where(single, value.max())
        curves.append(_curve(pd.DataFrame({"value": value.mean(), "low": low, "high": high}), line.look, line.name))
    return curves


def _curve(by_layer: pd.DataFrame, look: Look, name: str = "") -> Curve:
    """by_layer: value, low and high."""
    value, low, high = (by_layer[column].to_numpy(float) for column in ("value", "low", "high"))
    return Curve(by_layer.index.to_numpy(), value, low, high, look, name)


def _filled(grid: Grid) -> Grid:
    """Without the rows and columns that have no curve."""
    columns = [column for column in COLUMNS.values() if any(row[column] for row in grid.values())]
    return {name: {column: row[column] for column in columns} for name, row in grid.items() if any(row.values())}


def _range(counts: pd.Series) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
