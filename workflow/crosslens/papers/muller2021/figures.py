"""muller2021: figures 1 to 8, similarity of English and other languages by layer, and its correlation with transfer.

Similarity is CKA of translated sentences. Each column of panels shows one definition: ours, which is debiased; the same after
removing what numbers of subwords explain; and the three that the published curves may show, which are high for unrelated states
too. Layer 0 is the embedding output.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from crosslens.jobs.errors import DataError
from crosslens.measures.shared.cka import HEADINGS, LENGTH_OUT, MAY_BE_PRINTED, OURS
from crosslens.papers.captions import APPENDIX
from crosslens.papers.inputs import Inputs
from crosslens.papers.muller2021.correlation import spearman_by_layer
from crosslens.papers.muller2021.names import COMPARED, PRETRAINED, REF, SPLIT, UNTRAINED, Study, recipe_name
from crosslens.papers.wording import by_seeds
from crosslens.reports.cells import extent
from crosslens.reports.figures.curves import Curve, panels
from crosslens.reports.figures.style import GREY, Look, look

TASKS = {"parsing": "parsing", "pos": "POS", "ner": "NER"}
WORDS = {**HEADINGS, LENGTH_OUT: "linear, debiased (length out; ours)"}
COLUMNS = {definition: WORDS[definition].replace(" (", "\n(") for definition in (OURS, LENGTH_OUT, *MAY_BE_PRINTED)}
PARTS = {"": (OURS, LENGTH_OUT), APPENDIX: MAY_BE_PRINTED}
"""Suffix of a figure's name -> definitions that it shows, for figures in SPLIT; the other figures show all definitions."""
CKA, FLOOR = "cka", "cka floor"

NOTE_CORRELATIONS = "Bands: 95 % interval over languages."

Similarities = Mapping[tuple[str, str, str, str], pd.DataFrame]  # (measure, recipe, language, definition) -> records


class Encoder(NamedTuple):
    """A recipe whose hidden states are compared, with the name and look of its curves."""

    recipe: str
    name: str
    look: Look


CONTROLS = (
    Encoder(PRETRAINED, "pretrained", {"color": "#000000", "linewidth": 1.1}),
    Encoder(UNTRAINED, "untrained", GREY),
)


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """Figure `name`. settings: study, the fields of Study; layers, sets of re-initialised layers such as 1-2."""
    study, records = Study(**settings["study"]), inputs.records()
    figure = name.removesuffix(APPENDIX)
    definitions = PARTS[name.removeprefix(figure)] if figure in SPLIT else COLUMNS
    columns = {definition: COLUMNS[definition] for definition in definitions}
    if figure == "figure3":
        return correlations(records, study, columns)
    return similarities(figure, records, study, settings["layers"], columns)


def similarities(
    name: str, records: pd.DataFrame, study: Study, layers: Sequence[str], columns: Mapping[str, str] = COLUMNS
) -> Figure:  # fmt: skip
    """Any figure but figure 3: a row for each target, with the curves of fine-tuned encoders drawn over those of the controls.

    Figure 4 has a row for each encoder and a curve for each target. Without Russian, figures 1 and 2 show the first of the
    parallel languages that has records. Curves without records are omitted.

    layers: sets of re-initialised layers that figures 2 and 6 to 8 compare with the encoder without any. Each set looks the
        same for all tasks.
    columns: definition -> heading.
    Raises DataError if no curve of a fine-tuned encoder is left.
    """
    targets, tasks, edited = COMPARED[name]
    tuned = [_tuned(task) for task in tasks]
    if edited:
        tuned = [
            tuned[0]._replace(name="REF"),
            *(
                Encoder(recipe_name(tasks[0], "en", blocks), f"re-init. {blocks}", look(number))
                for number, blocks in enumerate(layers, len(TASKS))
            ),
        ]
    chosen = records[records["measure"].isin([CKA, FLOOR]) & records["definition"].isin(columns)].dropna(subset=["value"])
    tables: Similarities = dict(iter(chosen.groupby(["measure", "recipe", "language", "definition"])))  # type: ignore[arg-type]
    tuned_keys = [key for key in tables if key[:2] in {(CKA, encoder.recipe) for encoder in tuned}]
    languages = _present(name, {language for _, _, language, _ in tuned_keys}, study, targets, tuned)
    if name == "figure4":
        looks = {code: look(targets.index(code)) for code in languages}
        rows = {encoder.name: [(Encoder(encoder.recipe, languages[code], looks[code]), code) for code in languages]
                for encoder in (*tuned, *CONTROLS)}  # fmt: skip
    else:
        rows = {language: [(encoder, code) for encoder in (*CONTROLS, *tuned)] for code, language in languages.items()}
    grid = {
        row: {column: [curve for line in lines for curve in _curves(tables, *line, definition)]
              for definition, column in columns.items()}
        for row, lines in rows.items()
    }  # fmt: skip
    how = f"for {TASKS[tasks[0]]}" if len(tasks) == 1 else "for each task"
    title = f"CKA of English and {', '.join(languages.values())}: encoders fine-tuned on English {how}"
    tuned_records = pd.concat(tables[key] for key in tuned_keys if key[2] in languages)
    scored = chosen[(chosen["measure"] == CKA) & chosen["recipe"].isin([encoder.recipe for encoder in (*CONTROLS, *tuned)])]
    bands = by_seeds(scored.groupby("recipe")["seed"].nunique(), "range over {} seeds", "95 % jackknife interval over documents")
    note = f"{extent(tuned_records['n'])} sentence pairs. Bands: {bands}. Dotted: shuffled pairs."
    title += " without (REF) and with re-initialised layers" if edited else ""
    return panels(grid, title, note, ylabel="CKA (0 to 1)", ylim=(0, 1))


