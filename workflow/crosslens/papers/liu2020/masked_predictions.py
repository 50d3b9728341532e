"""liu2020: accuracy of language models on masked subwords of held-out text, shown with all their other scores."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from crosslens.measures.shared.masked_baselines import BIGRAM, MAJORITY, MASKED, MODEL
from crosslens.papers.liu2020.names import Study, pretraining, title
from crosslens.reports import cells
from crosslens.reports.cells import where

TRANSLATOR = "the model that translates"
HELD_OUT = "held-out text"
"""Column of these accuracies in tables whose columns are languages or directions."""


def lines(records: pd.DataFrame, recipes: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Lines with the accuracy of each model, and of the bigram and majority baselines. recipes: row -> recipe."""
    rows = where(records, measure=MASKED, language="all")
    for row, recipe in recipes.items():
        for definition in (MODEL, BIGRAM, MAJORITY) if recipe in set(rows["recipe"]) else ():
            yield cells.line(row, HELD_OUT, MASKED, definition, cells.cell(where(rows, recipe=recipe, definition=definition)))


def note(records: pd.DataFrame, recipes: Mapping[str, str]) -> str:
    """A sentence with each model's and the bigram's accuracy for a figure's note; '' without any. recipes: model -> recipe."""
    shares = 100 * where(records, measure=MASKED, language="all").groupby(["recipe", "definition"])["value"].mean()
    parts = [
        f"{model} {shares[recipe, MODEL]:.0f} % ({shares[recipe, BIGRAM]:.0f} %)"
        for model, recipe in recipes.items()
        if (recipe, MODEL) in shares
    ]
    return f" Masked subwords of held-out text predicted correctly (by the bigram): {', '.join(parts)}." if parts else ""


def of_sizes(study: Study, sizes: Sequence[str]) -> dict[str, str]:
    """Name in figures -> recipe, of the masked language models of some data sizes, such as 200k or 200k-epochs."""
    berts = (*study.berts(), *study.equal_epochs)
    models = [(model, size) for model in berts if (size := model.partition("/")[2]) in sizes]
    return {title(model) + f" ({size})" * (len(sizes) > 1): pretraining(model) for model, size in models}
