"""Claims: each verdict on planted numbers, and what a claims file may not say."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from crosslens.config.base import languages_table
from crosslens.jobs import records
from crosslens.jobs.checksums import checksummed
from crosslens.jobs.errors import DataError
from crosslens.numerics.estimates import (
    NORMAL,
    Correlation,
    Estimate,
    add_errors,
    correlation,
    effective_number,
    holm,
    holm_adjusted,
    moderated,
    over_families,
    over_runs,
)
from crosslens.reports.claims.claims_file import ClaimsFile, Region, Selection, read_claims_file
from crosslens.reports.claims.decisions import outcome_of
from crosslens.reports.claims.effects import Effects, Part, excess, part_of
from crosslens.reports.claims.evidence import Evidence, Numbers
from crosslens.reports.claims.pages import _counts
from crosslens.reports.claims.verdicts import Decision, decide
from scipy import stats

LANGUAGES = ("de", "fr", "es", "ru", "zh", "ja", "ar", "hi", "tr", "fi", "vi", "th")
CELLS = ("row", "column", "metric", "definition", "here", "low", "high", "sd", "seeds", "n")
TUNED, FROZEN, RANDOM = "p/tuned", "p/frozen", "p/random"
SELECTIONS = {"tuned": {"recipe": TUNED}, "frozen": {"recipe": FROZEN}, "random": {"recipe": RANDOM}}
LEARNED = [{"selections": ["tuned"], "of": {"records": "accuracy", "item": "task"},
            "above": {"chance": 33.3, "random weights": "random"}}]  # fmt: skip


def claim(**fields: Any) -> dict[str, Any]:
    """A claim of scores by seed, unless fields say otherwise."""
    usual = {"says": "Tuning helps.", "where": "1", "claimed": "above 0"}
    usual |= {"effect": {"of": SCORES, "plus": "tuned", "minus": "frozen"}} | fields
    return {key: value for key, value in usual.items() if value is not None}


SCORES = {"records": "accuracy", "item": "scores"}


def rows(recipe: str, item: str, values: Any, language: str | None = None, half: float | None = None) -> list[dict[str, Any]]:
    """Records, one a seed, of shares; half: of their intervals over texts."""
    common = {"recipe": recipe, "item": item, "language": language or "all", "n": 100}
    common |= {"measure": "score", "definition": "accuracy"}
    return [
        common | {"seed": seed, "value": float(value)} | ({"low": value - half, "high": value + half} if half else {})
        for seed, value in enumerate(np.atleast_1d(values))
    ]


def planted(tmp_path: Path, numbers: list[dict[str, Any]], trained: tuple[str, ...] = (TUNED,)) -> Evidence:
    """Records as evidence. trained: recipes that train an encoder."""
    files: dict[str, list[str]] = {}
    for recipe in dict.fromkeys(row["recipe"] for row in numbers):
        path = tmp_path / f"{recipe.replace('/', '-')}.parquet"
        records.write([row for row in numbers if row["recipe"] == recipe], path, {})
        files[recipe] = [str(path)]
    facts = {name: {name: {"encoder": "e", "trained": name in trained, "pretrainings": None}} for name in (TUNED, FROZEN, RANDOM)}
    return Evidence({"tables": {}, "records": {"accuracy": files}, "recipes": facts})


def verdicts(
    tmp_path: Path, numbers: list[dict[str, Any]], *claims: dict[str, Any], trained: tuple[str, ...] = (TUNED,),
    functions: Mapping[str, Any] = {}, **claims_file: Any,
) -> list[Decision]:  # fmt: skip
    """Decisions on claims by records. functions: by name."""
    if not any(row["item"] == "task" for row in numbers):
        numbers = [*numbers, *rows(TUNED, "task", 0.8, half=0.02), *rows(RANDOM, "task", 0.4, half=0.02)]
    entries = ClaimsFile.model_validate(
        {"selections": SELECTIONS, "learned": LEARNED, "claims": {f"c{n}": fields for n, fields in enumerate(claims)}}
        | claims_file
    )
    return list(decide(entries, planted(tmp_path, numbers, trained), functions.get).values())


def scores(difference: float, spread: float = 0.01, seeds: int = 5) -> list[dict[str, Any]]:
    """A frozen encoder at 50 %, and tuned ones that differ from it."""
    noise = spread * np.array([-1, 1, -0.5, 0.5, 0, 0.8, -0.8, 0.3, -0.3, 0.1][:seeds])
    return [*rows(FROZEN, "scores", 0.5, half=0.01), *rows(TUNED, "scores", 0.5 + difference + noise)]


def test_the_finding_of_a_paper_has_its_scores_and_seeds(tmp_path):
    evidence = planted(tmp_path, scores(0.05))
    finding = {"says": "{after} after, {before} before.", "columns": {"before": "frozen", "after": "tuned"}}
    files = [
        ClaimsFile.model_validate({"selections": SELECTIONS, "claims": {}, "finding": finding | {"rows": {"score": row}}})
        for row in (SCORES, SCORES | {"item": "other"})
    ]
    outcome, nothing = (outcome_of(file, evidence) for file in files)
    assert (outcome.says, outcome.seeds) == ("55.0 after, 50.0 before.", 5)
    assert outcome.rows == {"score": ["50.0", "55.0"]} and nothing is None


@pytest.mark.parametrize(
    ("difference", "fields", "verdict"),
    [
        (0.05, {}, "holds"),
        (-0.05, {}, "fails"),
        (0.001, {}, "undecided"),
        (0.05, {"claimed": "below 0"}, "fails"),
        (0.05, {"claimed": "above 3"}, "holds"),
        (0.05, {"claimed": "above 7"}, "fails"),
        (0.05, {"claimed": "above 4.9"}, "undecided"),
        (0.001, {"claimed": "within 3"}, "holds"),
        (0.001, {"claimed": "within 0.5"}, "undecided"),
        (0.05, {"claimed": "within 3"}, "fails"),
    ],
)
def test_an_interval_over_seeds_decides(tmp_path, difference, fields, verdict):
    (decision,) = verdicts(tmp_path, scores(difference), claim(**fields))
    assert decision.verdict == verdict
    assert decision.part.n == 5 and decision.part.seeds == 5
    assert decision.part.estimate.value == pytest.approx(100 * difference)


def test_a_tie_is_undecided(tmp_path):
    (decision,) = verdicts(tmp_path, scores(0.0), claim())
    assert decision.verdict == "undecided" and "covers both sides" in decision.reason
    (text,) = re.findall(r"only effects at least about ([\d.]+) from the limit of their region", decision.reason)
    for times, verdict in ((0.9, "undecided"), (1.1, "holds")):  # an effect as uncertain, nearer or farther
        assert verdicts(tmp_path, scores(times * float(text) / 100), claim())[0].verdict == verdict
    (decision,) = verdicts(tmp_path, [*rows(FROZEN, "scores", 0.5), *rows(TUNED, "scores", [0.5, 0.5, 0.5])], claim())
    assert decision.verdict == "undecided" and "how much it varies is not known" in decision.reason


def test_a_control_with_the_same_effect_fails(tmp_path):
    def control(difference: float) -> list[dict[str, Any]]:
        noise = [0.001, -0.001, 0, 0.0005, -0.0005]
        return [*rows(FROZEN, "shuffled", 0.5), *rows(TUNED, "shuffled", 0.5 + difference + np.array(noise))]

    of = {"of": {"records": "accuracy", "item": "shuffled"}, "plus": "tuned", "minus": "frozen", "says": "labels do not matter"}
    for difference, verdict in ((0.05, "control fails"), (0.2, "control fails"), (-0.05, "holds"), (0.01, "holds")):
        (decision,) = verdicts(tmp_path, [*scores(0.05), *control(difference)], claim(control=of))
        assert decision.verdict == verdict
    (decision,) = verdicts(tmp_path, scores(0.05), claim(control=of))
    assert decision.verdict == "undecided" and decision.reason.startswith("its control is not measured")


def test_an_equality_whose_control_is_as_equal_shows_nothing(tmp_path):
    numbers = [*scores(0.001), *rows(RANDOM, "scores", [0.5, 0.502, 0.499, 0.501, 0.5])]
    control = {"of": SCORES, "plus": "random", "minus": "frozen", "says": "random weights are as near"}
    (decision,) = verdicts(tmp_path, numbers, claim(claimed="within 3", control=control))
    assert decision.verdict == "control fails"


def test_one_seed_decides_nothing_of_a_training_but_all_of_an_untouched_encoder(tmp_path):
    numbers = [*rows(FROZEN, "scores", 0.5, half=0.01), *rows(TUNED, "scores", 0.7, half=0.01)]
    (decision,) = verdicts(tmp_path, numbers, claim())
    assert (decision.verdict, decision.reason) == ("undecided", "p/tuned has one seed")
    assert decision.cause == "one seed"
    assert decision.part.estimate.interval().low == pytest.approx(20 - np.hypot(1, 1), abs=0.1)
    (decision,) = verdicts(tmp_path, numbers, claim(), trained=())
    assert decision.verdict == "holds" and decision.part.unit == "test instances" and decision.part.n == 100


def test_the_single_seed_of_an_untouched_encoder_is_not_that_of_the_training_beside_it(tmp_path):
    selection = Selection("table", ("table1",), {}, (FROZEN, TUNED))
    evidence = planted(tmp_path, rows(TUNED, "scores", [0.5]))
    for trained, seeds in ((3, 3), (1, 1)):
        cells = pd.DataFrame({"column": ["Init.", "Fine-T."], "seeds": [1, trained]})
        assert evidence.seeds_and_recipes([Numbers(selection, cells, (FROZEN, TUNED))])[0] == seeds


@pytest.mark.parametrize(
    ("score", "level", "reason"),
    [
        (0.34, 0.3, "p/tuned is not clearly above chance (34.0 [32.0, 36.0] against 33.3)"),
        (0.5, 0.49, "p/tuned is not clearly above random weights (lead: +1.0 [-1.8, 3.8] points)"),
        (0.3, 0.2, "p/tuned is not above chance (30.0 [28.0, 32.0] against 33.3)"),
        (0.5, 0.4, ""),
    ],
)
def test_a_training_that_did_not_learn_decides_nothing(tmp_path, score, level, reason):
    learned = [*rows(TUNED, "task", score, half=0.02), *rows(RANDOM, "task", level, half=0.02)]
    (decision,) = verdicts(tmp_path, [*scores(0.05), *learned], claim())
    assert (decision.verdict, decision.reason) == ("undecided" if reason else "holds", reason)
    assert decision.cause == ("learning not shown" if reason else "")


def test_a_training_with_the_same_score_with_all_seeds_has_learned(tmp_path):
    learned = [*rows(TUNED, "task", [0.99, 0.99], half=0.02), *rows(RANDOM, "task", 0.4, half=0.02)]
    (decision,) = verdicts(tmp_path, [*scores(0.05), *learned], claim())
    assert (decision.verdict, decision.reason) == ("holds", "")


def test_a_training_without_a_floor_decides_nothing(tmp_path):
    (decision,) = verdicts(tmp_path, scores(0.05), claim(), learned=[])
    assert decision.reason == "no baseline is stated for p/tuned"


def test_what_is_not_there_is_not_measured(tmp_path):
    other = {"effect": {"of": {"records": "accuracy", "item": "other"}, "plus": "tuned"}}
    decision, without = verdicts(tmp_path, scores(0.05), claim(**other), claim(effect=[], claimed=None, note="No data."))
    assert (decision.verdict, decision.reason) == ("not measured", "accuracy: no number with item other")
    assert (without.verdict, without.reason) == ("not measured", "No data.")


def test_what_a_scale_lacks_may_be_left_out(tmp_path):
    there = {"name": "there", "of": SCORES, "plus": "tuned", "minus": "frozen"}
    lacking = {"name": "elsewhere", "of": SCORES, "plus": {"recipe": "p/lacking"}, "minus": "frozen"}
    optional, control = lacking | {"optional": True}, lacking | {"optional": True, "says": "c"}
    claims = claim(effect=[there, optional], control=control), claim(effect=[there, lacking]), claim(effect=optional)
    decisions = verdicts(tmp_path, scores(0.05), *claims)
    assert [decision.verdict for decision in decisions] == ["holds", "not measured", "not measured"]
    assert decisions[0].reason == "without elsewhere, which this preset does not have"
    assert {decision.reason for decision in decisions[1:]} == {"p/lacking: this preset has no such training run"}


def test_functions_have_parts_with_names_or_none(tmp_path):
    functions = {
        "shares": lambda numbers, size: {"a": (Estimate(numbers[0]["value"].mean() / size, 0.1), 3), "b": (Estimate(4, 0.1), 3)},
        "none": lambda numbers: {},
        "correlated": lambda numbers: (correlation(np.arange(5), np.arange(5) ** 2), 5),
    }
    effect = {"name": "share", "of": SCORES, "reads": "frozen", "over": "language"}
    claims = [
        claim(effect=effect | {"function": name, "settings": {"size": 10} if name == "shares" else {}}) for name in functions
    ]
    shares, none, correlated = verdicts(tmp_path, scores(0.05), *claims, functions=functions)
    assert [(part.name, part.estimate.value, part.n, part.unit) for part in shares.parts] == [
        ("share, a", pytest.approx(5), 3, "languages"), ("share, b", 4, 3, "languages")]  # fmt: skip
    assert shares.verdict == "holds"
    assert (none.verdict, none.reason) == ("not measured", "none: this preset has none of its training runs")
    assert (correlated.verdict, correlated.reason) == ("undecided", "share: 5 languages, at least 8 needed")


def by_language(difference: np.ndarray, seeds: int = 1) -> list[dict[str, Any]]:
    """A frozen and a tuned encoder in LANGUAGES: differences by language, the same for all seeds but for some noise."""
    noise = np.random.default_rng(0).normal(0, 0.002, seeds) if seeds > 1 else np.zeros(1)
    return [
        row
        for language, value in zip(LANGUAGES, difference, strict=True)
        for row in (*rows(FROZEN, "scores", 0.5, language), *rows(TUNED, "scores", 0.5 + value + noise, language))
    ] + [*rows(FROZEN, "scores", 0.9), *rows(TUNED, "scores", 0.1)]  # of all languages together, which must not count


OVER_LANGUAGES = {"effect": {"of": SCORES, "plus": "tuned", "minus": "frozen", "over": "language"}}


def test_these_languages_and_languages_at_large(tmp_path):
    """Five related languages of twelve gain: so do these languages on average, but not languages at large."""
    related = np.array([languages_table()[code]["family"] == "Indo-European" for code in LANGUAGES])
    (decision,) = verdicts(tmp_path, by_language(0.18 * related, seeds=5), claim(**OVER_LANGUAGES))
    part = decision.part
    assert (part.n, part.unit, part.families) == (12, "languages", 8)
    noise = 100 * np.random.default_rng(0).normal(0, 0.002, 5)
    assert part.estimate.value == pytest.approx(18 * 5 / 12 + noise.mean())
    assert part.estimate.error == pytest.approx(stats.sem(noise)) and part.estimate.freedom == 4
    assert part.at_large.value == pytest.approx(18 / 8 + noise.mean())
    assert part.at_large.error == pytest.approx(np.hypot(stats.sem([18.0, *[0.0] * 7]), stats.sem(noise)), rel=1e-6)
    assert (decision.verdict, decision.at_large) == ("holds", "undecided")
    (decision,) = verdicts(tmp_path, by_language(0.05 + 0.018 * related, seeds=5), claim(**OVER_LANGUAGES))
    assert (decision.verdict, decision.at_large) == ("holds", "holds")


def test_languages_at_large_are_known_no_better_than_the_measured_ones(tmp_path):
    """Sampling error over texts also counts in the interval for languages in general."""
    numbers = [row | {"low": row["value"] - 0.2, "high": row["value"] + 0.2} for row in by_language(np.linspace(0.04, 0.06, 12))]
    (decision,) = verdicts(tmp_path, numbers, claim(**OVER_LANGUAGES), trained=())
    assert decision.part.at_large.error >= decision.part.estimate.error > 10
    assert (decision.verdict, decision.at_large) == ("undecided", "undecided")


def test_units_can_be_left_out(tmp_path):
    difference = np.array([0.9, *[0.05] * 11])
    effect = OVER_LANGUAGES["effect"] | {"without": "de"}
    (decision,) = verdicts(tmp_path, by_language(difference), claim(effect=effect), trained=())
    assert (decision.part.n, decision.part.estimate.value) == (11, pytest.approx(5))
    by_itself = claim(effect=effect | {"over": "text", "by": "language"})
    (decision,) = verdicts(tmp_path, by_language(difference), by_itself, trained=())
    assert [part.name for part in decision.parts] == [languages_table()[code]["name"] for code in sorted({*LANGUAGES} - {"de"})]


def test_so_many_languages_of_all_by_themselves(tmp_path):
    """Of twelve languages five have an effect beyond their texts' error; a corrected count."""
    values = np.array([0.2] * 5 + [0.0] * 7)
    numbers = [
        row
        for language, value in zip(LANGUAGES, values, strict=True)
        for row in (*rows(FROZEN, "scores", 0.5, language, half=0.03), *rows(TUNED, "scores", 0.5 + value, language, half=0.03))
    ]
    effect = {"of": SCORES, "plus": "tuned", "minus": "frozen", "over": "text", "by": "language"}
    for number, verdict in ((1, "holds"), (5, "holds"), (6, "undecided")):
        (decision,) = verdicts(tmp_path, numbers, claim(effect=effect, at_least=number), trained=())
        assert decision.verdict == verdict and len(decision.parts) == 12
        assert decision.part.estimate.value == pytest.approx(20 if verdict == "holds" else 0)  # the last of those needed
    below = [*numbers, *rows(FROZEN, "worse", 0.5)]
    (decision,) = verdicts(tmp_path, below, claim(effect=effect, claimed="below 0", at_least=8), trained=())
    assert decision.verdict == "fails"