def correlations(records: pd.DataFrame, study: Study, columns: Mapping[str, str] = COLUMNS) -> Figure:
    """Figure 3: a row for each task, with curves of its fine-tuned encoder and of the controls.

    The curves show the correlation of CKA with the task's scores. columns: definition -> heading.
    """
    grid: dict[str, dict[str, list[Curve]]] = {row: {column: [] for column in columns.values()} for row in TASKS.values()}
    counts = []
    for (task, row), (definition, column) in product(TASKS.items(), columns.items()):
        for encoder in (*CONTROLS, _tuned(task)):
            table = spearman_by_layer(records, task, study, definition=definition, recipe=encoder.recipe).dropna(subset=["r"])
            if len(table):
                grid[row][column].append(
                    Curve.of(table.set_index("layer").rename(columns={"r": "value"}), encoder.look, encoder.name)
                )
                counts.append(table["n"])
    if not counts:
        raise DataError(
            "figure3: expected a task with scores and CKA for English and at least four other languages, found none; add "
            "languages to the parallel corpus, and English to the source languages"
        )
    title = "Spearman correlation of CKA with English and score after fine-tuning on English, over languages"
    note = f"{extent(pd.concat(counts))} languages. {NOTE_CORRELATIONS}"
    return panels(grid, title, note, ylabel="rho (−1 to 1)", ylim=(-1, 1))


def _tuned(task: str) -> Encoder:
    """The encoder fine-tuned on English for a task. Each task has its own look, the same in all figures."""
    return Encoder(recipe_name(task, "en", REF), TASKS[task], look(list(TASKS).index(task)))


def _present(
    name: str, compared: Collection[str], study: Study, targets: Sequence[str], tuned: Sequence[Encoder]
) -> dict[str, str]:
    """Code -> name of the targets with records. A single target without records is replaced by the first language with some."""
    present = [code for code in study.languages[study.parallel] if code in compared]
    codes = [code for code in targets if code in present] or (present[:1] if len(targets) == 1 else [])
    if not codes:
        recipes = ", ".join(encoder.recipe for encoder in tuned)
        raise DataError(
            f"{name}: expected records of CKA between English and at least one of {', '.join(targets)} for at least one of "
            f"{recipes}, found none; add the language to the parallel corpus, and English to the source languages"
        )
    return {code: study.names[code] for code in codes}


def _curves(tables: Similarities, encoder: Encoder, language: str, definition: str) -> list[Curve]:
    """Curves of an encoder and language, if it has records: the mean over seeds with its band, and that of shuffled pairs."""
    curves, place = [], (encoder.recipe, language, definition)
    if (floors := tables.get((FLOOR, *place))) is not None:
        dotted = {"color": encoder.look["color"], "linestyle": ":", "linewidth": 0.6, "alpha": 0.6, "zorder": 1}
        curves.append(Curve.of(floors.groupby("layer")[["value"]].mean(), dotted))
    if (values := tables.get((CKA, *place))) is not None:
        curves.append(Curve.over_seeds(values, encoder.look, encoder.name))
    return curves
