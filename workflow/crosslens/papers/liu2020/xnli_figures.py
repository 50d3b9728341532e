"""liu2020: figures 2, 4 and 6, XNLI from pretrained models, for which the paper prints no numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020 import masked_predictions
from crosslens.papers.liu2020.names import OVER_PAIRS, THIRD, Study
from crosslens.papers.liu2020.retrieval import BLANK, MEAN
from crosslens.papers.liu2020.retrieval_figures import looks_of_models
from crosslens.papers.liu2020.xnli import FROZEN, all_models, in_languages, loss, mean_by_seed, tested, tuned, window_pairs
from crosslens.papers.wording import interval
from crosslens.reports import cells
from crosslens.reports.figures.dots import Dots, Look, Panel, panels
from crosslens.reports.figures.style import COLOURS, MARKERS


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """Draw figure 2, 4 or 6. settings: study, the fields of Study; sizes, data sizes."""
    records, study, sizes = inputs.records("classification"), Study(**settings["study"]), settings["sizes"]
    masked_note = masked_predictions.note(inputs.records("masked"), masked_predictions.of_sizes(study, sizes))
    return windows(records, study, masked_note) if name == "figure6" else figure_of(records, study, sizes, masked_note)


def figure_of(records: pd.DataFrame, study: Study, sizes: Sequence[str], masked_note: str = "") -> Figure:
    """Draw figure 2 or 4: a panel for each data size; filled marks: heads on frozen states; hollow marks: fine-tuned models.

    Colour and marker distinguish models. masked_note: end of the note, from `masked_predictions.note`.
    """
    scored = in_languages(records)
    languages = tested(scored, study)
    all_of_ways = [model for model in all_models(study, tagged=False) if model.way in (FROZEN, tuned(study))]
    models = {size: [model for model in all_of_ways if model.size in ("", size)] for size in sizes}
    look_by_model = looks_of_models(study)
    looks_by_label: dict[str, Look] = {}
    parts = []
    for size, models_of_size in models.items():
        series = []
        for model in models_of_size:
            if len(rows := cells.where(scored, recipe=model.recipe)):
                label = f"{model.name}, {'frozen' if model.way == FROZEN else 'fine-tuned'}"
                looks_by_label[label] = replace(look_by_model[model.name], hollow=model.way != FROZEN)
                series.append(_dots(label, rows, languages, study.source))
        columns, level = [*languages, MEAN], np.full(len(languages) + 1, THIRD)
        heading = f"at most {study.sizes[size]:,} sentences a language"
        parts.append(Panel(heading, "accuracy (%)", columns, series, level, (30, 40), apart=1))
    return panels(parts, looks_by_label, f"XNLI, trained on {study.names[study.source]}", _note(scored, study) + masked_note)


def windows(records: pd.DataFrame, study: Study, masked_note: str = "") -> Figure:
    """Draw figure 6: fine-tuned BERTs by window and data size (a), and the loss with the short window (b).

    Hollow marks stand for the least text.
    """
    scored = in_languages(records)
    languages = tested(scored, study)
    columns, level = [*languages, MEAN], np.full(len(languages) + 1, THIRD)
    models = [model for model in all_models(study) if model.way != FROZEN and (model.size or model.name == BLANK)]
    accuracies = [_dots(model.name, cells.where(scored, recipe=model.recipe), languages, study.source) for model in models]
    look_by_model, (least, *_) = looks_of_models(study), study.sizes
    looks_by_name = {
        model.name: replace(look_by_model[model.name.removesuffix(f" ({model.size})")], hollow=model.size == least)
        for model in models
    }
    drops: list[Dots] = []
    for name, long, short in window_pairs(study):
        looks_by_name[name] = Look(COLOURS[-1], MARKERS[len(drops) // len(study.sizes)], hollow=short.endswith(f"/{least}"))
        by_language = [cells.cell(loss(scored, long, short, [code]), 1, score=False) for code in languages]
        targets = [code for code in languages if code != study.source]
        drops.append(_series(name, [*by_language, cells.cell(loss(scored, long, short, targets), 1, score=False)]))
    letter = "(a) " if drops else ""  # with one window there are none
    parts = [Panel(f"{letter}accuracy", "accuracy (%)", columns, accuracies, level, (30, 40), apart=1)]
    if drops:
        parts.append(Panel("(b) loss with the short window", "lower by (%)", columns, drops, None, (0, 1), apart=1))
    title = "XNLI from fine-tuned BERTs by window and amount of text"
    return panels(parts, looks_by_name, title, _note(scored, study, losses=bool(drops)) + masked_note)


def _dots(name: str, rows: pd.DataFrame, languages: Sequence[str], source: str) -> Dots:
    """A series with the score in each language, then the mean over all but the source."""
    numbers = [cells.cell(cells.where(rows, language=code)) for code in languages]
    return _series(name, [*numbers, cells.cell(mean_by_seed(rows, [code for code in languages if code != source]))])


def _series(name: str, numbers: Sequence[Mapping[str, Any]]) -> Dots:
    return Dots(name, *np.array([[cell[part] for part in ("here", "low", "high")] for cell in numbers], float).T)


def _note(scored: pd.DataFrame, study: Study, *, losses: bool = False) -> str:
    """Sentences on means and interval lines. losses: whether losses are shown, which like means have lines only over seeds."""
    seeds = scored["seed"].nunique()
    alone = "means and losses have none" if losses else "means have none"
    without = f"; of one seed {alone}" if seeds == 1 else ""
    lines = interval([seeds], OVER_PAIRS)
    return f"mean: over the languages but {study.names[study.source]}. Lines: 95 % intervals, {lines}{without}."
