"""tanti2021: how well probes identify the language of words and of whole texts in the same encoders.

The paper probes taggers on words and NLI models on texts, and calls that a limitation (section 6).
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pandas as pd

from crosslens.numerics.definitions import PROBE_ACROSS, PROBE_RANDOM
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.names import PAPER, UNIT_ROWS, metric
from crosslens.papers.tanti2021.records import named
from crosslens.reports import cells


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """The table `units`, in percent. settings: wiki, key of the corpus of paragraphs; columns, recipe -> its column head."""
    return cells.table([*_lines(named(inputs.records(), settings["wiki"]), settings["columns"])], PAPER, name)


def _lines(scores: pd.DataFrame, columns: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """A line for each unit, definition and encoder. scores: `named` records."""
    for row, item in UNIT_ROWS.items():
        for definition, (recipe, column) in product((PROBE_ACROSS, PROBE_RANDOM), columns.items()):
            records = cells.where(scores, item=item, definition=definition, recipe=recipe)
            remark = cells.unconverged(records, column)
            yield cells.line(row, column, metric(definition), definition, cells.cell(records), None, remark, chance=0)
