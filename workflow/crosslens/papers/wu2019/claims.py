"""wu2019: functions for effects in claims.yaml that are not simple sums of selected numbers (see effects.Functions)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from crosslens.config.base import families_of, language_code, languages_table
from crosslens.numerics.estimates import Correlation, Estimate, correlation
from crosslens.reports.claims.effects import by_seed, units
from crosslens.reports.claims.evidence import Missing

SOURCE = "en"  # training language, which is not a target of transfer


def gain_with_chosen_layers(numbers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Gain from freezing layers, by target language and seed, with the number of layers that is best on development data.

    numbers: test scores of full fine-tuning; test scores for each number of frozen layers; their scores on development data.
    Raises Missing if no other language has a test set.
    """
    full, frozen, development = numbers
    best = development.groupby("recipe")["value"].mean().idxmax()
    gains = (_by_language(frozen[frozen["recipe"] == best]) - _by_language(full)).dropna(how="all").dropna(axis=1)
    if gains.empty:
        raise Missing("no test set in another language")
    gains.attrs["recipes"] = [full["recipe"].iloc[0], best]
    return gains


def correlation_of_gain(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Correlation, over languages, of the scores of full fine-tuning with the gains from freezing layers.

    A gain contains the error of the score, which by itself makes the two correlate. With several seeds, scores are therefore
    taken from one half of the seeds and gains from the other; the result is the mean over both assignments.

    numbers: test scores of full fine-tuning; test scores with frozen layers.
    """
    full, frozen = (_by_language(rows) for rows in numbers)
    seeds = [seed for seed in full.columns if seed in frozen.columns]
    languages = full.index.intersection(frozen.index)
    halves = [(seeds[::2], seeds[1::2]), (seeds[1::2], seeds[::2])] if len(seeds) > 1 else [(seeds, seeds)]
    estimates = []
    for score_seeds, gain_seeds in halves:
        gain = (frozen.loc[languages, gain_seeds] - full.loc[languages, gain_seeds]).mean(axis=1)
        scores = full.loc[languages, score_seeds].mean(axis=1)
        estimates.append(correlation(scores.to_numpy(), gain.to_numpy(), families=families_of(languages)))
    mean = float(np.mean([estimate.value for estimate in estimates]))
    return Correlation(mean, estimates[0].error), len(languages)


def difference_of_second(numbers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The first number as x, and the second minus the third as y, by language.

    numbers: the first, second and third number, each without seeds.
    """
    x, plus, minus = (_by_language(rows)[0] for rows in numbers)
    return pd.DataFrame({"x": x, "y": plus - minus}).dropna()


def range_over_layers(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Difference between the largest and smallest accuracy of classifiers on single layers, assuming independent errors.

    numbers: accuracies by layer.
    """
    (rows,) = numbers
    by_layer = rows.groupby("item")[["value", "error"]].mean()
    ends = by_layer.loc[[by_layer["value"].idxmax(), by_layer["value"].idxmin()]]
    return Estimate(float(np.ptp(ends["value"])), float(np.hypot(*ends["error"]))), len(by_layer)


def share_of_languages(numbers: Sequence[pd.DataFrame], low: float, high: float) -> tuple[Estimate, int]:
    """Percentage of Indo-European languages with a number, averaged over tasks, between `low` and `high`, both included."""
    (rows,) = numbers
    values = _by_language(rows)[0]
    values = values[[languages_table()[code]["family"] == "Indo-European" for code in values.index]]
    return Estimate.exact(100 * float(values.between(low, high).mean())), len(values)


def number_of_languages(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Number of languages that occur in any of the selections, as rows or columns."""
    codes = {code for rows in numbers for column in ("row", "column") for code in rows[column].map(language_code).dropna()}
    return Estimate.exact(float(len(codes))), len(codes)


def _by_language(rows: pd.DataFrame) -> pd.DataFrame:
    """Values by target language and seed, (n_languages, n_seeds); numbers without seeds have one column, 0."""
    return by_seed(rows, units(rows, "language")).drop(index=SOURCE, errors="ignore")