def test_a_correlation_needs_enough_units(tmp_path):
    generator = np.random.default_rng(0)
    x = generator.normal(size=12)
    numbers = [
        row
        for language, one, other in zip(LANGUAGES, x, x + generator.normal(0, 0.3, 12), strict=True)
        for row in (*rows(FROZEN, "x", one, language), *rows(FROZEN, "y", other, language))
    ]
    of = {"records": "accuracy", "selection": "frozen"}
    effect = {"of": of, "function": "correlation", "reads": [{"item": "x"}, {"item": "y"}], "over": "language"}
    (decision,) = verdicts(tmp_path, numbers, claim(effect=effect), trained=())
    assert decision.verdict == "holds" and decision.part.n == 12
    assert decision.part.estimate.value == pytest.approx(stats.pearsonr(x, [row["value"] for row in numbers[1::2]])[0])
    (decision,) = verdicts(tmp_path, numbers, claim(effect=effect | {"least": 13}), trained=())
    assert decision.reason == "12 languages, at least 13 needed"


def test_central_claims_share_a_level(tmp_path):
    """Three effects at p of about 0.03: alone each holds, together none does."""
    noise = np.array([1, -1, 0.5, -0.5, 0]) * 0.02
    numbers = [*rows(FROZEN, "scores", 0.5), *rows(TUNED, "scores", 0.5 + 0.0235 + noise)]
    assert 0.02 < stats.ttest_1samp(0.0235 + noise, 0).pvalue < 0.05
    assert {decision.verdict for decision in verdicts(tmp_path, numbers, *[claim()] * 3)} == {"holds"}
    together = verdicts(tmp_path, numbers, *[claim()] * 4, central=["c0", "c1", "c2"])
    assert [decision.verdict for decision in together] == ["undecided"] * 3 + ["holds"]
    assert together[0].level == pytest.approx(0.05 / 3) and together[0].cause == "not after Holm's correction"
    assert together[0].reason.startswith("by itself it would hold: p = 0.0")


