"""liu2020: figures 1, 3 and 5, word retrieval, for which the paper prints no numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020 import masked_predictions
from crosslens.papers.liu2020.names import RELEASED, UNTRAINED, Study, pretraining, title
from crosslens.papers.liu2020.retrieval import BLANK, MEAN, RANK, released
from crosslens.reports import cells
from crosslens.reports.figures.dots import Dots, Look, Panel, looks, panels
from crosslens.reports.figures.style import GREY


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """Draw figure 1, 3 or 5. settings: study, the fields of Study; sizes, data sizes, one for each panel."""
    study, sizes = Study(**settings["study"]), settings["sizes"]
    masked_note = masked_predictions.note(inputs.records("masked"), masked_predictions.of_sizes(study, sizes))
    return figure_of(name, inputs.records("retrieval"), study, sizes, masked_note)


def figure_of(name: str, records: pd.DataFrame, study: Study, sizes: Sequence[str], masked_note: str = "") -> Figure:
    """Draw retrieval from the source into each language, by model: a panel for each data size. Figure 5 has only BERTs.

    masked_note: end of the note, from `masked_predictions.note`.
    """
    last = cells.last_layer(cells.where(records, definition=RANK))
    directions = set(last["item"])
    languages = [code for code in study.names if f"{study.source}-{code}" in directions]
    missing = [study.names[code] for code in study.names if code != study.source and code not in languages]
    level = records[records["definition"] == "chance, mrr"].groupby("item")["value"].mean()
    chance = [100 * level.get(f"{study.source}-{code}", np.nan) for code in languages]
    highest = 100 * float(last["high"].max()) if len(last) else 10  # so that panels can be compared
    parts = []
    for size in sizes:
        recipes = {
            title(model): pretraining(model) for model in study.of_size(size) if name != "figure5" or model in study.berts()
        }
        recipes |= {} if name == "figure5" else {released(study): RELEASED, BLANK: UNTRAINED}
        rows_by_model = [(model, cells.where(last, recipe=recipe)) for model, recipe in recipes.items()]
        series = [_dots(model, rows, languages, study.source) for model, rows in rows_by_model if len(rows)]
        sentences = f"at most {study.sizes[size]:,} sentences a language"
        columns, levels = [*languages, MEAN], np.array([*chance, np.mean(chance) if chance else np.nan])
        parts.append(Panel(sentences, "MRR (%)", columns, series, levels, (0, max(10, highest)), apart=1))
    words = records[records["item"].isin([f"{study.source}-{code}" for code in languages])]
    number, contexts = (
        cells.extent(words["value"][words["definition"] == name]) for name in ("source words", "median contexts of source words")
    )
    note = f"{number} words by language, a median of {contexts} contexts each. " if number else ""
    note += "mean: over the languages. Lines: 95 % intervals over words."
    note += f" Without a dictionary: {', '.join(missing)}." if missing else ""
    heading = f"Word retrieval from {study.names[study.source]}" + (" by window and amount of text" * (name == "figure5"))
    return panels(parts, looks_of_models(study), heading, note.strip() + masked_note)


def looks_of_models(study: Study) -> dict[str, Look]:
    """Look of each model in figures 1 to 6, by its name without the data size; random weights are grey in all papers."""
    by_name = looks([*dict.fromkeys(map(title, study.models)), study.encoder])
    return by_name | {released(study): by_name[study.encoder], BLANK: Look(str(GREY["color"]), "X")}


def _dots(name: str, rows: pd.DataFrame, languages: Sequence[str], source: str) -> Dots:
    """A series with a score for each language, then their mean, which has no interval."""
    scores = [cells.cell(cells.where(rows, item=f"{source}-{code}")) for code in languages]
    numbers = np.array([[cell[part] for part in ("here", "low", "high")] for cell in scores], float).reshape(-1, 3)
    values, low, high = np.vstack([numbers, [numbers[:, 0].mean() if len(scores) else np.nan, np.nan, np.nan]]).T
    return Dots(name, values, low, high)
