"""Two passports side by side: planted differences, coverage, and pairs that are refused."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import passports
import pytest
from browser import CHROMIUM, browser
from crosslens.config.base import language_code
from crosslens.jobs.errors import DataError
from crosslens.papers.configuration import load
from crosslens.papers.passport import page as pages
from crosslens.papers.passport.comparison import COVERAGE, table
from crosslens.papers.passport.comparison_page import page
from crosslens.papers.passport.facts import Passport, measures
from crosslens.papers.passport.figure import comparison
from crosslens.papers.passport.pretraining import Pretraining
from crosslens.reports.cells import where
from crosslens.reports.figures.save import save
from scipy.stats import binomtest
from study import REPOSITORY
from test_passport_page import passport_with_unknown
from test_samples import check_words

PRETRAINING = Pretraining.read(REPOSITORY / "resources/pretraining.yaml")
PASSPORT = Path(pages.__file__).parent


def pair(folder: Path, shift: float = 0.05, **changes: Any) -> tuple[Passport, Passport]:
    """An encoder whose rising measures are `shift` better than those of a smaller one, of which changes say more."""
    encoder = {"id": "bert-base-multilingual-cased", "layers": 6, "width": 768} | changes.pop("encoder", {})
    a = passports.write(folder, "large", shift)
    b = passports.write(folder, "small", encoder=encoder, **changes)
    return Passport.read(a), Passport.read(b)


def test_a_planted_difference_is_seen_in_each_language_and_in_all(tmp_path: Path) -> None:
    cells = where(table(*pair(tmp_path), PRETRAINING), metric="neighbours")
    languages = cells[cells["family"] != ""].set_index("column")
    assert [*languages.index] == [language for language in passports.FAMILIES if language != "en"]
    a, b = (passports.value_of("neighbours", "strong, raw", layer, "de") for layer in (11, 10))  # summary: the last layer but one
    assert languages.loc["de", "here"] == pytest.approx(a + 0.05 - b, abs=1e-6)
    (mean,) = where(cells, column="families").to_dict("records")
    assert mean["low"] < mean["here"] < mean["high"] and mean["n"] == 31
    assert (mean["won"], mean["lost"]) == (31, 0) and mean["p"] == pytest.approx(binomtest(31, 31).pvalue, abs=1e-6)


def test_lower_is_better_where_it_is(tmp_path: Path) -> None:
    cells = table(*pair(tmp_path, 0.0), PRETRAINING)
    hubness, premium = (where(cells, metric=key, column="families").iloc[0] for key in ("hubness", "premium"))
    assert hubness["here"] < 0 and (hubness["won"], hubness["lost"]) == (31, 0)
    assert (premium["here"], premium["won"], premium["lost"], premium["p"]) == (0, 0, 0, 1)  # the same in both


def test_no_encoder_is_better_in_a_measure_without_direction(tmp_path: Path) -> None:
    cells = table(*pair(tmp_path), PRETRAINING)
    directed = {key for key, measure in measures().items() if measure.better != "neither"}
    tested = cells[cells["p"].notna()]
    assert {*tested["metric"]} == directed - {"share"}  # which is of a layer as a whole
    assert (tested["p_holm"] >= tested["p"]).all() and (tested["p_holm"] <= 1).all()
    smallest = tested.sort_values("p").iloc[0]
    assert smallest["p_holm"] == pytest.approx(min(1, len(tested) * smallest["p"]))


def test_an_encoder_does_not_differ_from_itself(tmp_path: Path) -> None:
    passport = Passport.read(passports.write(tmp_path))
    cells = table(passport, passport, PRETRAINING)
    assert (cells["here"] == 0).all() and (cells["p_holm"].dropna() == 1).all()
    assert (cells["low"].dropna() == 0).all() and (cells["high"].dropna() == 0).all()


def test_languages_are_told_apart_by_coverage(tmp_path: Path) -> None:
    cells = where(table(*pair(tmp_path), PRETRAINING), metric="mexa")
    numbers = {name: int(n) for name, n in zip(cells["column"], cells["n"], strict=True) if name in COVERAGE.values()}
    assert numbers == {"both cover": 23, "only A": 2, "only B": 1, "neither": 5}  # am, ha; yo; tzm, zu, quy, nqo, gn
    unknown = table(*pair(tmp_path, encoder={"id": "me/mine"}), PRETRAINING)
    assert not unknown["column"].isin([*COVERAGE.values()]).any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"facts": {"version": "2.0"}}, "expected the same major version, found 1 and 2"),
        (
            {"facts": {"measures": passports.FACTS["measures"] | {"cka": 2}}},
            "expected the same version of CKA, debiased",
        ),
        ({"facts": {"inputs_sha256": "2" * 64}}, "expected the same texts, found those of digests 111111111111 and 222222222222"),
    ],
)
def test_passports_that_cannot_be_compared_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"^passports of large and small: {message}.*; rebuild both$"):
        table(*pair(tmp_path, **changes), PRETRAINING)


def test_lists_of_languages_are_those_of_the_studies(values: dict[str, Any]) -> None:
    corpora = load(values).corpora
    for name, corpus in (("mbert", "wikipedia_mbert"), ("xlm-r", "cc100")):
        assert {*PRETRAINING.lists[name]["languages"].split()} == {*corpora[corpus].languages}
    assert {facts.get("languages", "mbert") for facts in PRETRAINING.encoders.values()} == {*PRETRAINING.lists}


def page_of(passports: list[Passport], folder: Path) -> str:
    """The page of a comparison with its picture."""
    figure = comparison(passports)
    figure.draw_without_rendering()
    check_words(figure)
    save(figure, folder / "picture.svg", "passports")
    pairs = combinations(range(len(passports)), 2)
    tables = {(a, b): table(passports[a], passports[b], PRETRAINING) for a, b in pairs}
    picture = (folder / "picture.svg").read_bytes()
    return page(tables, passports, picture, PRETRAINING, PASSPORT / "comparison.html.j2")


def test_three_encoders_are_set_side_by_side(tmp_path: Path) -> None:
    shifts = {"large": 0.05, "small": 0.0, "tiny": -0.01}
    three = [Passport.read(passports.write(tmp_path, name, shift)) for name, shift in shifts.items()]
    text = page_of(three, tmp_path)
    assert "the clear best is large in 6, small in 0 and tiny in 0" in text and "A − C" in text and "B tiny" not in text
    assert "10 languages, largest difference first" in text


def test_an_encoder_at_its_baseline_wins_nothing(tmp_path: Path) -> None:
    better, random = (Passport.read(passports.write(tmp_path, name, shift)) for name, shift in (("one", 0.0), ("two", 0.1)))
    table = random.table.copy()
    table.loc[table["baseline_kind"] == "random weights", "here"] = 2.0
    at_baseline = Passport(table, random.record)
    assert "the clear best is one in 0 and two in 6" in page_of([better, random], tmp_path)
    text = page_of([better, at_baseline], tmp_path)
    assert (
        "two in 0" in text
        and "none: B is no better than its baseline" in text
        and "<b>two.</b> Baselines: no measure of meaning" in text
    )


def test_a_measure_that_an_encoder_lacks_costs_no_other(tmp_path: Path) -> None:
    large, small = pair(tmp_path)
    without = Passport(large.table[large.table["metric"] != "genealogy"], large.record)
    text = page_of([without, small], tmp_path)
    assert text.count("not measured for every encoder") == 1 and text.count("31 of 31") > 1


def test_a_premium_that_is_too_small_wins_nothing(tmp_path: Path) -> None:
    large, small = pair(tmp_path)
    table = small.table.copy()
    table.loc[(table["metric"] == "premium") & (table["baseline_kind"] == ""), "here"] /= 2
    low = Passport(table, small.record)
    assert "too small" not in page_of([large, low], tmp_path)
    text = page_of([large, passport_with_unknown(low, {"th": 0.6})], tmp_path)
    assert "none: B is too small because of unknown subwords" in text


def test_the_page_says_where_so_few_languages_can_decide_nothing(tmp_path: Path) -> None:
    whole = [*pair(tmp_path)]
    few = [Passport(only(part.table, {"de", "fi", "tr", "zh"}), part.record) for part in whole]
    assert "cannot be below" in page_of(few, tmp_path) and "cannot be below" not in page_of(whole, tmp_path)


def only(table: pd.DataFrame, languages: set[str]) -> pd.DataFrame:
    """A passport's table without the rows of other languages."""
    return table[~table["column"].map(lambda column: language_code(str(column)) not in {None, *languages})]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_page_works_in_a_browser(tmp_path: Path) -> None:
    html = page_of([*pair(tmp_path)], tmp_path)
    assert "31 of 31" in html and "widths differ" in html and "only B" in html
    (tmp_path / "page.html").write_text(html, "utf-8")
    with browser() as tab:
        for width in (400, 1280):
            window = tab.show(tmp_path / "page.html", width)
            assert (window.errors, window.requests, window.overflow) == ([], [], 0)
