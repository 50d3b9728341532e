"""Functions of the papers' claims.py on planted numbers."""

import numpy as np
import pandas as pd
import pytest
from crosslens.numerics.estimates import correlation, difference_of_correlations
from crosslens.papers.liang2021 import claims as liang2021
from crosslens.papers.muller2021 import claims as muller2021

FAMILIES = {"de": "Indo-European", "fr": "Indo-European", "tr": "Turkic", "zh": "Sino-Tibetan"}


@pytest.mark.parametrize(
    ("difference", "expected"),
    [([3, 1, -1, 2], 15), ([1, 2, 3, 4], 40), ([-1, 2, 3, 4], 5), ([2, 0, 1, 1], 10), ([4, 4, 1, -3], 25)],
)
def test_curves_meet_where_the_line_between_two_points_crosses_zero(difference, expected):
    assert liang2021._meeting_point(np.array([5, 10, 20, 40]), np.array(difference, float)) == pytest.approx(expected)


def test_the_correlations_of_two_variables_with_a_third_differ_as_simulations_do():
    """The standard deviation of the difference of Fisher's z over draws is the error that is stated of one."""
    generator = np.random.default_rng(0)
    covariance = np.array([[1, 0.7, 0.5], [0.7, 1, 0.6], [0.5, 0.6, 1]])
    draws = generator.multivariate_normal(np.zeros(3), covariance, (2000, 40))
    estimates = [difference_of_correlations(*draw.T) for draw in draws]
    values, errors = (np.array([getattr(estimate, name) for estimate in estimates]) for name in ("value", "error"))
    assert values.mean() == pytest.approx(np.arctanh(0.7) - np.arctanh(0.5), abs=0.02)
    assert errors.mean() == pytest.approx(values.std(), rel=0.05)
    y, first, second = draws[0].T
    z = [np.arctanh(correlation(y, x, ranks=True).value) for x in (first, second)]
    assert difference_of_correlations(y, first, second, ranks=True).value == pytest.approx(z[0] - z[1])
    for variables in ((y[:3], first[:3], second[:3]), (y, first, 0 * second)):
        assert np.isnan(difference_of_correlations(*variables).error)


def curves(function, seeds=3, column="x", at=(1, 2, 4, 8, 16, 32), **columns):
    """Records by seed and another column: function(x, seed)."""
    rows = [{"seed": seed, column: x, "value": function(x, seed), **columns} for seed in range(seeds) for x in at]
    return pd.DataFrame(rows)


def by_seed(values):
    """Values of a single unit by seed."""
    (row,) = values.to_numpy().tolist()
    return row


def test_a_planted_meeting_is_found_in_each_seed():
    """A curve that falls below a level at x = 20, 21 and 22 for three seeds, of 40 languages."""
    curve, level = curves(lambda x, seed: 50 + (20 + seed - x)), curves(lambda x, seed: 50.0, at=(4,))
    for reference in (level, curves(lambda x, seed: 50.0)):
        assert by_seed(liang2021.meeting([curve, reference], languages=40)) == pytest.approx([20 / 40, 21 / 40, 22 / 40])
    nearer = curves(lambda x, seed: 50 + (10 - x))
    apart = liang2021.meetings_apart([curve, level, nearer, level], languages=40)
    assert by_seed(apart) == pytest.approx([10 / 40, 11 / 40, 12 / 40])


def test_groups_end_where_their_mean_does():
    def windows(end, item):
        return curves(lambda x, seed: 50 + end + seed / 10 - x, item=item, at=range(2, 9))

    related = pd.concat([windows(4, "a"), windows(6, "b")])
    beyond = pd.concat([curves(lambda x, seed: 50.0, at=(2,), item=item) for item in "ab"])
    random = [windows(7, "random"), curves(lambda x, seed: 50.0, at=(2,), item="random")]
    assert by_seed(liang2021.ends_of_groups([related, beyond, *random])) == pytest.approx([5 - 7] * 3)


def test_the_best_x_is_that_of_the_other_seeds():
    """A curve with its top at 8; one seed has an outlier at 2, which must not count as its fall."""
    curve = curves(lambda x, seed: 90 - abs(x - 8) + (10 if (x, seed) == (2, 0) else 0), seeds=4)
    assert by_seed(liang2021.fall_from_best([curve], end=16)) == pytest.approx([8] * 4)
    assert by_seed(liang2021.best_by_languages([curve], languages=40)) == pytest.approx([2 / 40, 8 / 40, 8 / 40, 8 / 40])