def test_an_interpretation_is_never_decided(tmp_path):
    fields = {"effect": [], "claimed": None, "rests_on": ["c0"]}
    _, decision = verdicts(tmp_path, scores(0.05), claim(), claim(**fields))
    assert (decision.verdict, decision.reason) == ("undecided", "an interpretation, which rests on c0")


def table(tmp_path: Path, *lines: tuple[Any, ...], apart: str | None = None) -> str:
    """A checksummed table. apart: reason why it is not comparable with the print."""
    path = tmp_path / "table1.csv"
    with checksummed(path) as temporary:
        pd.DataFrame(lines, columns=list(CELLS)).assign(reason=apart).to_csv(temporary, index=False)
    return str(path)


def test_cells_are_combined_by_their_seeds(tmp_path):
    """Welch's test of two cells over seeds; a cell of a single seed beside one over several is taken as it is."""
    cells = ("r", "a", "F1", "d", 60.0, 55, 65, 2.0, 3, 100), ("r", "b", "F1", "d", 50.0, 45, 55, 3.0, 5, 100), \
        ("r", "c", "F1", "d", 40.0, 35, 45, None, 1, 100), ("r", "a", "other", "e", 1.0, None, None, None, 1, 100)  # fmt: skip
    settings = {"tables": {"table1": table(tmp_path, *cells)}, "records": {}, "recipes": {}}
    of = {"table": "table1", "row": "r", "metric": "F1"}
    effects = [{"of": of, "plus": {"column": "a"}, "minus": {"column": other}} for other in "bc"]
    claims_file = ClaimsFile.model_validate({"claims": {f"c{n}": claim(effect=effect) for n, effect in enumerate(effects)}})
    contrasts = Effects(Evidence(settings), lambda name: None)
    (welch,), (single,) = (contrasts.parts(claim.effect[0]) for claim in claims_file.claims.values())
    expected = stats.ttest_ind_from_stats(60, 2, 3, 50, 3, 5, equal_var=False)
    unbounded = Estimate(welch.estimate.value, welch.estimate.error, welch.estimate.freedom)
    assert unbounded.p(0) == pytest.approx(expected.pvalue)
    assert single.estimate.error == pytest.approx(np.hypot(2 / np.sqrt(3), 5 / NORMAL))  # the single cell has its own error, too
    mixed = ClaimsFile.model_validate(
        {"claims": {"c0": claim(effect={"of": {"table": "table1", "row": "r"}, "plus": {"column": "a"}})}}
    )
    with pytest.raises(DataError, match="c0: table1: expected one metric, found 'F1', 'other'"):
        decide(mixed, Evidence(settings), lambda name: None)


