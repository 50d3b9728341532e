"""liu2020: all scores of word retrieval (section 3.2)."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import pandas as pd

from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020 import masked_predictions
from crosslens.papers.liu2020.names import PAPER, RELEASED, UNTRAINED, Study, pretraining, title
from crosslens.reports import cells

ALL_MODELS, MEAN, BLANK = "all models", "mean", "BERT with random weights"
RANK = "contexts, cosine, mrr"
"""Definition of the scores that figures show and the table has at each layer."""
SHIFTS, ALIKE = ("", ", mean difference shift"), ("", ", different strings")
SIMILARITIES, RANKED = ("cosine", "csls"), ("mrr", "precision at 1")
OF_LAST = [
    *("contexts, " + "".join(parts) for parts in product(SIMILARITIES, (f", {score}" for score in RANKED), SHIFTS, ALIKE)),
    *("contexts, " + "".join(parts) for parts in product(SIMILARITIES, (", hubness",), SHIFTS)),
    *(f"word alone, cosine, mrr{different}" for different in ALIKE),
]
"""Definitions of the scores that the table has at the last layer."""
OF_LAYERS = [RANK, f"{RANK}, mean difference shift"]
OF_WORDS = [
    "chance, mrr", "chance, precision at 1", "identical strings, mrr", "identical strings, precision at 1", "pairs",
    "source words", "candidates", "median contexts of source words", "median contexts of candidates",
    "source words without contexts", "target words without contexts",
]  # fmt: skip
"""Definitions of numbers that depend only on the words; models with the same tokenizer share them."""
METRICS = {"mrr": "MRR", "precision at 1": "precision at 1", "hubness": "hubness"}


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Build the table: lines for words, then each model at its last layer and by layer. settings: study, fields of Study."""
    study = Study(**settings["study"])
    sizes = [*study.sizes, *(model.partition("/")[2] for model in study.equal_epochs)]
    masked_lines = masked_predictions.lines(inputs.records("masked"), masked_predictions.of_sizes(study, sizes))
    return table_of(name, inputs.records("retrieval"), study, masked_lines)


def table_of(name: str, records: pd.DataFrame, study: Study, masked_lines: Iterable[dict[str, Any]] = ()) -> pd.DataFrame:
    """Build the table from the records of all models. masked_lines: from `masked_predictions.lines`."""
    pretrained = {model_name(model): pretraining(model) for model in (*study.models, *study.equal_epochs)}
    models = pretrained | {released(study): RELEASED, BLANK: UNTRAINED}
    lines = [*masked_lines, *_of_words(records, models)]
    for model, recipe in models.items():
        of_model = cells.where(records, recipe=recipe)
        of_last = cells.last_layer(of_model)
        for definition in OF_LAST:
            lines += _cells(model, cells.where(of_last, definition=definition), definition, "last layer", study)
        layers = sorted(of_model["layer"].dropna().unique())
        for layer in layers if len(layers) > 1 else []:
            for definition in OF_LAYERS:
                rows = cells.where(of_model, definition=definition, layer=layer)
                lines += _cells(model, rows, definition, f"layer {layer:.0f}", study)
    return cells.table(lines, PAPER, name)


def _of_words(records: pd.DataFrame, models: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Lines with numbers that depend only on the words: one for all models if they agree, otherwise one for each."""
    for definition in OF_WORDS:
        for item, rows in cells.where(records, definition=definition).groupby("item", sort=False):
            by_model = rows.groupby("recipe", sort=False)["value"].first()
            agree = by_model.nunique() == 1
            names = (
                {ALL_MODELS: by_model.index[0]}
                if agree
                else {model: recipe for model, recipe in models.items() if recipe in by_model}
            )
            for row, recipe in names.items():
                is_share = not definition.endswith(("pairs", "words", "candidates"))
                numbers = cells.cell(cells.where(rows, recipe=recipe)[["value", "n"]], 100 if is_share else 1)
                before, _, score = definition.rpartition(", ")
                yield cells.line(row, str(item), METRICS.get(score, definition), before, numbers | {"seeds": None})


def _cells(model: str, rows: pd.DataFrame, definition: str, layer: str, study: Study) -> Iterator[dict[str, Any]]:
    """Lines for each direction, and for the means from and into the source language."""
    parts = definition.split(", ")
    metric, rest = METRICS[parts[2]], "; ".join([*parts[:2], *parts[3:], layer])
    scale = 1 if parts[2] == "hubness" else 100
    for item in dict.fromkeys(rows["item"]):
        yield cells.line(model, item, metric, rest, cells.cell(cells.where(rows, item=item), scale, score=parts[2] != "hubness"))
    for column, has_direction in (
        (f"{MEAN}, {study.source} to others", rows["item"].str.startswith(f"{study.source}-")),
        (f"{MEAN}, others to {study.source}", rows["item"].str.endswith(f"-{study.source}")),
    ):
        if has_direction.any():
            here = cells.rounded(scale * rows[has_direction]["value"].mean())
            numbers = {"here": here, "seeds": rows[has_direction]["seed"].nunique(), "n": int(has_direction.sum())}
            yield cells.line(model, column, metric, rest, numbers)


def model_name(model: str) -> str:
    """Name of a pretrained model in tables: BERT, window 512 (200k)."""
    return f"{title(model)} ({model.partition('/')[2]})"


def released(study: Study) -> str:
    """Name of the released encoder in tables and figures."""
    return f"{study.encoder} as released"
