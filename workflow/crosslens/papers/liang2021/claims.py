"""liang2021: numbers of claims.yaml that no difference of selections says: an estimate each, and of how many units it is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from crosslens.config.heads import TASK
from crosslens.numerics.curves import meeting as meeting_point
from crosslens.numerics.estimates import Estimate, over_runs
from crosslens.papers.liang2021.layout import BY_LANGUAGE, MEANS, SOURCES, TASKS, part_name

SOURCE_LANGUAGES = (("en",), ("en", "de", "zh"))  # of the paper
AVERAGE = "avg"
MOST_REMOVED = 1000  # directions; more than any encoder here has

Result = tuple[Estimate, int]


def fall_from_best(numbers: Sequence[pd.DataFrame], end: int) -> Result:
    """Scores at the best x less those at x = `end`. numbers: scores by x and seed; the best x is that of the other seeds."""
    curves: Any = _by_seed(numbers[0], "x")  # Any: mypy takes minutes over differences of pandas-stubs' scalars
    curves = curves[[x for x in curves if x <= end]]
    return _over_seeds([curves.loc[seed, others.idxmax()] - curves.loc[seed, end] for seed, others in _of_others(curves)])


def best_by_languages(numbers: Sequence[pd.DataFrame], languages: int) -> Result:
    """The best x by the number of languages. numbers: scores by x and seed."""
    return _over_seeds(_by_seed(numbers[0], "x").idxmax(axis=1) / languages)


def meeting(numbers: Sequence[pd.DataFrame], languages: int) -> Result:
    """The x at which a curve is no longer above another, by the number of languages. numbers: both by seed, the second by x too,
    or of a single one.
    """  # fmt: skip
    return _over_seeds(_meetings(*numbers) / languages)


def meetings_apart(numbers: Sequence[pd.DataFrame], languages: int) -> Result:
    """How much farther one curve is above its other one than a second curve is. numbers: those of `meeting`, twice."""
    return _over_seeds((_meetings(*numbers[:2]) - _meetings(*numbers[2:])) / languages)


def ends_of_groups(numbers: Sequence[pd.DataFrame]) -> Result:
    """How much farther windows of related languages are above those beyond the rank than windows of random languages are.

    numbers: both windows of related groups, and of random languages. The groups' mean is taken.
    """
    related, beyond, random, beyond_random = numbers
    of_groups = [_meetings(rows, beyond[beyond["item"] == group]) for group, rows in related.groupby("item")]
    return _over_seeds(pd.concat(of_groups, axis=1).mean(axis=1) - _meetings(random, beyond_random))


def rise_at_end(numbers: Sequence[pd.DataFrame]) -> Result:
    """Scores at the last layer less those at the lowest one, which is that of the other seeds.

    numbers: scores by layer and seed; of a second table the same is subtracted.
    """
    rises = []
    for rows in numbers:
        curves: Any = _by_seed(rows, "layer")  # Any: as above
        last = max(curves.columns)
        rises.append(pd.Series({seed: curves.loc[seed, last] - curves.loc[seed, others.drop(last).idxmin()]
                                for seed, others in _of_others(curves)}))  # fmt: skip
    return _over_seeds(rises[0] - rises[1] if len(rises) > 1 else rises[0])


def needed(numbers: Sequence[pd.DataFrame], share: float) -> Result:
    """How many directions have a share of the best score. numbers: scores by x and seed; linear between two measured x."""
    curves = _by_seed(numbers[0], "x")
    x = curves.columns.to_numpy(float)
    return _over_seeds([meeting_point(x, share * curve.max() - curve) for curve in curves.to_numpy(float)])


def straightness(numbers: Sequence[pd.DataFrame], start: int, random: bool = False) -> Result:
    """Percentage of the variance of scores, mean over languages, that a line over the number of removed directions explains.

    numbers: scores of heads by language and seed; start: fewest removed directions; random: whether these are random ones.
    """
    (rows,) = numbers
    removed = {f"{TASK} {part_name(count, random)}": count for count in range(start, MOST_REMOVED)}
    rows = rows[rows["item"].isin(removed) & (rows["language"] != "all")]
    curves = rows.assign(x=rows["item"].map(removed)).groupby(["seed", "x"])["value"].mean().unstack()
    x = curves.columns.to_numpy(float)
    return _over_seeds([100 * float(np.corrcoef(x, curve)[0, 1]) ** 2 for curve in curves.to_numpy(float)])


def means_of_print(numbers: Sequence[pd.DataFrame]) -> dict[str, Result]:
    """Printed means of languages less the means of the printed languages, by cell. numbers: tables 1 to 5."""
    means, *tables = numbers
    printed = means.set_index(["row", "column"])["value"]
    parts: dict[str, Result] = {}
    for (task, mixed), table in zip(BY_LANGUAGE.values(), tables, strict=True):
        for model, rows in table[table["column"] != AVERAGE].groupby("row", sort=False):
            trained = rows["column"].isin(SOURCE_LANGUAGES[mixed])
            for group, chosen in zip(MEANS, (rows[trained], rows[~trained], rows), strict=True):
                place = f"{SOURCES[mixed]} {model}", f"{TASKS[task]} {group}"
                parts[", ".join(place)] = Estimate.exact(float(printed[place] - chosen["value"].mean())), len(chosen)
    return parts


def _meetings(curve: pd.DataFrame, other: pd.DataFrame) -> pd.Series:
    """The x at which a curve is no longer above another, by seed."""
    curves, others = _by_seed(curve, "x"), _by_seed(other, "x")
    if others.shape[1] == 1:
        others = pd.DataFrame({x: others.iloc[:, 0] for x in curves})
    shared = curves.columns.intersection(others.columns)
    differences = (curves[shared] - others[shared]).dropna()
    x = shared.to_numpy(float)
    return pd.Series({seed: meeting_point(x, row.to_numpy(float)) for seed, row in differences.iterrows()})


def _by_seed(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Values (seeds, values of a column), ascending."""
    return rows.groupby(["seed", column])["value"].mean().unstack().dropna(axis=1)


def _of_others(curves: pd.DataFrame) -> list[tuple[int, pd.Series]]:
    """Each seed with the mean curve of the other seeds; of a single one with its own."""
    return [(seed, (curves.drop(seed) if len(curves) > 1 else curves).mean()) for seed in curves.index]


def _over_seeds(values: Sequence[float] | pd.Series) -> Result:
    return over_runs(np.array([*values], float)), len(values)
