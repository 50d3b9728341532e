"""liang2021: tables 1 to 6."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from crosslens.jobs import parquet
from crosslens.jobs.checksums import verified
from crosslens.numerics.definitions import CUT_WORDS
from crosslens.papers.inputs import Inputs
from crosslens.papers.liang2021.names import (
    BASELINE,
    BY_LANGUAGE,
    DEFINITIONS,
    LDAR,
    MEANS,
    NO_DROPOUT,
    PAPER,
    PRINTED,
    SOURCES,
    TASKS,
    Study,
    row_name,
)
from crosslens.reports import cells
from crosslens.reports.cells import Published

AVERAGE = "avg"
TEXTS = "training sentences"
OF_TWO = "the published value is the difference of two printed ones, of one run each"
CONTROL = "L-DAR is trained without dropout and mBERT with it: compare L-DAR with mBERT, no dropout"
OTHER_ANCHOR = "distance from the pretrained encoder, while the model is trained towards another anchor"
WITH_PENALTY, WITHOUT_PENALTY = "penalty after training with it", "penalty after training without it"
SHARE = "% of cross entropy"
CROSS_ENTROPY = "loss 0 task cross_entropy"  # column of the history

Sizes = Mapping[str, Mapping[str, int]]
"""Corpus -> language -> number of its training sentences."""
Row = dict[Hashable, Any]
"""The row of a training run's history at the tested weights."""


class Place(NamedTuple):
    """A column of a table, in the rows for one set of training languages."""

    task: str
    mixed: int  # index of the training languages in Study.sources: 0 for English, 1 for the mixed set
    prefix: str  # with which the rows' names begin
    column: str
    languages: Sequence[str]  # averaged in the column; empty if the task or the training languages are not configured
    printed: int  # number of languages in the published mean


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Build one of tables 1 to 6. settings: study, the fields of Study."""
    sizes = {corpus: {path.name.split(".")[0]: parquet.rows(path) for path in verified(folder).glob("*.train.parquet")}
             for corpus, folder in inputs.tokens.items()}  # fmt: skip
    histories = {(recipe, seed): pd.read_csv(verified(path)) for recipe, seed, path in inputs.by_seed("history")}
    return table_of(name, inputs.records(), inputs.published, Study(**settings["study"]), sizes, histories)


def table_of(
    name: str, records: pd.DataFrame, published: Published, study: Study, sizes: Sizes,
    histories: Mapping[tuple[str, int], pd.DataFrame],
) -> pd.DataFrame:  # fmt: skip
    """Build a table: printed cells and our own models, then differences paired by seed, all in percent.

    Differences are followed by the size of the penalty after training with and without it. records: of the paper's scores;
    histories: of training runs, by recipe and seed.
    """
    tested: dict[str, dict[int, Row]] = {}
    for (recipe, seed), history in histories.items():
        tested.setdefault(recipe, {})[seed] = _tested(history)
    scores, lines, models_of_table = _Scores(name, records, published, study, tested), [], study.shown(name)
    for places in _blocks(name, published, study):
        rows = published.table[published.table["item"] == name]["row"]
        printed = [model for model, row in PRINTED.items() if places[0].prefix + row in set(rows)]
        for model in dict.fromkeys([*printed, *models_of_table]):
            for task in dict.fromkeys(place.task for place in places):
                for definition in DEFINITIONS[task]:
                    lines += [scores.cell(place, model, definition) for place in places if place.task == task]
        last = {place.task: place for place in places}.values()  # means over all languages
        for models in _compared(models_of_table):
            lines += [scores.difference(place, *models) for place in places]
            lines += [line for place in last for line in scores.penalties(place, *models)]
    lines += _trained_on(name, study, sizes) if name in BY_LANGUAGE else []
    return cells.table([line for line in lines if line], PAPER, name)


def capped(sizes: Mapping[str, int], sources: Sequence[str]) -> dict[str, int]:
    """Number of training sentences used in each source language: see `crosslens.training.run.capped`."""
    share = sizes[sources[0]] // len(sources)
    return {language: min(sizes[language], share) for language in sources}


def penalty_share(penalty: Mapping[str, Any], distances: Row, losses: Row) -> float:
    """Size of a penalty as a fraction of the cross entropy in the same loss.

    The penalty is its weight times the sum over its layers of validation words' mean distance from the pretrained encoder.
    The cross entropy is the mean over the pass that ends at the tested weights.
    distances: history row of any training run at its tested weights; losses: that row of the training run with the penalty.
    """
    all_names = [name for name in distances if str(name).startswith("distance ")]
    names = all_names if penalty["layers"] == "all" else [f"distance {layer}" for layer in penalty["layers"]]
    return float(penalty["weight"] * sum(distances[name] for name in names) / losses[CROSS_ENTROPY])


def _tested(history: pd.DataFrame) -> Row:
    """The row of a training run's history at the tested weights."""
    rows = history.to_dict("records")
    return next(row for row in rows if row["epoch"] == rows[-1]["best_epoch"])