def test_languages_are_paired_by_what_they_are(tmp_path):
    """Rows of one table, columns of another, with the mark of a note or as a pair with English, and their names."""
    cells = [
        ("score", code, "F1", "d", value, None, None, None, 1, 100)
        for code, value in (("de", 20.0), ("en-zh", 30.0), ("Japanese", 50.0), ("Average", 99.0))
    ]
    cells += [
        (code, "level", "F1", "d", value, None, None, None, 1, 100) for code, value in (("de", 10.0), ("zh*", 10.0), ("ja", 15.0))
    ]
    settings = {"tables": {"table1": table(tmp_path, *cells)}, "records": {}, "recipes": {}}
    effect = {"of": {"table": "table1"}, "plus": {"row": "score"}, "minus": {"column": "level"}, "over": "language"}
    claims_file = ClaimsFile.model_validate({"claims": {"c0": claim(effect=effect)}})
    (part,) = Effects(Evidence(settings), lambda name: None).parts(claims_file.claims["c0"].effect[0])
    assert (part.n, part.families, part.estimate.value) == (3, 3, pytest.approx(np.mean([10, 20, 35])))


def test_what_cannot_be_compared_with_the_print_is_left_to_the_print(tmp_path):
    published = pd.DataFrame([("table1", "r", name, "F1", value) for name, value in (("a", 60.0), ("b", 50.0))],
                             columns=["item", "row", "column", "metric", "value"])  # fmt: skip
    cited, of = {"published": "table1", "column": "b"}, {"over": "none", "minus": {"published": "table1", "column": "b"}}
    effects = [{"name": "printed", "plus": cited | {"column": "a"}} | of, {"plus": {"table": "table1", "column": "a"}} | of]
    claims_file = ClaimsFile.model_validate({"claims": {"c0": claim(effect=effects), "c1": claim(effect=effects[1])}})
    for apart, expected in ((None, ("fails", "fails")), ("another encoder; other texts", ("holds", "undecided"))):
        cells = table(tmp_path, ("r", "a", "F1", "d", 40.0, None, None, None, 1, 100), apart=apart)
        evidence = Evidence({"tables": {"table1": cells}, "records": {}, "recipes": {}}, published, ["the paper's other tables"])
        decided = decide(claims_file, evidence, lambda name: None)
        assert tuple(decision.verdict for decision in decided.values()) == expected
        assert decided["c1"].apart == (apart.split("; ") if apart else [])
    assert decided["c0"].in_print and decided["c0"].apart == [] and decided["c1"].reason == apart


