"""pires2019: table 2, accuracy of part-of-speech tagging by language of training and of test."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from crosslens.numerics.definitions import ACCURACY
from crosslens.papers.inputs import Inputs
from crosslens.reports import cells


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Table 2, in percent. settings: sources, the row of each recipe."""
    records, lines = inputs.records(), []
    for recipe, row in settings["sources"].items():
        scores = records[(records["recipe"] == recipe) & (records["definition"] == ACCURACY) & (records["language"] != "all")]
        for language, runs in scores.groupby("language"):
            column = str(language).upper()
            printed = inputs.published.value(name, row, column)
            lines.append(cells.line(row, column, ACCURACY, ACCURACY, cells.cell(runs), printed))
    return cells.table(lines, "pires2019", name)
