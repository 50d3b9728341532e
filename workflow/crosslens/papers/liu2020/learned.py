"""liu2020: the levels that a model must exceed to have learned something, for each model that a claim compares."""

import math
from collections.abc import Callable

import pandas as pd

from crosslens.measures.guesses import BIGRAM, GAIN, MODEL, NAMED
from crosslens.measures.shifts import CONVERT_RATE
from crosslens.numerics.definitions import TRANSFER
from crosslens.numerics.intervals import Interval
from crosslens.papers.liu2020.layout import LAST, THIRD, UNTRAINED, UNTRAINED_MODEL, Study, inference, pretraining
from crosslens.papers.liu2020.retrieval import RANK, last_layer
from crosslens.reports.cells import where
from crosslens.reports.verdicts import CHANCE, RANDOM_WEIGHTS, Floor, Model, floor, paired_floor

RETRIEVED, FROZEN, TUNED = "word retrieval", "XNLI, frozen", "XNLI, fine-tuned"
"""Tasks by which models are compared."""
THE_BIGRAM = "the bigram"
GUESSING = Interval(THIRD, THIRD, THIRD)
"""Accuracy on XNLI without a model, which does not vary."""


def models(records: pd.DataFrame, study: Study) -> Callable[[str, str], Model]:
    """Task and name of a pretrained model -> the model, with the levels that it must exceed in this task and as a language model.

    Everything rests on the pretrainings, of which there may be fewer than trainings on XNLI.
    """

    def floors(task: str, model: str) -> list[Floor]:
        if task == RETRIEVED:
            return _of_words(records, study, model)
        recipe, untrained = (inference(name, features=task == FROZEN) for name in (model, UNTRAINED_MODEL))
        return _of_pairs(records, recipe, untrained)

    def model_of(task: str, model: str) -> Model:
        language_model = [_bigram(records, pretraining(model))] if model in study.berts() else []
        pretrainings = where(records, recipe=pretraining(model))["seed"].nunique()
        return Model(model, floors(task, model) + language_model, pretrainings)

    return model_of


def translator(records: pd.DataFrame, study: Study) -> Model:
    """The model that translates tokens."""
    floors, name = [_bigram(records, study.translator)], str(study.translation["model"])
    if name not in study.models:
        return Model(study.encoder, floors)
    return Model(name, floors, where(records, recipe=study.translator, measure=CONVERT_RATE)["seed"].nunique())


def classifier(records: pd.DataFrame, study: Study) -> Model:
    """The released encoder whose upper half is fine-tuned on XNLI."""
    floors, trainings = _of_pairs(records, LAST, inference(UNTRAINED_MODEL)), where(records, recipe=LAST)["seed"].nunique()
    return Model(f"{study.encoder}, fine-tuned", floors, trainings)


def _of_words(records: pd.DataFrame, study: Study, model: str) -> list[Floor]:
    """Floors of word retrieval, over languages: a random order, and a BERT with random weights, which knows spelling alone."""
    ranked, ordered = last_layer(where(records, definition=RANK)), where(records, definition="chance, mrr")

    def by_language(rows: pd.DataFrame, recipe: str) -> pd.Series:
        scores = where(rows, recipe=recipe)
        mean: pd.Series = 100 * scores[scores["item"].str.startswith(f"{study.source}-")].groupby("language")["value"].mean()
        return mean

    scores = by_language(ranked, pretraining(model))
    levels = {CHANCE: by_language(ordered, pretraining(model)), RANDOM_WEIGHTS: by_language(ranked, UNTRAINED)}
    families = [study.family(language) for language in scores.index]
    return [paired_floor(name, scores, level, families) for name, level in levels.items()]


def _of_pairs(records: pd.DataFrame, recipe: str, untrained: str) -> list[Floor]:
    """Floors of XNLI, from intervals over pairs: guessing, and the same training from random weights."""
    of_others = where(records, definition=TRANSFER, split="test")
    score, level = (_interval(where(of_others, recipe=name)) for name in (recipe, untrained))
    return [floor(CHANCE, score, GUESSING), floor(RANDOM_WEIGHTS, score, level)]


def _interval(scores: pd.DataFrame) -> Interval:
    """The mean over seeds, with the widest of their intervals."""
    if scores.empty:
        return Interval(math.nan, math.nan, math.nan)
    return Interval(100 * scores["value"].mean(), 100 * scores["low"].min(), 100 * scores["high"].max())


def _bigram(records: pd.DataFrame, recipe: str) -> Floor:
    """The floor of a masked language model: how many masked subwords the most frequent one after the one before names."""
    shares = where(records, recipe=recipe, measure=NAMED, language="all")
    score, level = (100 * float(where(shares, definition=name)["value"].mean()) for name in (MODEL, BIGRAM))
    return Floor(THE_BIGRAM, score, level, 100 * float(where(shares, definition=GAIN)["low"].min()))