@pytest.mark.parametrize(("count", "verdict"), [(50.0, "holds"), (51.0, "undecided")])
def test_counts_that_are_the_printed_ones_are_so_whatever_they_were_made_of(tmp_path, count, verdict):
    published = pd.DataFrame([("table1", "r", "a", "size", 50.0)], columns=["item", "row", "column", "metric", "value"])
    cells = table(tmp_path, ("r", "a", "size", "d", count, None, None, None, None, 100), apart="other training texts")
    effect = {"plus": {"table": "table1"}, "minus": {"published": "table1"}, "over": "none", "by": "column", "score": False}
    claims_file = ClaimsFile.model_validate({"claims": {"c0": claim(claimed="within 0.5", effect=effect)}})
    evidence = Evidence({"tables": {"table1": cells}, "records": {}, "recipes": {}}, published)
    assert decide(claims_file, evidence, lambda name: None)["c0"].verdict == verdict


COMMON, POSITIVE = "says: a, where: b", "claimed: above 0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{says: a}", "claims.c1.where: expected a value, found none"),
        ("5", "claims.c1: "),
        (f"{{{COMMON}, {POSITIVE}, effect: tuned}}", "claims.c1.effect: "),
        (f"{{{COMMON}, {POSITIVE}, effect: {{plus: 5}}}}", "claims.c1.effect.plus: expected a selection by name"),
        (
            f"{{{COMMON}, {POSITIVE}, effect: [{{plus: {{table: t}}}}, {{plus: {{table: u}}}}]}}",
            "claims.c1: effect: expected a name",
        ),
        (f"{{{COMMON}, efect: {{}}}}", "claims.c1.efect: unknown key; did you mean 'effect'?"),
        (f"{{{COMMON}}}", "claims.c1: effect: expected one, or a note"),
        (f"{{{COMMON}, effect: {{plus: {{table: t}}}}}}", "claims.c1.effect.claimed: expected a value, found none"),
        (f"{{{COMMON}, claimed: near 0, effect: {{plus: {{table: t}}}}}}", "claims.c1.effect.claimed.near: unknown key"),
        (
            f"{{{COMMON}, claimed: nothing, effect: {{plus: {{table: t}}}}}}",
            "claims.c1.effect.claimed: expected words such as 'above 0'",
        ),
        (f"{{{COMMON}, {POSITIVE}, effect: {{plus: x}}}}", "claims.c1.effect.plus: unknown selection 'x'"),
        (f"{{{COMMON}, {POSITIVE}, effect: {{plus: {{table: t, colum: x}}}}}}", "claims.c1.effect.plus: unknown column 'colum'"),
        (f"{{{COMMON}, rests_on: [c2]}}", "claims.c1: expected a claim, found 'c2'"),
        (f"{{{COMMON}, {POSITIVE}, follows_from: [c1], effect: {{plus: {{table: t}}}}}}", "claims.c1: effect: expected none"),
    ],
)
def test_a_wrong_ledger_is_refused_in_one_line(tmp_path, text, message):
    file = tmp_path / "claims.yaml"
    file.write_text(f"claims: {{c1: {text}}}")
    with pytest.raises(DataError) as error:
        read_claims_file(file)
    assert str(error.value).startswith(f"{file}: {message}") and "\n" not in str(error.value)