def test_a_flat_curve_does_not_rise_at_its_end():
    noise = np.random.default_rng(0).normal(0, 1, (200, 13))
    flat = curves(lambda layer, seed: 70 + noise[seed, layer], seeds=200, column="layer", at=range(1, 13))
    rises = by_seed(liang2021.rise_at_end([flat]))
    assert abs(np.mean(rises)) < 3 * np.std(rises) / np.sqrt(200)
    rising = curves(lambda layer, seed: 70 - layer + (9 + seed / 100 if layer == 12 else 0), column="layer", at=range(1, 13))
    assert by_seed(liang2021.rise_at_end([rising])) == pytest.approx([8, 8.01, 8.02])
    assert by_seed(liang2021.rise_at_end([rising, rising])) == pytest.approx([0] * 3)


def test_directions_for_a_share_of_the_best():
    curve = curves(lambda x, seed: min(60 + 5 * x + seed / 10, 100))
    crossings = [4 + 4 * (95 - low) / (100 - low) for low in (80.0, 80.1, 80.2)]  # between x = 4 and 8, where the best is
    assert by_seed(liang2021.needed([curve], share=0.95)) == pytest.approx(crossings)


def test_curves_are_correlated_by_seed():
    first, second = curves(lambda x, seed: x), curves(lambda x, seed: (1 - 2 * (seed == 2)) * x)
    assert by_seed(liang2021.correlation_of_curves([first, second], "x")) == pytest.approx([1, 1, -1])


def test_a_straight_loss_is_straight():
    def heads(loss, random):
        rows = [
            {"item": f"task without{x}{'_random' * random}", "language": language, "seed": seed, "value": 80 - loss(x) - seed}
            for x in (0, 100, 200, 300, 400) for language in ("de", "tr", "all") for seed in range(2)
        ]  # fmt: skip
        return pd.DataFrame(rows)

    scores = pd.concat([heads(lambda x: 0 if x < 100 else x / 10, False), heads(lambda x: 40 * (x > 200), True)])
    assert by_seed(liang2021.straightness([scores], start=100)) == pytest.approx([100, 100])
    assert by_seed(liang2021.straightness([scores], start=100, random=True)) == pytest.approx([80, 80])


def test_printed_means_are_compared_with_printed_languages():
    def printed(rows):
        return pd.DataFrame(rows, columns=["row", "column", "value"])

    groups = {"Single-Src.": (["en"], ["de"]), "Multi-Src.": (["en", "de", "zh"], ["fr"])}
    tables, means = [], []
    for task in ("PoS", "NER"):
        for source, (trained, others) in groups.items():
            scores = {language: 10.0 * number for number, language in enumerate([*trained, *others])}
            tables.append(printed([("mBERT", language, value) for language, value in [*scores.items(), ("avg", -1.0)]]))
            for group, languages in (("Train", trained), ("Zero-S.", others), ("All", [*trained, *others])):
                mean = np.mean([scores[language] for language in languages])
                means.append((f"{source} mBERT", f"{task} {group}", mean + 0.3 * (task == "NER")))
    parts = liang2021.means_of_print([printed(means), *tables])
    assert len(parts) == 12
    for name, (estimate, _) in parts.items():
        assert estimate.value == pytest.approx(0.3 if "NER" in name else 0) and estimate.error == 0


