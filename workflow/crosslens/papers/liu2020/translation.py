"""liu2020: unsupervised token translation (section 4.2): tables 1 and 2, and which definition of the mean fits table 2 best."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from crosslens.jobs import parquet
from crosslens.measures.shared.shift_terms import (
    BLEU_1,
    CONVERT_RATE,
    ELSEWHERE,
    FREQUENT,
    IN_DICTIONARY,
    NO_SHIFT,
    RANDOM,
    SHARES,
    SHIFT,
    THIRD,
    TRANSLATIONS,
    WITHOUT_PENALTY,
)
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020 import masked_predictions
from crosslens.papers.liu2020.names import PAPER, Study, alpha, place
from crosslens.reports import cells
from crosslens.reports.cells import Published, rounded, where

TEST, DEV = "selected on test data", "selected on development data"
INPUT, REFERENCE = "input", "parallel text"
FREQUENT_ROW = "most frequent subwords of the target"
FITS = "mean absolute difference from the printed convert rates"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Build table 1, table 2 or the calibration table. settings: study, the fields of Study."""
    study = Study(**settings["study"])
    if name == "calibration":
        return cells.table(list(_calibration(inputs.records(), inputs.published, study)), PAPER, name)
    if name == "table1":
        lines = [line for *_, path in inputs.by_seed("example_translations") for line in _samples(path)]
    else:
        lines = list(_scores(inputs.records("translation"), inputs.published, study))
    return cells.table(
        [*lines, *masked_predictions.lines(inputs.records("masked"), {masked_predictions.TRANSLATOR: study.translator})],
        PAPER,
        name,
    )


def _samples(path: Any) -> Iterator[dict[str, Any]]:
    """Lines of table 1 for inputs, outputs and parallel texts, with the texts as remarks.

    The number of an output is the share of its subwords that only the target language has.
    """
    pairs = set()
    for row in parquet.read(path).to_pylist():
        pair, column = f"pair {row['number']}, {row['item']}", {"here": rounded(row["value"], 3), "seeds": 1, "n": row["n"]}
        for name in (INPUT, REFERENCE) if pair not in pairs else ():
            text = row["text" if name == INPUT else "reference"]
            yield cells.line(pair, name, "text", "", {"here": None, "n": len(text.split())}, None, _remark(text))
        pairs.add(pair)
        weight = f"layer {row['layer']}, {alpha(row['weight'])}" if row["weight"] else NO_SHIFT
        yield cells.line(pair, weight, SHARES["target"], "", column, None, _remark(row["output"]))


def _remark(text: str) -> str:
    """A text with no-break spaces after semicolons, since pages split remarks at a semicolon and a space."""
    return text.replace("; ", ";\N{NO-BREAK SPACE}")


