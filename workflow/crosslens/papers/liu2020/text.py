"""liu2020: the text on which models are pretrained, by language, and the examples into which each window divides it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.encoding.packing import first_texts, of_pages, windows_of
from crosslens.encoding.texts import load_subwords
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020.names import PAPER
from crosslens.reports import cells
from crosslens.reports.cells import rounded

ALL = "all languages"
SENTENCES, PAGES, SUBWORDS, LENGTH = "sentences", "pages", "subwords", "subwords of a sentence"
SHARE = "share of all subwords (percent)"
EXAMPLES, FILLED = "examples", "subwords of an example"
RUNNING = "running text"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Build the table: a line for each data size, language and metric. Special subwords count only in examples.

    settings: corpus, its key; languages; sizes, name -> sentences; windows, each with name, window and within.
    """
    folder = inputs.tokens[settings["corpus"]]
    counts = {code: _counts(folder / f"{code}.train.parquet", settings) for code in settings["languages"]}
    lines = [line for size in settings["sizes"] for line in _lines(size, {code: sizes[size] for code, sizes in counts.items()})]
    return cells.table(lines, PAPER, name)


def _counts(file: Path, settings: Mapping[str, Any]) -> dict[str, dict[tuple[str, str], int]]:
    """Data size -> (metric, definition) -> number, for one language."""
    texts, counts = load_subwords([file]), {}
    for size, sentences in settings["sizes"].items():
        part = first_texts(texts, sentences)
        numbers = {
            SENTENCES: len(part),
            PAGES: int(of_pages(part)[-1]) + 1,
            SUBWORDS: int((part.lengths - part.edges.around).sum()),
        }
        counts[size] = {(metric, RUNNING): number for metric, number in numbers.items()}
        for cut in settings["windows"]:
            windows = windows_of(part, cut["window"], cut["within"])
            counts[size] |= {(EXAMPLES, cut["name"]): len(windows), (FILLED, cut["name"]): len(windows.subwords)}
    return counts


def _lines(size: str, counts: Mapping[str, Mapping[tuple[str, str], int]]) -> Iterator[dict[str, Any]]:
    whole = {key: sum(numbers[key] for numbers in counts.values()) for key in next(iter(counts.values()))}
    below = {FILLED: EXAMPLES, LENGTH: SENTENCES}  # metric that is a mean -> metric by which it is divided
    places = [*((key, key) for key in whole), ((LENGTH, RUNNING), (SUBWORDS, RUNNING)), ((SHARE, RUNNING), (SUBWORDS, RUNNING))]
    for (metric, definition), key in places:
        for column, numbers in (*counts.items(), (ALL, whole)):
            value: float = numbers[key]
            if metric in below:
                value /= numbers[below[metric], definition]
            elif metric == SHARE:
                value *= 100 / whole[key]
            yield cells.line(size, column, metric, definition, {"here": rounded(value), "n": numbers[key]})
