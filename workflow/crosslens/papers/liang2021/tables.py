"""liang2021: tables 1 to 6."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from crosslens import cells
from crosslens.cells import Published
from crosslens.measures.definitions import CUT_WORDS
from crosslens.papers.inputs import Inputs
from crosslens.papers.liang2021.layout import (
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

AVERAGE = "avg"
TEXTS = "training sentences"
CONTROL = "L-DAR is trained without dropout and mBERT with it: compare L-DAR with mBERT, no dropout"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """A table. settings: the fields of Study."""
    study = Study(**settings)
    available = {corpus: _sizes(folder) for corpus, folder in inputs.tokens.items()}
    return made(name, inputs.records(), inputs.published, study, available)


def made(
    name: str, records: pd.DataFrame, published: Published, study: Study, available: Mapping[str, Mapping[str, int]]
) -> pd.DataFrame:
    """A table: a line a printed cell, then our own models, and differences paired by seed; scores in percent.

    records: the paper's; available: corpus -> language -> training sentences that there are.
    """
    lines = [*(_by_language if name in BY_LANGUAGE else _means)(name, _Scores(records), published, study, available)]
    return cells.table(lines, PAPER, name)


def capped(available: Mapping[str, int], sources: Sequence[str]) -> dict[str, int]:
    """Sentences of each source that are trained on: see `crosslens.training.run.capped`."""
    share = available[sources[0]] // len(sources)
    return {language: min(available[language], share) for language in sources}


def _sizes(folder: Path) -> dict[str, int]:
    """Rows of train, by language."""
    return {path.name.split(".")[0]: pq.read_metadata(path).num_rows for path in sorted(folder.glob("*.train.parquet"))}


class _Scores:
    """Scores of a paper's trainings."""

    def __init__(self, records: pd.DataFrame) -> None:
        records = records[(records["language"] != "all") & (records["split"] == "test")]
        scored = records[(records["measure"] == "score") & records["value"].notna()]
        self.by_recipe = dict(iter(scored.groupby(["recipe", "definition"])))
        self.cut = records[records["definition"] == CUT_WORDS]

    def runs(self, recipe: str, definition: str, languages: Sequence[str]) -> pd.DataFrame:
        """Mean over languages of each seed's scores: seed, value, n; of one language its interval, low and high."""
        scored = self.by_recipe.get((recipe, definition), pd.DataFrame(columns=["language", "seed", "value", "n", "low", "high"]))
        chosen = scored[scored["language"].isin(languages)]
        if len(languages) == 1:
            return chosen[["seed", "value", "n", "low", "high"]].reset_index(drop=True)
        by_seed = chosen.groupby("seed")
        complete = by_seed.size() == chosen["language"].nunique()
        return by_seed.agg(value=("value", "mean"), n=("n", "sum"))[complete].reset_index()

    def lost(self, recipe: str, languages: Sequence[str]) -> str:
        """How many words of some languages' texts were cut away, where any were."""
        here = self.cut[(self.cut["recipe"] == recipe) & self.cut["language"].isin(languages)].drop_duplicates("language")
        words = round((here["value"] * here["n"]).sum())
        return f"{words:,} of {here['n'].sum():,} words cut away, not scored" if words else ""


def _by_language(
    name: str, scores: _Scores, published: Published, study: Study, available: Mapping[str, Mapping[str, int]]
) -> Iterator[dict[str, Any]]:
    task, mixed = BY_LANGUAGE[name]
    printed = published.table[published.table["item"] == name]
    configured = study.languages[study.tasks[task]] if (task, mixed) in study.combinations(name) else []
    codes = dict.fromkeys(code for code in [*printed["column"], *configured] if code != AVERAGE)
    columns = {code: [code] for code in codes} | {AVERAGE: [*configured]}
    lines = _Lines(name, scores, published, study, available)
    for model in dict.fromkeys([*(key for key, row in PRINTED.items() if row in set(printed["row"])), *study.shown(name)]):
        for definition in DEFINITIONS[task]:
            for column, languages in columns.items():
                yield from lines.cell(task, mixed, model, definition, row_name(model), column, languages)
    for after, before in _compared(study.shown(name)):
        for column, languages in columns.items():
            yield from lines.difference(task, mixed, after, before, "", column, languages)
    if configured:
        for language, count in capped(available[study.tasks[task]], study.sources[mixed]).items():
            remark = f"of {available[study.tasks[task]][language]:,}"
            yield cells.line(TEXTS, language, TEXTS, TEXTS, {"here": count}, remark=remark if mixed else "")


