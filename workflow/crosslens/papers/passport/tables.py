"""passport: the table of an encoder, with a line for each value of a measure and each baseline, by language and layer.

Numbers have the unit of their measure. Columns that other tables lack: layer (a number, SUMMARY, or "" for a measure without
layers), family of the language, and baseline_kind ("" for the encoder itself).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from crosslens.encoding.samples import read
from crosslens.measures.shared.parallel import FORMULA, NOT_MEASURED, SHUFFLED_PAIRS
from crosslens.numerics.estimates import over_families
from crosslens.numerics.halves import blocks
from crosslens.numerics.intervals import Interval, jackknife
from crosslens.papers.inputs import Inputs
from crosslens.papers.passport.description import description
from crosslens.papers.passport.facts import FAMILIES, LANGUAGES, LEAST, SUMMARY
from crosslens.papers.passport.premium import ids_of, premium
from crosslens.reports import cells

RANDOM_WEIGHTS = "random weights"  # baseline
WITHOUT_PIVOT = ("premium", "topic")  # measures that the pivot has too; means leave it out
DIGITS = 4
LOWER = ("own", "gap")  # prefixes of definitions for which lower is better, whatever holds for the measure
PLACE = ["row", "column", "metric", "definition", "layer"]

record = description  # scripts/table.py adds these facts to the table's record


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Build the table of an encoder's passport. settings: from `passport.tables_and_figures.items`."""
    records = inputs.records().assign(item=lambda frame: frame["item"].fillna(""))
    records = records[records["definition"] != NOT_MEASURED]
    is_encoder = records["recipe"] == settings["recipe"]
    encoder = pd.concat([records[is_encoder], _premium(inputs, settings)], ignore_index=True)
    lines = [*_lines(encoder, settings), *_twins(records[~is_encoder & (records["item"] == "")], settings)]
    order = {key: number for number, key in enumerate(settings["measures"])}
    lines.sort(key=lambda line: order[line["metric"]])  # stable
    family = [settings["kinship"].get(line["column"], [""])[0] for line in lines]
    layer, baseline = ([line[column] for line in lines] for column in ("layer", "baseline_kind"))
    return cells.table(lines, "passport", name).assign(layer=layer, family=family, baseline_kind=baseline)


