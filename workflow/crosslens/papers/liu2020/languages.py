"""liu2020: language identification from subword vectors, and from states before and after the shift (sections 4.1, 4.3, 5)."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from crosslens.measures.shared.identification_terms import ALONE, CHANCE, EVERY, SEVERAL, UNSHIFTED_PROBE
from crosslens.measures.shared.shift_terms import ACCURACY, NO_SHIFT, RANDOM, SHIFT
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020.names import LAST, PAPER, RELEASED, UNTRAINED, Study, pretraining
from crosslens.papers.liu2020.retrieval import ALL_MODELS, BLANK, MEAN, model_name, released
from crosslens.papers.liu2020.xnli import HALF
from crosslens.reports import cells
from crosslens.reports.cells import where

EVERYWHERE = "all languages"
SHIFTS = (NO_SHIFT, SHIFT, RANDOM, f"{SHIFT}; {UNSHIFTED_PROBE}", f"{RANDOM}; {UNSHIFTED_PROBE}")


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Build the table: lines for running text, then lines for shifted pairs. settings: study, the fields of Study."""
    study = Study(**settings["study"])
    lines = [*_of_subwords(inputs.records("language_of_subwords"), study)]
    return cells.table([*lines, *_after_shift(inputs.records("language_after_shift"), study)], PAPER, name)


def _of_subwords(records: pd.DataFrame, study: Study) -> Iterator[dict[str, Any]]:
    """Lines with baselines that need no vectors, shared by all models, and lines for each model."""
    models = {model_name(model): pretraining(model) for model in study.of_size([*study.sizes][-1])} | {BLANK: UNTRAINED}
    columns = {EVERYWHERE: "all"} | {code: code for code in study.names if code in set(records["language"])}
    first = records[(records["recipe"] == models[next(iter(models))]) & (records["seed"] == records["seed"].min())]
    for definition in (EVERY, SEVERAL):
        for level in (CHANCE, ALONE):
            for column, language in columns.items():
                rows = where(first, definition=f"{definition}; {level}", language=language)
                if len(rows):
                    numbers = cells.cell(rows[["value", "n"]]) | {"seeds": None}
                    yield cells.line(ALL_MODELS, column, ACCURACY, f"{definition}; {level}", numbers)
        for row, recipe in models.items():
            for column, language in columns.items():
                yield _line(row, column, definition, where(records, recipe=recipe, definition=definition, language=language))


def _after_shift(records: pd.DataFrame, study: Study) -> Iterator[dict[str, Any]]:
    """Lines for each model, layer and shift."""
    for model, recipe in ((released(study), RELEASED), (f"{study.encoder}, {HALF}", LAST)):
        of_model = where(records, recipe=recipe)
        for layer in sorted(of_model["layer"].unique()):  # none for a model that is not probed
            for definition in SHIFTS:
                rows = where(of_model, layer=layer, definition=definition)
                for language in study.nli:
                    yield _line(f"{model}, layer {layer:.0f}", language, definition, where(rows, language=language))
                numbers = cells.cell(cells.mean_by_seed(rows, len(study.nli)))
                yield cells.line(f"{model}, layer {layer:.0f}", MEAN, ACCURACY, definition, numbers)


def _line(row: str, column: str, definition: str, records: pd.DataFrame) -> dict[str, Any]:
    """A line, with a remark if a probe did not converge."""
    return cells.line(row, column, ACCURACY, definition, cells.cell(records), remark=cells.unconverged(records, row))