def scores(recipe, values, seeds=(0, 1), task="parsing", error=1.0):
    """Records of a training run by language: values, of which each seed adds a tenth."""
    rows = [
        {"recipe": recipe, "task": task, "language": language, "seed": seed, "value": value + seed / 10, "error": error}
        for language, value in values.items() for seed in seeds
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_losses_of_the_source_of_targets_and_their_difference():
    before = {"en": 90.0, "de": 80.0, "fr": 70.0, "tr": 60.0, "zh": 50.0, "all": 0.0}
    after = {"en": 89.0, "de": 70.0, "fr": 50.0, "tr": 20.0, "zh": 40.0, "all": 0.0}
    numbers = [pd.concat([scores("muller2021/parsing/en/ref", before), scores("muller2021/parsing/en/init1-2", after)])]
    place = "parsing from English, layers 1-2"
    losses = {of: muller2021.losses(numbers, [1, "1-2"], of) for of in ("source", "targets", "difference")}
    assert all([*parts] == [place] for parts in losses.values())
    source, targets, difference = (parts[place] for parts in losses.values())
    assert source.to_numpy().tolist() == [[pytest.approx(-1)] * 2]
    assert targets[0].to_dict() == pytest.approx({"de": -10, "fr": -20, "tr": -40, "zh": -10})
    assert (difference - targets).to_numpy() == pytest.approx(1)
    assert targets.attrs["recipes"] == ["muller2021/parsing/en/init1-2", "muller2021/parsing/en/ref"]
    by_family = muller2021.losses(numbers, ["1-2"], "targets", by_family=True)
    assert {name.rpartition(", ")[2]: [*rows.index] for name, rows in by_family.items()} == {
        "Indo-European": ["de", "fr"], "Turkic": ["tr"], "Sino-Tibetan": ["zh"]}  # fmt: skip
    assert muller2021.losses(numbers, ["1-2"], "targets", sources=["ru"]) == {}
    assert not muller2021.losses(numbers, ["1-2"], "targets", before="1-2")["parsing from English"].to_numpy().any()
    numbers = [pd.concat([scores(f"muller2021/parsing/en/{name}", before) for name in ("ref", "init10", "init1")])]
    for place, rows in muller2021.losses(numbers, [10, 1], "targets").items():  # the name of one begins with that of the other
        assert rows.attrs["recipes"][0] == f"muller2021/parsing/en/init{place.rpartition(' ')[2]}"


def similarity(function, task=None, languages=(*FAMILIES, "fi", "ja", "ar", "ko"), recipe="r"):
    return pd.DataFrame(
        [{"recipe": recipe, "task": task, "language": language, "layer": layer, "seed": 0, "value": function(number, layer)}
         for number, language in enumerate(languages) for layer in range(13)]
    )  # fmt: skip


def test_peaks_and_trends_by_language():
    rows = similarity(lambda number, layer: -abs(layer - (5 + (number == 2))), languages=FAMILIES)
    assert muller2021.peaks([rows])[0].to_dict() == {"de": 5, "fr": 5, "tr": 6, "zh": 5}
    falling = similarity(lambda number, layer: -layer if number else layer, languages=FAMILIES)
    trend = muller2021.same_trend([falling, similarity(lambda number, layer: layer**2, languages=FAMILIES)])
    assert trend[0].to_dict() == pytest.approx({"de": 1, "fr": -1, "tr": -1, "zh": -1})


def test_the_layer_whose_similarity_goes_with_scores():
    generator = np.random.default_rng(0)
    noise = generator.normal(0, 1, (8, 13))

    def planted(number, layer):
        return number + (0.1 if layer == 6 else 4.0) * noise[number, layer]

    rows = similarity(planted)
    of_language = scores("r", {language: float(number) for number, language in enumerate(rows["language"].unique())}, task="pos")
    estimate, n = muller2021.correlation_beyond_others([of_language, rows], layer=6)
    assert n == 8 and estimate.value > 0 and estimate.p(0) < 0.05
    estimate, _ = muller2021.correlation_beyond_others([of_language, rows], layer=3)
    assert estimate.value < 0


def test_spreads_over_layers_by_task():
    """Correlations that are the same at all layers have no spread; those that change sign have one."""
    steady = similarity(lambda number, layer: number + layer)
    changing = similarity(lambda number, layer: number * (1 if layer % 2 else -1))
    levels = {language: float(number) for number, language in enumerate(steady["language"].unique())}
    of_task = {task: scores("r", levels, task=task) for task in ("parsing", "pos", "ner")}
    numbers = [of_task["parsing"], steady, of_task["pos"], steady, of_task["ner"], changing, steady]
    estimate, n = muller2021.spread_over_layers(numbers)
    spread = np.std([1] * 6 + [-1] * 7)
    assert (n, estimate.value) == (3, pytest.approx(spread / 3))
    estimate, _ = muller2021.spread_over_layers(numbers, task="ner")
    assert estimate.value == pytest.approx(spread) and np.isnan(estimate.error)


def test_losses_of_similarity_and_score_go_together():
    languages = {language: 50.0 for language in (*FAMILIES, "fi", "ja", "ar", "ko")}
    lower = {language: 50.0 - 2 * number for number, language in enumerate(languages)}
    names = [f"muller2021/pos/en/{name}" for name in ("ref", "init1-2")]
    before, after = languages | {"en": 90.0}, lower | {"en": 89.0}
    of_score = pd.concat([scores(names[0], before, task="pos"), scores(names[1], after, task="pos")])
    similarities = [similarity(lambda number, layer, by=by: 80.0 - by * number, "pos", recipe=names[by]) for by in (0, 1)]
    of_similarity = pd.concat(similarities)
    pairs = muller2021.losses_of_both([of_score, of_similarity], before="ref", after="1-2")
    assert len(pairs) == 8 and pairs["x"].to_numpy() == pytest.approx(2 * pairs["y"].to_numpy())
    assert muller2021.losses_of_both([of_score, of_similarity], before="ref", after="3-4") == {}


def test_counts_of_print():
    rows = pd.DataFrame({"row": ["EN->GERMAN", "EN->FRENCH", "RU->GERMAN", "EN->X (MEAN)"]})
    assert muller2021.languages_of_rows([rows, pd.DataFrame({"value": [3.0]})])[0].value == -1
    assert muller2021.outside([pd.DataFrame({"value": [5e-5, 3.5e-5, 1e-5]})], grid=[1e-5, 5e-5])[0].value == 1