def _means(
    name: str, scores: _Scores, published: Published, study: Study, available: Mapping[str, Mapping[str, int]]
) -> Iterator[dict[str, Any]]:
    lines = _Lines(name, scores, published, study, available)
    printed = set(published.table[published.table["item"] == name]["row"])
    for mixed, source in enumerate(SOURCES):
        for model in dict.fromkeys([*PRINTED, *study.shown(name)]):
            row = f"{source} {row_name(model)}"
            for task in TASKS if row in printed or model in study.models else ():
                for definition in DEFINITIONS[task]:
                    for group, languages in lines.groups(task, mixed).items():
                        yield from lines.cell(task, mixed, model, definition, row, f"{TASKS[task]} {group}", languages)
        for after, before in _compared(study.shown(name)):
            for task in TASKS:
                for group, languages in lines.groups(task, mixed).items():
                    yield from lines.difference(task, mixed, after, before, f"{source} ", f"{TASKS[task]} {group}", languages)


def _compared(models: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Models and what each is compared with: the baseline, and L-DAR also its own without a penalty."""
    for after in models:
        for before in (BASELINE, NO_DROPOUT):
            if before in models and after not in (BASELINE, before):
                yield after, before


class _Lines:
    """Lines of a table."""

    def __init__(
        self, name: str, scores: _Scores, published: Published, study: Study, available: Mapping[str, Mapping[str, int]]
    ) -> None:
        self.name, self.scores, self.published, self.study, self.available = name, scores, published, study, available

    def groups(self, task: str, mixed: int) -> dict[str, list[str]]:
        """Languages of the means; none where the task or the sources are not configured."""
        return self.study.groups(task, mixed) if self._configured(task, mixed) else dict.fromkeys(MEANS, [])

    def cell(
        self, task: str, mixed: int, model: str, definition: str, row: str, column: str, languages: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """A cell, if it is printed or has a value: the printed number stands beside the first definition."""
        metric = f"{TASKS[task]} F1" if self.name in BY_LANGUAGE else "F1"
        first = definition == DEFINITIONS[task][0]
        printed = self.published.get(self.name, row, column) if first else None
        runs, remarks = pd.DataFrame(), []
        if languages and model in self.study.models and self._configured(task, mixed):
            recipe = self.study.recipe(task, mixed, model)
            runs = self.scores.runs(recipe, definition, languages)
            remarks = [
                self.scores.lost(recipe, languages) if first else "",
                self._subset(task, mixed, column, languages) if first else "",
            ]
        numbers = cells.cell(runs)
        if printed is None and numbers["here"] is None:
            return
        value = self.published.value(self.name, row, column) if first else None
        note = printed.note if printed else ""
        yield cells.line(row, column, metric, definition, numbers, value, [*remarks, note])

    def difference(
        self, task: str, mixed: int, after: str, before: str, prefix: str, column: str, languages: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """A cell of a difference in points, under the first definition; none where either has no value."""
        if not languages or not self._configured(task, mixed):
            return
        definition = DEFINITIONS[task][0]
        one, other = (self.scores.runs(self.study.recipe(task, mixed, model), definition, languages) for model in (before, after))
        numbers = cells.difference(one, other)
        if numbers["here"] is None:
            return
        ends = [self.published.value(self.name, f"{prefix}{row_name(model)}", column) for model in (after, before)]
        value = round(ends[0] - ends[1], 2) if ends[0] is not None and ends[1] is not None else None
        remarks = ["the published value is the difference of two printed ones, of one run each" if value is not None else ""]
        remarks.append(CONTROL if (after, before) == (LDAR, BASELINE) else "")
        row = f"{prefix}{row_name(after)} - {row_name(before)}"
        yield cells.line(row, column, "points", definition, numbers, value, remarks)

    def _configured(self, task: str, mixed: int) -> bool:
        return task in self.study.tasks and mixed < len(self.study.sources)

    def _subset(self, task: str, mixed: int, column: str, languages: Sequence[str]) -> str:
        """How many of the printed languages a mean is over, where it is not over all."""
        if column != AVERAGE and self.name in BY_LANGUAGE:
            return ""
        table = next(name for name, place in BY_LANGUAGE.items() if place == (task, mixed))
        printed = set(self.published.table[self.published.table["item"] == table]["column"]) - {AVERAGE}
        printed = printed & set(self.study.sources[mixed]) if column.endswith("Train") else printed
        printed = printed - set(self.study.sources[mixed]) if column.endswith("Zero-S.") else printed
        return "" if printed == set(languages) else f"mean of {len(languages)} languages, {len(printed)} in the paper"
