"""liu2020: table 3, the different subwords of XNLI's test set by language, and how many of them English has too."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020.layout import PAPER
from crosslens.reports import cells
from crosslens.tokens.counts import Counts, Vocabulary

OWN, SHARED = "V_lang", "V_en and V_lang"
METRIC = "token set size"
WITH, WITHOUT = "with [UNK]", "without [UNK]"
"""Whether the unknown subword is a member of a set, as the printed numbers have it."""


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """A line for each language and each of the two sets. settings: corpus, its key; source; languages, in their order.

    Both texts of a pair count; special subwords never do. Languages that are printed but not here have no number.
    """
    assert inputs.tokenizer is not None
    vocabulary, folder = Vocabulary.read(inputs.tokenizer), inputs.tokens[settings["corpus"]]
    printed = inputs.published.table
    languages = dict.fromkeys([*settings["languages"], *printed[printed["item"] == name]["column"]])
    paths = {language: folder / f"{language}.test.parquet" for language in languages}
    counted = {language: Counts.read(path, vocabulary) for language, path in paths.items() if path.exists()}
    lines = []
    for definition in (WITH, WITHOUT):
        sets = {language: _members(counts, definition) for language, counts in counted.items()}
        source = sets.get(settings["source"])
        for row in (OWN, SHARED):
            for language in languages:
                members, cut = sets.get(language), counted[language].cut_texts if language in counted else 0
                if row == SHARED:
                    members = None if members is None or source is None else members & source
                value = inputs.published.value(name, row, language) if definition == WITH else None
                if members is not None or value is not None:
                    here = {} if members is None else {"here": int(members.sum()), "n": counted[language].subwords}
                    remark = f"{cut:,} pairs cut" if cut else ""
                    lines.append(cells.line(row, language, METRIC, definition, here, value, remark))
    return cells.table(lines, PAPER, name)


def _members(counts: Counts, definition: str) -> np.ndarray:
    """Of each subword whether it occurs, and of the unknown one in the last place, (vocabulary + 1,)."""
    return np.append(counts.known > 0, definition == WITH and counts.unknown > 0)