def _premium(inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Records of the premium, the first measure."""
    assert inputs.tokenizer is not None
    corpus = settings["parallel"]
    sentences = read(next(iter(inputs.samples.values())) / corpus)
    languages = sorted({*sentences.languages.tolist()})
    groups = blocks(ids_of(sentences, languages[0]), settings["block"])
    rows = premium(inputs.tokens[corpus], inputs.tokenizer, sentences, languages, settings["pivot"], groups)
    return pd.DataFrame([{"item": ""} | row for row in rows])


def _twins(records: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Lines for random weights: means over seeds. Values of each seed are computed by the same functions as the encoder's.

    Low and high are the smallest and the largest value over seeds.
    """
    seeds = [_lines(part, settings) for _, part in records.groupby("seed")]
    runs = pd.DataFrame([line for lines in seeds for line in lines]).dropna(subset="here")
    for place, values in runs.groupby(PLACE, sort=False):
        here = values["here"].to_numpy(dtype=float)
        numbers = cells.estimate(float(here.mean()), here.min(), here.max(), DIGITS) | {
            "seeds": len(here),
            "n": values["n"].min(),
        }
        labels = dict(zip(PLACE, map(str, place), strict=True))
        remark = f"low and high: least and greatest of {len(here)} seeds" if len(here) > 1 else "one seed"
        yield _line(labels, labels["column"], labels["layer"], numbers, RANDOM_WEIGHTS, remark)


class _Values:
    """Values of one definition of a measure, or of one of its baselines.

    families: language -> family. pivot: language that means leave out; "" for none. score: whether values are from 0 to 1.
    """

    def __init__(self, records: pd.DataFrame, baseline: str, families: Mapping[str, str], pivot: str, *, score: bool) -> None:
        placed = records.assign(layer=records["layer"].fillna(-1).astype(int))
        is_whole = placed["language"] == "all"
        self.baseline, self.families, self.score = baseline, families, score
        self.whole = placed[is_whole]
        self.by_language = {
            column: placed[~is_whole].pivot(index="layer", columns="language", values=column)
            for column in ("value", "low", "high", "n")
        }
        self.layers = sorted({*placed["layer"].tolist()})
        columns = [str(language) for language in self.by_language["value"].columns]
        self.averaged = [language for language in columns if language != pivot]

    def record(self, language: str, layer: int) -> dict[str, Any]:
        """Value, low, high and n for a language at a layer."""
        return {column: frame.at[layer, language] for column, frame in self.by_language.items()}

    def best_layers(self, lower: bool) -> dict[str, int]:
        """Language -> layer with the best mean over the other half of the languages; {} with a single layer or language.

        Languages of a family alternate between the halves, so that each has about half of it. lower: whether lower is better.
        """
        frame = self.by_language["value"].dropna(how="all")
        if len(frame) < 2 or len(self.averaged) < 2:
            return {}
        ordered = sorted(self.averaged, key=lambda language: (self.families[language], language))
        halves, layers = (ordered[::2], ordered[1::2]), dict[str, int]()
        for half, other_half in (halves, halves[::-1]):
            means = frame[other_half].mean(axis=1).to_numpy(dtype=float)
            best = int(np.nanargmin(means) if lower else np.nanargmax(means))
            layers |= dict.fromkeys(half, int(frame.index.to_numpy()[best]))
        return layers


def _lines(records: pd.DataFrame, settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Lines for all measures of an encoder, each definition followed by its baselines."""
    families = {language: family for language, (family, _) in settings["kinship"].items()}
    for (measure, definition), part in records.groupby(["measure", "definition"], sort=False):
        facts = settings["measures"][measure]
        place = {"row": facts["title"], "metric": measure, "definition": definition}
        pivot = settings["pivot"] if measure in WITHOUT_PIVOT else ""
        score = facts["minimum"] == 0 and facts["maximum"] == 1 and definition != "gap"
        values = {
            str(baseline): _Values(group, str(baseline), families, pivot, score=score)
            for baseline, group in part.groupby("item", sort=False)
        }
        lower = facts["better"] == "lower" or str(definition).startswith(LOWER)
        best = values[""].best_layers(lower) if facts["better"] != "neither" else {}
        for baseline in ("", SHUFFLED_PAIRS):
            if baseline in values:
                yield from _of_layers(place, values[baseline])
                yield from _summary(place, values[baseline], best)
        if FORMULA in values:
            yield from _formula(place, values[FORMULA], values[""], summary=bool(best))


def _of_layers(place: Mapping[str, Any], values: _Values) -> Iterator[dict[str, Any]]:
    """Lines for each layer: for languages and their means, or for the layer as a whole if the measure has no languages."""
    frame = values.by_language["value"]
    for record in values.whole[~values.whole["layer"].isin(frame.index)].to_dict("records"):
        yield _line(place, LANGUAGES, _layer(record["layer"]), _numbers(record), values.baseline)
    for layer in frame.index:
        for language in frame.columns:
            yield _line(place, language, _layer(layer), _numbers(values.record(language, layer)), values.baseline)
        yield from _means(place, _layer(layer), frame.loc[layer, values.averaged], values)


def _summary(place: Mapping[str, Any], values: _Values, best: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Lines for each language at the layer that is best for the other half of the languages, and for the means."""
    records = {language: values.record(language, layer) for language, layer in best.items()}
    for language, record in records.items():
        yield _line(place, language, SUMMARY, _numbers(record), values.baseline, f"layer {best[language]}")
    if records:
        numbers = pd.Series({language: record["value"] for language, record in records.items()})
        yield from _means(place, SUMMARY, numbers, values)


def _formula(place: Mapping[str, Any], values: _Values, encoder: _Values, *, summary: bool) -> Iterator[dict[str, Any]]:
    """Lines for a baseline by formula: by language if it has languages, otherwise a constant at each layer of the encoder.

    summary: whether the encoder also has a summary layer.
    """
    if values.averaged:
        yield from _of_layers(place, values)
        return
    (record,) = values.whole.to_dict("records")
    for layer in [*map(_layer, encoder.layers), *[SUMMARY] * summary]:
        for column in (LANGUAGES, FAMILIES):
            yield _line(place, column, layer, _numbers(record), FORMULA)


def _means(place: Mapping[str, Any], layer: str, by_language: pd.Series, values: _Values) -> Iterator[dict[str, Any]]:
    """Lines for the means over languages and over families. The encoder's have intervals if there are enough families.

    by_language: values to average; a language whose states do not vary has nan and is left out.
    """
    by_language = by_language.dropna()
    if by_language.empty:
        return
    numbers, remark = by_language.to_numpy(dtype=float), ""
    names = [values.families[str(language)] for language in by_language.index]
    members = np.unique(names, return_inverse=True)[1]
    count = int(members.max()) + 1
    by_family = over_families(numbers, names, (0.0, 1.0) if values.score else (-np.inf, np.inf))
    intervals = {LANGUAGES: Interval(float(numbers.mean()), np.nan, np.nan), FAMILIES: Interval(by_family.value, np.nan, np.nan)}
    if not values.baseline and count >= LEAST:
        without = np.array([numbers[members != family].mean() for family in range(count)])
        ends = jackknife(numbers.mean(), without, count, score=values.score)
        intervals = {LANGUAGES: Interval(float(numbers.mean()), *map(float, ends)), FAMILIES: by_family.interval()}
    elif not values.baseline:
        remark = f"no interval: {count} families, fewer than {LEAST}"
    for (column, interval), n in zip(intervals.items(), (len(numbers), count), strict=True):
        value, low, high = interval
        yield _line(place, column, layer, cells.estimate(value, low, high, DIGITS) | {"n": n}, values.baseline, remark)


def _layer(layer: int) -> str:
    """Layer as the table has it; "" for -1, which stands for no layer."""
    return "" if layer < 0 else str(layer)


def _numbers(record: Mapping[Any, Any]) -> dict[str, Any]:
    """Numbers of a line, from a record with value, low, high and n."""
    value, low, high = (float(record[name]) if pd.notna(record[name]) else np.nan for name in ("value", "low", "high"))
    return cells.estimate(value, low, high, DIGITS) | {"n": int(record["n"]) if pd.notna(record["n"]) else None}


def _line(
    place: Mapping[str, Any], column: str, layer: str, numbers: Mapping[str, Any], baseline: str, remark: str = ""
) -> dict[str, Any]:  # fmt: skip
    """A line of the table, with its layer and kind of baseline."""
    line = cells.line(place["row"], column, place["metric"], place["definition"], numbers, remark=remark)
    return line | {"seeds": numbers.get("seeds"), "layer": layer, "baseline_kind": baseline}
