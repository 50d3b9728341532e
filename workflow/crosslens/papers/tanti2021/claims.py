"""tanti2021: functions for effects in claims.yaml that are not simple sums of selected numbers (see effects.Functions)."""

from collections.abc import Sequence

import pandas as pd

from crosslens.numerics.estimates import Estimate


def share_of_training(numbers: Sequence[pd.DataFrame], share: float) -> tuple[Estimate, int]:
    """Number of training texts minus a share of all texts.

    numbers: sizes of the training data, and sizes of all other data.
    share: fraction from 0 to 1.
    """
    train, rest = (float(rows["value"].sum()) for rows in numbers)
    return Estimate.exact(train - share * (train + rest)), 1


def languages_of_sample(numbers: Sequence[pd.DataFrame], labels: int) -> tuple[Estimate, int]:
    """Number of languages for which a sample has room minus the number that the paper states.

    numbers: number of points in the sample, largest number of points per label and language, and stated number of languages.
    labels: number of labels.
    """
    points, limit, languages = (float(rows["value"].iloc[0]) for rows in numbers)
    return Estimate.exact(points / (labels * limit) - languages), 1
