"""liu2020: the text that models are pretrained on, by language: how much there is, and what a window has of it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens import cells
from crosslens.cells import rounded
from crosslens.encoding.packing import first_texts, of_pages, windows_of
from crosslens.encoding.texts import load_pieces
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020.layout import PAPER

ALL = "all languages"
SENTENCES, PAGES, SUBWORDS, LENGTH = "sentences", "pages", "subwords", "subwords of a sentence"
SHARE = "share of all subwords (percent)"
EXAMPLES, FILLED = "examples", "subwords of an example"
RUNNING = "running text"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """A line for each size, language and number. Special subwords count in examples alone.

    settings: corpus, its key; languages; sizes, name -> sentences; windows, each with name, window and within.
    """
    folder = inputs.tokens[settings["corpus"]]
    counts = {code: _counts(folder / f"{code}.train.parquet", settings) for code in settings["languages"]}
    lines = [line for size in settings["sizes"] for line in _lines(size, {code: of[size] for code, of in counts.items()})]
    return cells.table(lines, PAPER, name)


def _counts(file: Path, settings: Mapping[str, Any]) -> dict[str, dict[tuple[str, str], int]]:
    """Size -> (metric, definition) -> number, of one language."""
    texts, found = load_pieces([file]), {}
    for size, sentences in settings["sizes"].items():
        read = first_texts(texts, sentences)
        numbers = {SENTENCES: len(read), PAGES: int(of_pages(read)[-1]) + 1, SUBWORDS: int((read.lengths - 2).sum())}
        found[size] = {(metric, RUNNING): number for metric, number in numbers.items()}
        for each in settings["windows"]:
            windows = windows_of(read, each["window"], each["within"])
            found[size] |= {(EXAMPLES, each["name"]): len(windows), (FILLED, each["name"]): len(windows.pieces)}
    return found


def _lines(size: str, counts: Mapping[str, Mapping[tuple[str, str], int]]) -> Iterator[dict[str, Any]]:
    whole = {key: sum(of[key] for of in counts.values()) for key in next(iter(counts.values()))}
    below = {FILLED: EXAMPLES, LENGTH: SENTENCES}  # means: of what
    shown = [*((key, key) for key in whole), ((LENGTH, RUNNING), (SUBWORDS, RUNNING)), ((SHARE, RUNNING), (SUBWORDS, RUNNING))]
    for (metric, definition), counted in shown:
        for column, of in (*counts.items(), (ALL, whole)):
            value: float = of[counted]
            if metric in below:
                value /= of[below[metric], definition]
            elif metric == SHARE:
                value *= 100 / whole[counted]
            yield cells.line(size, column, metric, definition, {"here": rounded(value), "n": of[counted]})
