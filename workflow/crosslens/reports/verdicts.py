"""Verdicts on claims from intervals, where every model that a claim compares has learned something."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from crosslens.numerics.intervals import Interval, families_interval

AGREES, DISAGREES, NOT_DECIDED = "agrees", "disagrees", "not decided"
CHANCE, RANDOM_WEIGHTS = "chance", "random weights"


class Floor(NamedTuple):
    """A level that a model exceeds if it has learned something.

    name: of the level, such as chance; score, level: of the model and of the floor, in percent; low: lower end of the 95 %
    interval of their difference, nan where there is none.
    """

    name: str
    score: float
    level: float
    low: float


class Model(NamedTuple):
    """A model that a claim compares. seeds: number of trainings over which its score is a mean; None, it is not trained here."""

    name: str
    floors: Sequence[Floor]
    seeds: int | None = None


def paired_floor(name: str, scores: pd.Series, levels: pd.Series, families: Sequence[str]) -> Floor:
    """A floor under scores by language, from differences over the languages that have both.

    scores, levels: in percent, by language; families: of each of the scores.
    """
    pairs = pd.DataFrame({"score": scores, "level": levels, "family": pd.Series(families, scores.index)}).dropna()
    if pairs.empty:
        return Floor(name, math.nan, math.nan, math.nan)
    family = pairs.pop("family").to_numpy()
    score, level = (families_interval(pairs[side].to_numpy(float), family).value for side in pairs)
    return Floor(name, score, level, families_interval((pairs["score"] - pairs["level"]).to_numpy(float), family).low)


def floor(name: str, score: Interval, level: Interval) -> Floor:
    """A floor under a score, from the intervals of both in percent, whose estimates are taken to be independent.

    The interval of the difference is recovered from both, which need not be symmetric (Zou and Donner 2008, Construction of
    confidence limits about effect measures: a general approach). For scores on the same texts it is too wide, and decides less
    than it might.
    """
    low = score.value - level.value - math.hypot(score.value - score.low, level.high - level.value)
    return Floor(name, score.value, level.value, low)


def unlearned(model: Model) -> str:
    """The reason why a model counts as one that learned nothing; '' where it is above all its floors.

    It is the first floor that the model is not above.
    """
    for name, score, level, low in model.floors:
        if math.isnan(score) or math.isnan(level):
            return f"{model.name} has no score beside {name}"
        if not low > 0:
            return f"{model.name} is not {'surely ' if score > level else ''}above {name} ({score:.1f} %, {name} {level:.1f} %)"
    return ""


def verdict(sign: int, low: float, high: float, families: int, models: Sequence[Model]) -> str:
    """Verdict on the claim that a number has a sign, from its interval, low to high.

    sign: 1 or -1; families: number of families of languages in the interval. Nothing is decided where a model has learned
    nothing, or where everything rests on one training or one family.
    """
    reasons = [reason for model in models if (reason := unlearned(model))]
    reasons += [f"{model.name} has one seed" for model in models if model.seeds == 1]
    reasons += ["one family of languages"] if families < 2 else []
    if not reasons and (not np.isfinite([low, high]).all() or low <= 0 <= high):
        reasons = ["the interval includes 0"]
    if reasons:
        return f"{NOT_DECIDED}: {', '.join(dict.fromkeys(reasons))}"
    return AGREES if (low > 0) == (sign > 0) else DISAGREES