def _blocks(name: str, published: Published, study: Study) -> Iterator[list[Place]]:
    """Yield the columns of a table by language or, for each set of training languages, the columns of means for all tasks."""
    columns = published.table.groupby("item")["column"].unique()
    printed = {table: [code for code in columns[table] if code != AVERAGE] for table in BY_LANGUAGE}
    if name in BY_LANGUAGE:
        task, mixed = BY_LANGUAGE[name]
        configured = study.languages[study.tasks[task]] if study.combinations(name) else []
        codes = dict.fromkeys([*printed[name], *configured])
        places = [Place(task, mixed, "", code, [code] if configured else [], 1) for code in codes]
        yield [*places, Place(task, mixed, "", AVERAGE, configured, len(printed[name]))]
        return
    for number, sources in enumerate(SOURCES):
        places = []
        for table, (task, mixed) in BY_LANGUAGE.items():
            is_configured = (task, mixed) in study.combinations(name)
            groups = study.groups(task, mixed) if is_configured else dict.fromkeys(MEANS, [])
            trained = 3 if mixed else 1  # number of training languages in the paper
            counts = (trained, len(printed[table]) - trained, len(printed[table]))
            places += [
                Place(task, mixed, f"{sources} ", f"{TASKS[task]} {group}", groups[group], count)
                for group, count in zip(MEANS, counts, strict=True) if mixed == number
            ]  # fmt: skip
        yield places


def _compared(models: Sequence[str]) -> list[tuple[str, str]]:
    """(model, reference) of each difference. The references are the baseline and the baseline without dropout."""
    references = [before for before in (BASELINE, NO_DROPOUT) if before in models]
    return [(after, before) for after in models for before in references if after not in (BASELINE, before)]


def _trained_on(name: str, study: Study, sizes: Sizes) -> list[dict[str, Any]]:
    """Lines with the number of training sentences in each source language of a table."""
    lines = []
    for task, mixed in study.combinations(name):
        available = sizes[study.tasks[task]]
        for language, count in capped(available, study.sources[mixed]).items():
            remark = f"of {available[language]:,}" if mixed else ""
            lines.append(cells.line(TEXTS, language, TEXTS, TEXTS, {"here": count}, remark=remark))
    return lines