def _scores(records: pd.DataFrame, published: Published, study: Study) -> Iterator[dict[str, Any]]:
    """Yield the lines of table 2; none without records."""
    if records.empty:
        return
    settings, grid = study.translation, shift_grid(records)
    first = grid["subspace"].iloc[0]
    top, layer = int(grid["layer"].max()), _layer(grid, study)
    printed_layer, weight = min(settings["printed"][0], top), settings["printed"][1]
    directions = list(dict.fromkeys(grid["item"]))
    test = where(records, split="test", subspace=first)
    for item in directions:
        label = f"BLEU-1 {place(printed_layer, weight)}"
        rows = where(grid, item=item, split="test", measure=BLEU_1, layer=printed_layer, weight=weight)
        yield _bleu(label, item, SHIFT, rows, published)
    for split, definition in (("test", TEST), ("dev", DEV)):
        for item in directions:
            of_item = where(grid, item=item, measure=BLEU_1)
            chosen = where(of_item, split=split).sort_values("value", ascending=False, kind="stable").iloc[:1]
            best_place = {"layer": chosen["layer"].iloc[0], "weight": chosen["weight"].iloc[0]}
            yield _bleu("best BLEU-1", item, definition, where(of_item, split="test", **best_place), published)
            for row, metric, value in (
                ("best layer", "layer", best_place["layer"]),
                ("best alpha", "alpha", best_place["weight"]),
            ):
                printed = published.value("table2", row, item, metric) if definition == TEST else None
                yield cells.line(row, item, metric, definition, {"here": value, "seeds": len(chosen)}, printed)
    for weight in settings["weights"]:
        for definition in (SHIFT, RANDOM, THIRD):
            for item in directions:
                row = f"convert rate {place(layer, weight)}"
                rows = where(test, item=item, measure=CONVERT_RATE, definition=definition, layer=layer, weight=weight)
                value = published.value("table2", row, item, CONVERT_RATE) if definition == SHIFT else None
                yield _line(row, item, CONVERT_RATE, definition, rows, 1, value)
    for measure, scale in ((BLEU_1, 100), (WITHOUT_PENALTY, 100), (CONVERT_RATE, 1)):
        for item in directions:
            rows = where(test, item=item, measure=measure, definition=NO_SHIFT)
            yield _line("no shift: the predicted subwords", item, measure, NO_SHIFT, rows, scale, None)
    for item in directions:
        yield _bleu(FREQUENT_ROW, item, FREQUENT, where(test, item=item, measure=BLEU_1, definition=FREQUENT), None)
    for measure in (IN_DICTIONARY, TRANSLATIONS, ELSEWHERE):
        judged = where(test, measure=measure, definition=SHIFT, layer=layer)
        for weight in settings["weights"]:
            of_weight = where(judged, weight=weight)
            for item in [item for item in directions if item in set(of_weight["item"])]:
                row = f"converted subwords {place(layer, weight)}"
                yield _line(row, item, measure, SHIFT, where(of_weight, item=item), 1, None)
    for definition in (RANDOM, THIRD):
        for item in directions:
            weight = max(settings["weights"])
            rows = where(test, item=item, measure=BLEU_1, definition=definition, layer=layer, weight=weight)
            yield _bleu(f"BLEU-1 {place(layer, weight)}", item, definition, rows, None)


def shift_grid(records: pd.DataFrame) -> pd.DataFrame:
    """Records of shifts with positive weights, by the first definition of the mean."""
    shifted = where(records, definition=SHIFT)
    first: pd.DataFrame = shifted[(shifted["subspace"] == shifted["subspace"].iloc[0]) & (shifted["weight"] > 0)]
    return first


def _layer(grid: pd.DataFrame, study: Study) -> int:
    return min(int(study.translation["layer"]), int(grid["layer"].max()))


def _bleu(row: str, item: str, definition: str, records: pd.DataFrame, published: Published | None) -> dict[str, Any]:
    printed = published.value("table2", row, item, BLEU_1) if published and definition in (SHIFT, TEST) else None
    return _line(row, item, BLEU_1, definition, records, 100, printed)


def _line(
    row: str, item: str, metric: str, definition: str, records: pd.DataFrame, scale: float, printed: float | None
) -> dict[str, Any]:
    digits = 2 if scale == 100 else 3
    return cells.line(row, item, metric, definition, cells.cell(records, scale, digits), printed, "", digits)


def _calibration(records: pd.DataFrame, published: Published, study: Study) -> Iterator[dict[str, Any]]:
    """Lines with convert rates under each definition of the mean, and with their mean difference from the printed rates."""
    layer = _layer(shift_grid(records), study)
    rates = where(records, measure=CONVERT_RATE, definition=SHIFT, split="test", layer=layer)
    rates = rates[rates["weight"] > 0]
    fits = {}
    for mean in dict.fromkeys(rates["subspace"]):
        differences = []
        for row in where(rates, subspace=mean).to_dict("records"):
            label = f"convert rate {place(layer, row['weight'])}"
            printed = published.value("table2", label, row["item"], CONVERT_RATE)
            differences += [abs(row["value"] - printed)] if printed is not None else []
            numbers = {"here": rounded(row["value"], 3), "seeds": 1, "n": row["n"]}
            yield cells.line(label, row["item"], CONVERT_RATE, mean, numbers, printed, "", 3)
        fits[mean] = (float(np.mean(differences)), len(differences)) if differences else (float("nan"), 0)
    best = min((mean for mean in fits if fits[mean][1]), key=lambda mean: fits[mean][0], default=None)
    for mean, (value, number) in fits.items():
        remark = (
            "closest: calibrated on the printed numbers" if mean == best else "" if number else "nothing printed for this encoder"
        )
        numbers = {"here": rounded(value, 3), "seeds": 1, "n": number}
        yield cells.line(FITS, "all directions", CONVERT_RATE, mean, numbers, None, remark, 3)
