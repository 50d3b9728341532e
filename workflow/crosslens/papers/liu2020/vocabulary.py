"""liu2020: table 3, the number of different subwords in XNLI's test set by language, and how many of them English has too."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from crosslens.encoding.tokens.counts import Counts, Vocabulary
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020.names import PAPER
from crosslens.reports import cells

OWN, SHARED = "V_lang", "V_en and V_lang"
METRIC = "token set size"
WITH, WITHOUT = "with [UNK]", "without [UNK]"
"""Definitions of a token set: with the unknown subword, as in the printed numbers, or without it."""


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Build table 3: a line for each language, row and definition. settings: corpus, its key; source; languages, in order.

    Both texts of a pair count; special subwords do not. Languages that are printed but not configured have no number.
    """
    assert inputs.tokenizer is not None
    vocabulary, folder = Vocabulary.read(inputs.tokenizer), inputs.tokens[settings["corpus"]]
    printed = inputs.published.table
    languages = dict.fromkeys([*settings["languages"], *printed[printed["item"] == name]["column"]])
    paths = {language: folder / f"{language}.test.parquet" for language in languages}
    counts_by_language = {language: Counts.read(path, vocabulary) for language, path in paths.items() if path.exists()}
    lines = []
    for definition in (WITH, WITHOUT):
        sets = {language: _members(counts, definition) for language, counts in counts_by_language.items()}
        source = sets.get(settings["source"])
        for row in (OWN, SHARED):
            for language in languages:
                members, cut = sets.get(language), counts_by_language[language].cut_texts if language in counts_by_language else 0
                if row == SHARED:
                    members = None if members is None or source is None else members & source
                value = inputs.published.value(name, row, language) if definition == WITH else None
                if members is not None or value is not None:
                    here = {} if members is None else {"here": int(members.sum()), "n": counts_by_language[language].subwords}
                    remark = f"{cut:,} pairs cut" if cut else ""
                    lines.append(cells.line(row, language, METRIC, definition, here, value, remark))
    return cells.table(lines, PAPER, name)


def _members(counts: Counts, definition: str) -> np.ndarray:
    """Whether each subword occurs, with the unknown one in the last place, (n_subwords + 1,) bool."""
    return np.append(counts.known > 0, definition == WITH and counts.unknown > 0)