@dataclass
class _Scores:
    """The scores that a table shows."""

    name: str
    records: pd.DataFrame
    published: Published
    study: Study
    tested: Mapping[str, Mapping[int, Row]]  # recipe -> seed -> history row at the tested weights

    def __post_init__(self) -> None:
        of_tests = self.records[(self.records["language"] != "all") & (self.records["split"] == "test")]
        scored = of_tests[(of_tests["measure"] == "score") & of_tests["value"].notna()]
        self.by_recipe = dict(iter(scored.groupby(["recipe", "definition"])))
        self.cut = of_tests[of_tests["definition"] == CUT_WORDS]

    def cell(self, place: Place, model: str, definition: str) -> dict[str, Any] | None:
        """A line for a cell; None if it has neither a value nor a printed number, which belongs to the first definition."""
        row, first = f"{place.prefix}{row_name(model)}", definition == DEFINITIONS[place.task][0]
        printed = self.published.get(self.name, row, place.column) if first else None
        numbers = cells.cell(self._runs(place, model, definition))
        if printed is None and numbers["here"] is None:
            return None
        remarks = [self._lost(place, model), self._subset(place)] if first and numbers["here"] is not None else []
        metric = f"{TASKS[place.task]} F1" if self.name in BY_LANGUAGE else "F1"
        value = self.published.value(self.name, row, place.column) if first else None
        remarks.append(printed.note if printed else "")
        return cells.line(row, place.column, metric, definition, numbers, value, remarks, chance=0)

    def difference(self, place: Place, after: str, before: str) -> dict[str, Any] | None:
        """A line with `after` minus `before` in points, by the first definition; None if either has no value."""
        definition = DEFINITIONS[place.task][0]
        numbers = cells.difference(*(self._runs(place, model, definition) for model in (before, after)))
        if numbers["here"] is None:
            return None
        names = [row_name(model) for model in (after, before)]
        printed_after, printed_before = (self.published.value(self.name, place.prefix + name, place.column) for name in names)
        value = round(printed_after - printed_before, 2) if printed_after is not None and printed_before is not None else None
        remarks = [OF_TWO if value is not None else "", CONTROL if (after, before) == (LDAR, BASELINE) else ""]
        return cells.line(f"{place.prefix}{' - '.join(names)}", place.column, "points", definition, numbers, value, remarks)

    def penalties(self, place: Place, after: str, before: str) -> Iterator[dict[str, Any]]:
        """Yield lines with the penalty of `after`, in percent of its cross entropy, as measured in `after` and in `before`."""
        penalty = self.study.penalties.get(after)
        if penalty is None or not place.languages:
            return
        rows_with, rows_without = (
            self.tested.get(self.study.recipe(place.task, place.mixed, model), {}) for model in (after, before)
        )
        row, remark = f"{place.prefix}{row_name(after)} - {row_name(before)}", OTHER_ANCHOR * (penalty["anchor"] != "pretrained")
        for definition, rows in ((WITH_PENALTY, rows_with), (WITHOUT_PENALTY, rows_without)):
            runs = [{"seed": seed, "value": penalty_share(penalty, rows[seed], rows_with[seed]), "n": rows[seed]["n distance"]}
                    for seed in rows_with if seed in rows]  # fmt: skip
            if runs:
                numbers = cells.cell(pd.DataFrame(runs), score=False)
                yield cells.line(row, place.column, SHARE, definition, numbers, remark=remark)

    def _runs(self, place: Place, model: str, definition: str) -> pd.DataFrame:
        """Each seed's mean score over a column's languages: seed, value and n; for a single language also low and high."""
        if not place.languages or model not in self.study.models:
            return pd.DataFrame()
        scored = self.by_recipe.get((self.study.recipe(place.task, place.mixed, model), definition), self.cut[:0])
        chosen = scored[scored["language"].isin(place.languages)]
        if len(place.languages) == 1:
            return chosen[["seed", "value", "n", "low", "high"]].reset_index(drop=True)
        return cells.mean_by_seed(chosen, chosen["language"].nunique())

    def _lost(self, place: Place, model: str) -> str:
        """Remark on the number of words that were cut off and not scored; "" if none were."""
        recipe = self.study.recipe(place.task, place.mixed, model)
        shares = self.cut[(self.cut["recipe"] == recipe) & self.cut["language"].isin(place.languages)].drop_duplicates("language")
        return cells.count_remark(shares, "{:,} of {:,} words cut away, not scored")

    def _subset(self, place: Place) -> str:
        """Remark on the number of languages in a mean; "" if it is that of the printed mean."""
        here = len(place.languages)
        return "" if here == place.printed else f"mean of {here} languages, {place.printed} in the paper"