def test_a_group_of_claims_that_do_not_exist_is_refused(tmp_path):
    file = tmp_path / "claims.yaml"
    file.write_text(f"groups: {{Transfer: [c1, c2]}}\nclaims: {{c1: {{{COMMON}, note: n}}}}")
    with pytest.raises(DataError, match=r"claims\.yaml: groups\.Transfer: expected a claim, found 'c2'"):
        read_claims_file(file)


def test_estimates_agree_with_scipy():
    values = np.random.default_rng(1).normal(3, 2, 9)
    estimate, test = over_runs(values), stats.ttest_1samp(values, 1)
    assert estimate.p(1) == pytest.approx(test.pvalue)
    assert estimate.interval()[1:] == pytest.approx(tuple(stats.ttest_1samp(values, 0).confidence_interval()))
    families = over_families(np.array([1.0, 3.0, 5.0, 9.0]), ["a", "a", "b", "c"])
    assert families.value == pytest.approx(np.mean([2, 5, 9]))
    x, y = np.random.default_rng(2).normal(size=(2, 20))
    r = correlation(x, y)
    assert r.interval()[1:] == pytest.approx(tuple(stats.pearsonr(x, y).confidence_interval()))
    assert correlation(x, y, ranks=True).value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert isinstance(r, Correlation) and -1 < r.interval(1e-6).low < r.interval(1e-6).high < 1


@pytest.mark.parametrize("value", [0.5, 50.0, 93.0, 99.5])
@pytest.mark.parametrize("error", [0.1, 2.0, 15.0])
def test_intervals_stay_inside_their_bounds_and_end_where_p_says(value, error):
    estimate = Estimate(value, error, 2, (0, 100))
    for level in (0.05, 0.01):
        _, low, high = estimate.interval(level)
        assert 0 <= low < value < high <= 100
        for end in (low, high):
            if 1e-6 < end < 100 - 1e-6:
                assert estimate.p(end) == pytest.approx(level, rel=1e-6)


def test_exact_numbers_and_unknown_errors():
    exact, unknown = Estimate.exact(3.0), Estimate(3.0, float("nan"))
    assert exact.interval() == (3, 3, 3) and (exact.p(3), exact.p(2)) == (1, 0)
    assert np.isnan(unknown.interval().low) and np.isnan(unknown.p(0))
    assert add_errors(unknown, Estimate(0, 1.0)) == unknown
    assert add_errors(Estimate(1.0, 3.0, 4), Estimate(0, 4.0, 4)).error == 5


def test_holm_is_sequential():
    assert holm_adjusted(np.array([0.04, 0.01, np.nan, 0.03])) == pytest.approx([0.06, 0.03, np.nan, 0.06], nan_ok=True)
    assert holm([0.001, 0.02, float("nan"), 0.9]) == pytest.approx([0.05 / 3, 0.025, 0.05, 0.05])
    assert holm([0.02, 0.02, 0.02]) == pytest.approx([0.05 / 3] * 3)


# What a verdict must not do


def shuffled(difference: float, spread: float) -> list[dict[str, Any]]:
    """A control in which the tuned encoder differs from the frozen one, too, with other noise than that of `scores`."""
    noise = spread * np.array([0.9, -0.2, -1.1, 0.6, -0.2])
    return [*rows(FROZEN, "shuffled", 0.5), *rows(TUNED, "shuffled", 0.5 + difference + noise)]


SHUFFLED = {"of": {"records": "accuracy", "item": "shuffled"}, "plus": "tuned", "minus": "frozen", "says": "labels do not matter"}


@pytest.mark.parametrize(
    ("difference", "spread", "verdict", "cause"),
    [
        (0, 0.001, "holds", ""),
        (0, 0.02, "holds", ""),  # noisy, but the effect surely exceeds it
        (0.05, 0.001, "control fails", ""),
        (0.05, 0.1, "undecided", "control unclear"),
        (0.02, 0.06, "undecided", "control unclear"),
    ],
)
def test_the_effect_must_surely_exceed_its_control(tmp_path, difference, spread, verdict, cause):
    (decision,) = verdicts(
        tmp_path, [*scores(0.1 if not difference else 0.05), *shuffled(difference, spread)], claim(control=SHUFFLED)
    )
    assert (decision.verdict, decision.cause) == (verdict, cause)
    effect, control = ([row["value"] for row in rows_of] for rows_of in (scores(0.0)[1:], shuffled(difference, spread)[1:]))
    paired = stats.sem(100 * (np.array(effect) - np.array(control)))
    assert decision.strongest_control.excess.estimate.error == pytest.approx(np.hypot(paired, 1 / NORMAL), rel=1e-6)


