"""wu2019: the functions that its claims file names, on planted numbers."""

import numpy as np
import pandas as pd
import pytest
from crosslens.config.base import languages_table
from crosslens.numerics.estimates import Estimate, effective_number
from crosslens.papers.wu2019 import claims
from crosslens.reports.claims.evidence import Missing


def rows(values: dict[str, float | list[float]], **place: str) -> pd.DataFrame:
    """Records by language, one a seed."""
    lines = [(code, seed, value) for code, found in values.items() for seed, value in enumerate(np.atleast_1d(found))]
    return pd.DataFrame(lines, columns=["language", "seed", "value"]).assign(**place)


def test_blocks_are_chosen_on_development_data():
    """Three frozen blocks are best there, though six are on test data; and of the training runs those two count."""
    full = rows({"en": [90, 90], "all": [70, 70], "de": [60, 62], "nl": [50, 52], "zh": [40, 41]}, recipe="full")
    three = rows({"en": [0, 0], "de": [61, 62], "nl": [53, 53], "zh": [44, 46]}, recipe="freeze3")
    six = rows({"de": [80, 80], "nl": [80, 80], "zh": [80, 80]}, recipe="freeze6")
    development = pd.DataFrame({"recipe": ["freeze3", "freeze6"], "value": [91.0, 90.0]})
    gains = claims.gain_with_chosen_layers([full, pd.concat([three, six]), development])
    assert gains.T.to_dict("list") == {"de": [1, 0], "nl": [3, 1], "zh": [4, 5]}
    assert gains.attrs["recipes"] == ["full", "freeze3"]  # the others need not have learned
    with pytest.raises(Missing, match="no test set in another language"):
        claims.gain_with_chosen_layers([full, rows({"en": 90}, recipe="freeze3"), development])


def test_low_scores_make_large_gains_within_a_seed_alone():
    """Where nothing but seeds differs, a correlation of -0.7 is made by the error that scores and gains share."""
    generator, codes = np.random.default_rng(0), sorted(languages_table())
    full, frozen = (rows({code: list(50 + generator.normal(0, 2, 4)) for code in codes}) for _ in range(2))
    one = [part[part["seed"] == 0] for part in (full, frozen)]
    assert claims.correlation_of_gain(one)[0].value == pytest.approx(-np.sqrt(0.5), abs=0.1)
    estimate, n = claims.correlation_of_gain([full, frozen])
    assert abs(estimate.value) < 0.2 and n == len(codes) - 1  # without English
    families = [languages_table()[code]["family"] or code for code in codes if code != "en"]
    assert estimate.error == pytest.approx(1 / np.sqrt(effective_number(families) - 3))


def test_a_gain_that_falls_with_the_score_is_found_in_other_seeds():
    generator, codes = np.random.default_rng(1), sorted(languages_table())
    level = dict(zip(codes, generator.normal(50, 10, len(codes)), strict=True))
    full = rows({code: list(value + generator.normal(0, 1, 3)) for code, value in level.items()})
    frozen = rows({code: list(value - 0.3 * (value - 50) + generator.normal(0, 1, 3)) for code, value in level.items()})
    assert claims.correlation_of_gain([full, frozen])[0].value < -0.85


def test_a_number_and_a_difference_by_language():
    numbers = {"ar": (0.3, 5.0, 1.0), "zh*": (0.2, 9.0, 2.0), "de": (0.1, 3.0, 4.0), "ja*": (0.5, 8.0, 8.5), "ko": (0.4, 7.0, 3),
               "en": (0.0, 0.0, 9.0), "AVER": (9.0, 0.0, 9.0)}  # fmt: skip
    frames = [pd.DataFrame({"row": list(numbers), "value": [of[place] for of in numbers.values()]}) for place in range(3)]
    pairs = claims.difference_of_second(frames)
    assert pairs.T.to_dict("list") == {code.rstrip("*"): [pytest.approx(x), plus - minus]
                                       for code, (x, plus, minus) in numbers.items() if code not in ("en", "AVER")}  # fmt: skip


def test_the_range_over_layers():
    values, errors = [90, 96, 95, 92, 98, 95.0], [3, 4, 9.0] * 2
    layers = pd.DataFrame({"item": ["layer 0", "layer 1", "layer 2"] * 2, "value": values, "error": errors})
    assert claims.range_over_layers([layers]) == (Estimate(6.0, 5.0), 3)


def test_a_share_of_the_indo_european_languages():
    """By their means over tasks."""
    values = {"de": 60, "fr": 75, "ru": 20, "hi": 10, "zh": 60, "en": 60, "token overlap, accuracy": 60}
    frame = pd.DataFrame(values.items(), columns=["row", "value"]).assign(column="one task")
    frame = pd.concat([frame, pd.DataFrame({"row": ["de"], "value": [40], "column": ["another"]})])
    assert claims.share_of_languages([frame], 50, 75) == (Estimate.exact(50.0), 4)
    assert claims.share_of_languages([frame], 51, 75) == (Estimate.exact(25.0), 4)


def test_languages_of_several_tables():
    one = pd.DataFrame({"row": ["Zero-shot | mBERT"] * 3, "column": ["de", "en", "Average"]})
    other = pd.DataFrame({"row": ["zh*", "AVER", "de"], "column": ["mBERT(Z)"] * 3})
    assert claims.number_of_languages([one, other]) == (Estimate.exact(3.0), 3)
