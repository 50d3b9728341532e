"""wu2019: numbers of claims.yaml that no difference of selections says: an estimate each, and of how many languages it is."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from crosslens.config.base import languages_table
from crosslens.numerics.estimates import Correlation, Estimate, correlation, over_languages
from crosslens.papers.wu2019.layout import TASKS
from crosslens.reports.claims.evidence import Missing

SOURCE = "en"  # language of training, of which transfer is none


def gain_with_chosen_blocks(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """What frozen blocks change in other languages, with that number of blocks which is best on development data.

    numbers: test scores of full fine-tuning, those with so many frozen blocks, and of these the scores on development data.
    """
    full, frozen, development = numbers
    chosen = development.groupby("recipe")["value"].mean().idxmax()
    gains = (_by_language(frozen[frozen["recipe"] == chosen]) - _by_language(full)).dropna(how="all").dropna(axis=1)
    if gains.empty:
        raise Missing("no test set in another language")
    families = [languages_table()[code]["family"] or code for code in gains.index]
    return over_languages(gains.to_numpy(float), families), len(gains)


def correlation_of_gain(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Correlation over languages of the scores of full fine-tuning with what frozen blocks add to them.

    numbers: test scores of both. Of several seeds, scores are of one half and gains of the other, in turn; else scores whose
    errors are part of the gains correlate with these by themselves.
    """
    full, frozen = (_by_language(rows) for rows in numbers)
    seeds = [seed for seed in full.columns if seed in frozen.columns]
    languages = full.index.intersection(frozen.index)
    halves = [(seeds[::2], seeds[1::2]), (seeds[1::2], seeds[::2])] if len(seeds) > 1 else [(seeds, seeds)]
    found = []
    for of_scores, of_gains in halves:
        gain = (frozen.loc[languages, of_gains] - full.loc[languages, of_gains]).mean(axis=1)
        found.append(correlation(full.loc[languages, of_scores].mean(axis=1).to_numpy(), gain.to_numpy()))
    mean = float(np.mean([estimate.value for estimate in found]))
    return Correlation(mean, found[0].error), len(languages)


def correlation_of_difference(numbers: Sequence[pd.DataFrame], ranks: bool) -> tuple[Estimate, int]:
    """Correlation over languages of a number with the difference of two others: the second less the third."""
    x, plus, minus = (_by_language(rows)[0] for rows in numbers)
    both = pd.DataFrame({"x": x, "difference": plus - minus}).dropna()
    return correlation(both["x"].to_numpy(), both["difference"].to_numpy(), ranks=ranks), len(both)


def range_over_layers(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """The largest of the accuracies of the layers' classifiers less the smallest; their errors are taken to be independent."""
    (rows,) = numbers
    by_layer = rows.groupby("item")[["value", "error"]].mean()
    ends = by_layer.loc[[by_layer["value"].idxmax(), by_layer["value"].idxmin()]]
    return Estimate(float(np.ptp(ends["value"])), float(np.hypot(*ends["error"]))), len(by_layer)


def share_of_languages(numbers: Sequence[pd.DataFrame], low: float, high: float) -> dict[str, tuple[Estimate, int]]:
    """Percentage of the Indo-European languages whose number lies between two others, by task."""
    (rows,) = numbers
    shares = {}
    for task in (task for task in TASKS.values() if task in set(rows["column"])):
        values = _by_language(rows[rows["column"] == task])[0]
        values = values[[languages_table()[code]["family"] == "Indo-European" for code in values.index]]
        if len(values):
            shares[task] = Estimate.exact(100 * float(values.between(low, high).mean())), len(values)
    return shares


def number_of_languages(numbers: Sequence[pd.DataFrame]) -> tuple[Estimate, int]:
    """Number of the languages that any of the tables has."""
    codes = {code for rows in numbers for column in ("row", "column") for code in rows[column].map(_code).dropna()}
    return Estimate.exact(float(len(codes))), len(codes)


def _by_language(rows: pd.DataFrame) -> pd.DataFrame:
    """Values (languages but the source, seeds); of what has no seeds one column, 0."""
    column = next(name for name in ("language", "row", "column") if name in rows and rows[name].map(_code).notna().any())
    languages = rows[column].map(_code)
    seeds = rows["seed"] if "seed" in rows else pd.Series(0, rows.index)
    values = rows["value"].groupby([languages, seeds]).mean().unstack()
    return values.drop(index=SOURCE, errors="ignore")


def _code(name: object) -> str | None:
    """Code of a language, which tables may have with the mark of a note (zh*)."""
    code = str(name).rstrip("*")
    return code if code in languages_table() else None