def test_a_control_whose_error_is_unknown_leaves_the_claim_open(tmp_path):
    """Of neither the control nor its paired difference from the effect is it known how much it varies over texts."""
    numbers = [*rows(FROZEN, "scores", 0.5, half=0.01), *rows(TUNED, "scores", 0.7, half=0.01)]
    numbers += [*rows(FROZEN, "shuffled", 0.5), *rows(TUNED, "shuffled", 0.69)]
    (decision,) = verdicts(tmp_path, numbers, claim(control=SHUFFLED), trained=())
    assert (decision.verdict, decision.cause) == ("undecided", "control unclear")
    assert np.isnan(decision.strongest_control.excess.estimate.error)


def test_a_correlation_must_exceed_that_of_its_control(tmp_path):
    generator = np.random.default_rng(3)
    y = generator.normal(size=12)
    variables = {
        "y": y,
        "near": y + generator.normal(0, 0.4, 12),
        "nearer": y + generator.normal(0, 0.4, 12),
        "far": generator.normal(size=12),
    }
    numbers = [
        row for item, values in variables.items() for code, value in zip(LANGUAGES, values, strict=True)
        for row in rows(FROZEN, item, value, code)
    ]  # fmt: skip
    common = {"of": {"records": "accuracy", "selection": "frozen"}, "function": "correlation", "over": "language", "ranks": True}
    effect, *controls = (common | {"reads": [{"item": item}, {"item": "y"}]} for item in ("near", "nearer", "far"))
    claims = [claim(effect=effect, control=control | {"says": "as much"}) for control in controls]
    as_near, beyond = verdicts(tmp_path, numbers, *claims, trained=())
    assert as_near.verdict == "control fails" and beyond.verdict == "holds"


def test_seeds_that_share_data_are_not_independent(tmp_path):
    """With half of the data in common the squared error of a mean of three is s² (1 / 3 + 1) instead of s² / 3."""
    alone, shared = (
        verdicts(tmp_path, scores(0.05, seeds=3), claim(effect={"of": SCORES | more, "plus": "tuned"}, claimed="above 50"))[
            0
        ].part
        for more in ({}, {"shared": 0.5})
    )
    assert shared.estimate.error == pytest.approx(2 * alone.estimate.error)


def test_of_many_parts_it_is_said_how_many_and_which(tmp_path):
    values = dict(zip(LANGUAGES, [0.3] * 4 + [0.0] * 8, strict=True))
    numbers = [row for code, value in values.items() for row in (
        *rows(FROZEN, "scores", 0.5, code, half=0.03), *rows(TUNED, "scores", 0.5 + value, code, half=0.03))]  # fmt: skip
    effect = {"of": SCORES, "plus": "tuned", "minus": "frozen", "over": "text", "by": "language"}
    (decision,) = verdicts(tmp_path, numbers, claim(effect=effect), trained=())
    assert decision.verdict == "undecided"
    assert decision.part.name in [languages_table()[code]["name"] for code in LANGUAGES[4:]]
    assert decision.supported == 4 and decision.reason.startswith("4 of 12 effects are as claimed")


def test_what_follows_from_other_claims_takes_no_share_of_the_level(tmp_path):
    noise = np.array([1, -1, 0.5, -0.5, 0]) * 0.02
    numbers = [*rows(FROZEN, "scores", 0.5), *rows(TUNED, "scores", 0.5 + 0.0235 + noise)]  # p of about 0.03
    implied = {"effect": [], "claimed": None}
    one, other, both, either, neither = verdicts(
        tmp_path, numbers, claim(), claim(claimed="below 0"),
        claim(**implied, follows_from=["c0", "c1"]), claim(**implied, follows_from=["c0", "c1"], at_least=1),
        claim(**implied, follows_from=["c1"]), central=["c0", "c2", "c3", "c4"],
    )  # fmt: skip
    assert one.level == 0.05 and (one.verdict, other.verdict) == ("holds", "fails")
    assert (both.verdict, either.verdict, neither.verdict) == ("fails", "holds", "fails")
    assert both.reason == "c0 holds, c1 fails"


def test_each_contrast_is_gated_by_its_own_training_runs(tmp_path):
    """A part whose training has not learned counts as unknown; those of others decide what they can."""
    numbers = [*scores(0.05), *rows(RANDOM, "scores", 0.8 + np.array([0, 0.01, -0.01, 0.005, -0.005]))]
    parts = [{"name": name, "of": SCORES, "plus": name, "minus": "frozen"} for name in ("tuned", "random")]
    every, one = verdicts(
        tmp_path, numbers, claim(effect=parts), claim(effect=parts, at_least=1), trained=(TUNED, RANDOM),
        learned=[LEARNED[0], {"selections": ["random"], "of": {"records": "accuracy", "item": "task"}, "above": {"chance": 90}}],
    )  # fmt: skip
    assert (every.verdict, every.cause) == ("undecided", "learning not shown")
    assert every.reason == "p/random is not above chance (40.0 [38.0, 42.0] against 90)"
    assert one.verdict == "holds"


