"""wu2019: scores of the recipes by language, printed scores, and remarks on means."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from crosslens.numerics.definitions import ACROSS_WINDOWS, CUT_TEXTS, CUT_WORDS
from crosslens.papers.wu2019.names import METRICS, TABLES
from crosslens.reports import cells
from crosslens.reports.cells import Published

ZERO_SHOT = "Zero-shot cross-lingual transfer | mBERT"
"""Row of zero-shot transfer in tables 2 to 5."""
LOST = {
    CUT_TEXTS: "{:,} of {:,} texts truncated",
    CUT_WORDS: "{:,} of {:,} words cut away, not scored",
    ACROSS_WINDOWS: "{:,} of {:,} entities cross the edge of a window",
}


class Scores:
    """Scores on test sets, and means over languages."""

    def __init__(self, records: pd.DataFrame) -> None:
        tests = records[(records["split"] == "test") & (records["language"] != "all") & records["value"].notna()]
        self._scored, self._lost = (
            {
                key: part.set_index("language")
                for key, part in tests[tests["measure"] == measure].groupby(["recipe", "definition"])
            }
            for measure in ("score", "cut")
        )

    def cell(self, recipes: Mapping[str, str], definition: str) -> tuple[dict[str, Any], list[str]]:
        """Numbers of a cell (a score or a mean over languages, see `runs`), and the languages that have a score."""
        runs, scored = self.runs(recipes, definition)
        return cells.cell(runs), scored

    def runs(self, recipes: Mapping[str, str], definition: str) -> tuple[pd.DataFrame, list[str]]:
        """Scores by seed, and the languages that have a score.

        For one language, these are its records; for several, means over the languages that have a score. A seed that lacks any
        of these languages is omitted.

        recipes: language -> recipe.
        """
        parts = {language: self._of(recipe, definition, language, self._scored) for language, recipe in recipes.items()}
        parts = {language: part for language, part in parts.items() if len(part)}
        if len(recipes) == 1 or not parts:
            return next(iter(parts.values()), pd.DataFrame()), list(parts)
        return cells.mean_by_seed(pd.concat(parts.values()), len(parts)), list(parts)

    def lost(self, recipes: Mapping[str, str]) -> list[str]:
        """Remarks on how many texts and words were cut and how many entities cross the edge of a window, if any."""
        remarks = []
        for definition, text in LOST.items():
            # All seeds have the same shares, so one is enough.
            shares = [self._of(recipe, definition, code, self._lost).iloc[:1] for code, recipe in recipes.items()]
            shares = [share for share in shares if len(share)]
            remarks.append(cells.count_remark(pd.concat(shares), text) if shares else "")
        return list(filter(None, remarks))

    @staticmethod
    def _of(recipe: str, definition: str, language: str, records: Mapping[Any, pd.DataFrame]) -> pd.DataFrame:
        by_language = records.get((recipe, definition))
        if by_language is None or language not in by_language.index:
            return pd.DataFrame()
        return by_language.loc[[language], ["seed", "value", "n", "low", "high"]].reset_index(drop=True)


def printed_scores(published: Published, task: str) -> dict[str, dict[str, float]]:
    """Metric -> language -> mBERT's printed zero-shot score; parsing has two metrics, LAS and UAS."""
    rows_of_table = cells.where(published.table, item=TABLES[task])
    if task != "parsing":
        rows = cells.where(rows_of_table, row=ZERO_SHOT)
        return {METRICS[task]: _by_language(rows["column"], rows["value"])}
    rows = cells.where(rows_of_table, column="mBERT(Z)")
    of_metric = {metric: cells.where(rows, metric=metric) for metric in ("LAS", "UAS")}
    return {
        metric: _by_language(rows_of_metric["row"].str.removesuffix("*"), rows_of_metric["value"])
        for metric, rows_of_metric in of_metric.items()
    }


def _by_language(names: pd.Series, values: pd.Series) -> dict[str, float]:
    scores = zip(names, pd.to_numeric(values), strict=True)
    return {language: float(value) for language, value in scores if len(language) < 4}  # drops AVER and other means


def subset(scored: Collection[str], printed: Collection[str], scope: str = "in the paper") -> str:
    """Remark on the number of languages in a mean if it lacks some of those printed or configured; otherwise ""."""
    missing = [code for code in printed if code not in scored]
    return f"mean of {len(scored)} languages, {len(printed)} {scope}" if missing else ""


def uneven(published: Published, item: str, places: Sequence[tuple[str, str]], metric: str, value: float | None) -> str:
    """Remark if a printed mean is not the mean of the printed cells; half a unit of the last decimal is rounding.

    places: row and column of each printed cell; value: the printed mean, or None.
    """
    values = [published.value(item, row, column, metric) for row, column in places]
    numbers = [number for number in values if number is not None]
    if value is None or not numbers or abs((mean := float(np.mean(numbers))) - value) <= 0.051:
        return ""
    return f"the mean of the {len(numbers)} printed cells is {mean:.2f}"
