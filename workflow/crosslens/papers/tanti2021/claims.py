"""tanti2021: numbers of claims.yaml that no difference of selections says: an estimate each, and of how many units it is."""

from collections.abc import Sequence

import pandas as pd

from crosslens.numerics.estimates import Estimate


def share_of_training(numbers: Sequence[pd.DataFrame], share: float) -> tuple[Estimate, int]:
    """Texts for training less their share of all texts. numbers: sizes of the training data, and of what is not for training."""
    train, rest = (float(rows["value"].sum()) for rows in numbers)
    return Estimate.exact(train - share * (train + rest)), 1


def languages_of_sample(numbers: Sequence[pd.DataFrame], labels: int) -> tuple[Estimate, int]:
    """Languages that a sample has room for less the printed ones. numbers: points, most of a label and language, languages."""
    points, most, languages = (float(rows["value"].iloc[0]) for rows in numbers)
    return Estimate.exact(points / (labels * most) - languages), 1