def test_a_margin_below_the_resolution_is_told(tmp_path):
    (decision,) = verdicts(tmp_path, scores(0.001), claim(claimed="within 0.5"))
    assert decision.cause == "margin below resolution"
    _, low, high = decision.part.estimate.interval()
    assert decision.reason == f"the smallest margin that this run can show is {max(-low, high):.2f}"
    (decision,) = verdicts(tmp_path, scores(0.001), claim(claimed=f"within {max(-low, high) + 0.01:.2f}"))
    assert decision.verdict == "holds"


def test_restarts_of_an_algorithm_are_no_sample(tmp_path):
    effect = {"of": SCORES, "plus": "frozen", "over": "restart"}
    (decision,) = verdicts(tmp_path, scores(0.1), claim(effect=effect, claimed="above 1"), trained=())
    assert (decision.verdict, decision.cause) == ("undecided", "no interval")


def test_variances_of_few_runs_are_drawn_together():
    """As limma does it: a prior of known shape is found again, and an estimate is a weighted mean of its own variance and it."""
    generator = np.random.default_rng(0)
    variances = 4 * 8 / generator.chisquare(8, 400)  # scaled inverse chi-square, 8 degrees of freedom
    runs = [over_runs(generator.normal(0, np.sqrt(variance), 3)) for variance in variances]
    estimates = moderated(runs, [1] * len(runs))
    freedom = estimates[0].freedom - 2
    assert 4 < freedom < 20 and {estimate.freedom for estimate in estimates} == {estimates[0].freedom}
    own, both = (np.array([3 * estimate.error**2 for estimate in group]) for group in (runs, estimates))
    prior = ((freedom + 2) * both - 2 * own) / freedom
    assert np.ptp(prior) < 1e-9 and prior[0] == pytest.approx(4, rel=0.25)
    assert {estimate.caution for estimate in estimates} == {2}
    assert moderated(runs[:2], [1, 1]) == runs[:2]
    twice = moderated([replace(run, error=run.error * np.sqrt(2)) for run in runs], [2] * len(runs))  # sums of two scores
    assert twice[0].error == pytest.approx(np.sqrt(2) * estimates[0].error)


def test_relatives_count_as_fewer():
    assert effective_number(["a", "b", "c"]) == 3
    assert effective_number(["a"] * 4) == pytest.approx(4)  # what all have in common is no reason for a correlation
    assert effective_number(["a", "a", "b", "b"]) == pytest.approx(1 + 2.5**2 / 2.75)  # by the eigenvalues 1.5, 0.5 and 0.5
    x = np.arange(12.0)
    alone, related = correlation(x, x**2), correlation(x, x**2, families=["a"] * 6 + ["b"] * 6)
    assert related.error > 1.5 * alone.error and related.value == alone.value


def test_an_entry_with_each_stands_for_several(tmp_path):
    file = tmp_path / "claims.yaml"
    file.write_text(
        "selections: {$task $way: {each: {task: [pos, nli], way: [full, part]}, recipe: p/$task/$way}}\n"
        "claims:\n  c1: {says: a, where: b, claimed: above 0, effect: {each: [{task: pos, least: 1}, {task: nli, least: 2}], "
        "name: $task, of: {records: accuracy}, plus: $task full, minus: $task part, claimed: above $least}}\n"
    )
    effects = read_claims_file(file).claims["c1"].effect
    assert [(effect.name, effect.minus[0].recipes, str(effect.claimed)) for effect in effects] == [
        ("pos", ("p/pos/part",), "above 1"), ("nli", ("p/nli/part",), "above 2")]  # fmt: skip


def test_an_effect_of_cells_exceeds_its_control_by_what_runs_leave_open():
    """Cells do not know their seeds, so their errors over seeds add up; scores of the same seeds are paired."""
    cell, seeds = pd.DataFrame({0: [5.0]}), pd.DataFrame([[4.0, 5.0, 6.0]])
    of_cells = part_of("", Region(above=0), cell, "seeds", runs=Estimate(0.0, 3.0, 2))
    control = part_of("", Region(above=0), cell - 4, "seeds", runs=Estimate(0.0, 4.0, 2))
    difference = excess(of_cells, control).estimate
    assert (difference.value, difference.error) == (4, 5)
    paired = excess(part_of("", Region(above=0), seeds, "seeds"), part_of("", Region(above=0), seeds - 4.0, "seeds"))
    assert paired.estimate.value == 4 and math.isnan(paired.estimate.error)  # the difference is the same for all seeds


def test_correlations_with_a_shared_variable_are_compared_whichever_it_is():
    x, y = np.arange(12.0), np.array([3, 1, 2, 5, 4, 8, 6, 7, 11, 9, 10, 12.0])
    tables = [pd.DataFrame({"x": x, "y": values}) for values in (y, y[::-1])]
    swapped = [table.rename(columns={"x": "y", "y": "x"}) for table in tables]

    def part(table: pd.DataFrame) -> Part:
        return Part("", Region(above=0), correlation(table["x"], table["y"], ranks=True), 12, "items", values=table)

    shared_x, shared_y = (excess(*map(part, pair)).estimate for pair in (tables, swapped))
    assert shared_x == shared_y and shared_x.error > 0


def test_claims_of_one_seed_count_as_directions():
    claims = [
        {"verdict": "undecided", "cause": "one seed", "direction": "−6.7, as claimed (below 0)"},
        {"verdict": "undecided", "cause": "wide interval", "direction": ""},
        {"verdict": "holds", "cause": "", "direction": ""},
    ]
    expected = [("holds", 1, ""), ("undecided", 1, "1 wide interval"), ("direction only (one seed)", 1, "")]
    assert _counts(claims) == expected
