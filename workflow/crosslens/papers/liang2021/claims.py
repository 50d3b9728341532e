"""liang2021: functions named in claims.yaml, for effects that are not sums of selected numbers (effects.Functions).

Most return one value for each seed, (1, n_seeds).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from crosslens.config.heads import TASK
from crosslens.numerics.estimates import Estimate
from crosslens.papers.liang2021.names import BY_LANGUAGE, MEANS, SOURCES, TASKS, part_name

SOURCE_LANGUAGES = (("en",), ("en", "de", "zh"))  # training languages: single-source, multi-source
AVERAGE = "avg"
MOST_REMOVED = 1000  # more directions than any encoder here has


def fall_from_best(numbers: Sequence[pd.DataFrame], end: int) -> pd.DataFrame:
    """Drop in score from the best x to x = `end`, by seed; for each seed, the other seeds determine the best x.

    numbers: scores by x and seed, of which those beyond `end` do not count.
    """
    curves: Any = _by_seed(numbers[0], "x")  # Any: mypy takes minutes over differences of pandas-stubs' scalars
    curves = curves[[x for x in curves if x <= end]]
    return _over_seeds([curves.loc[seed, mean.idxmax()] - curves.loc[seed, end] for seed, mean in _means_of_other_seeds(curves)])


def best_by_languages(numbers: Sequence[pd.DataFrame], languages: int) -> pd.DataFrame:
    """Best x divided by the number of languages, by seed.

    numbers: scores by x and seed.
    """
    return _over_seeds(_by_seed(numbers[0], "x").idxmax(axis=1) / languages)


def meeting(numbers: Sequence[pd.DataFrame], languages: int) -> pd.DataFrame:
    """Smallest x at which a curve is no longer above another, divided by the number of languages, by seed.

    numbers: scores of both curves by x and seed; if the second has a single x, its score counts at every x.
    """
    return _over_seeds(_meetings(*numbers) / languages)


def meetings_apart(numbers: Sequence[pd.DataFrame], languages: int) -> pd.DataFrame:
    """Meeting point of one pair of curves minus that of another, divided by the number of languages, by seed.

    numbers: both curves of the first pair, then of the second; see `meeting`.
    """
    return _over_seeds((_meetings(*numbers[:2]) - _meetings(*numbers[2:])) / languages)


def ends_of_groups(numbers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Smallest x at which windows are no longer above those beyond the rank: mean over related groups minus random languages.

    numbers: scores of related languages by group, x and seed, within the rank and beyond it; likewise for random languages.
    """
    related, related_beyond, random, random_beyond = numbers
    ends = [_meetings(rows, related_beyond[related_beyond["item"] == group]) for group, rows in related.groupby("item")]
    return _over_seeds(pd.concat(ends, axis=1).mean(axis=1) - _meetings(random, random_beyond))


def rise_at_end(numbers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Rise in score from the worst earlier layer to the last, by seed; for each seed, the other seeds determine the worst.

    numbers: scores by layer and seed; the rise in a second table, if there is one, is subtracted.
    """
    rises = []
    for rows in numbers:
        curves: Any = _by_seed(rows, "layer")  # Any: mypy takes minutes over differences of pandas-stubs' scalars
        last = max(curves.columns)
        rises.append(pd.Series({seed: curves.loc[seed, last] - curves.loc[seed, mean.drop(last).idxmin()]
                                for seed, mean in _means_of_other_seeds(curves)}))  # fmt: skip
    return _over_seeds(rises[0] - rises[1] if len(rises) > 1 else rises[0])


def needed(numbers: Sequence[pd.DataFrame], share: float) -> pd.DataFrame:
    """Number of directions at which a curve reaches a fraction `share` of its best score, by seed; linear between measured x.

    numbers: scores by x, the number of directions, and seed.
    """
    curves = _by_seed(numbers[0], "x")
    x = curves.columns.to_numpy(float)
    return _over_seeds([_meeting_point(x, share * curve.max() - curve) for curve in curves.to_numpy(float)])


def straightness(numbers: Sequence[pd.DataFrame], start: int, random: bool = False) -> pd.DataFrame:
    """Percentage of the variance of scores explained by a straight line over the number of removed directions, by seed.

    Scores are means over languages.

    numbers: scores of heads by language and seed.
    start: smallest number of removed directions to include.
    random: whether the removed directions are random.
    """
    (rows,) = numbers
    removed = {f"{TASK} {part_name(count, random)}": count for count in range(start, MOST_REMOVED)}
    rows = rows[rows["item"].isin(removed) & (rows["language"] != "all")]
    curves = rows.assign(x=rows["item"].map(removed)).groupby(["seed", "x"])["value"].mean().unstack()
    x = curves.columns.to_numpy(float)
    if len(x) < 3:
        return _over_seeds([np.nan] * len(curves))  # a line fits any two points
    return _over_seeds([100 * float(np.corrcoef(x, curve)[0, 1]) ** 2 for curve in curves.to_numpy(float)])


def correlation_of_curves(numbers: Sequence[pd.DataFrame], column: str) -> pd.DataFrame:
    """Correlation of two curves, by seed.

    numbers: scores of both curves by seed and `column`, such as x.
    """
    first, second = (_by_seed(rows, column) for rows in numbers)
    return _over_seeds(first.corrwith(second[first.columns.intersection(second.columns)], axis=1))


def means_of_print(numbers: Sequence[pd.DataFrame]) -> dict[str, tuple[Estimate, int]]:
    """Printed mean over languages minus the mean of the printed scores of these languages, by cell of table 1.

    numbers: printed cells of tables 1 to 5.
    """
    means, *tables = numbers
    printed = means.set_index(["row", "column"])["value"]
    parts: dict[str, tuple[Estimate, int]] = {}
    for (task, mixed), table in zip(BY_LANGUAGE.values(), tables, strict=True):
        for model, rows in table[table["column"] != AVERAGE].groupby("row", sort=False):
            trained = rows["column"].isin(SOURCE_LANGUAGES[mixed])
            for group, cells in zip(MEANS, (rows[trained], rows[~trained], rows), strict=True):
                place = f"{SOURCES[mixed]} {model}", f"{TASKS[task]} {group}"
                parts[", ".join(place)] = Estimate.exact(float(printed[place] - cells["value"].mean())), len(cells)
    return parts


def _meetings(upper: pd.DataFrame, lower: pd.DataFrame) -> pd.Series:
    """Smallest x at which the curve `upper` is no longer above the curve `lower`, by seed, (n_seeds,)."""
    curves, references = _by_seed(upper, "x"), _by_seed(lower, "x")
    if references.shape[1] == 1:
        references = pd.DataFrame({x: references.iloc[:, 0] for x in curves})
    shared = curves.columns.intersection(references.columns)
    differences = (curves[shared] - references[shared]).dropna()
    x = shared.to_numpy(float)
    return pd.Series({seed: _meeting_point(x, row.to_numpy(float)) for seed, row in differences.iterrows()})


def _meeting_point(x: np.ndarray, difference: np.ndarray) -> float:
    """Smallest x at which a difference is no longer above 0.

    x, difference: (m,), with x ascending. Between two points the difference is interpolated linearly. If it stays above 0, the
    last x is returned as a lower bound; if it is not above 0 at the first x, that is returned.
    """
    under = np.flatnonzero(difference <= 0)
    if not len(under):
        return float(x[-1])
    end = int(under[0])
    if end == 0:
        return float(x[0])
    before, after = difference[end - 1], difference[end]
    return float(x[end - 1] + (x[end] - x[end - 1]) * before / (before - after))


def _by_seed(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Values by seed and `column`, (n_seeds, n_values), both ascending, without those that a seed lacks."""
    return rows.groupby(["seed", column])["value"].mean().unstack().dropna(axis=1)


def _means_of_other_seeds(curves: pd.DataFrame) -> list[tuple[int, pd.Series]]:
    """Each seed with the mean curve of the other seeds; a single seed with its own curve."""
    return [(seed, (curves.drop(seed) if len(curves) > 1 else curves).mean()) for seed in curves.index]


def _over_seeds(values: Sequence[float] | pd.Series) -> pd.DataFrame:
    """One row with a value for each seed, (1, n_seeds)."""
    return pd.DataFrame([[*values]])
