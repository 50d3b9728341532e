"""Cells of tables, the published ones beside them, and the dictionary of both."""

import re
from pathlib import Path

import pandas as pd
import pytest
from crosslens.jobs.records import RECORDS
from crosslens.numerics import definitions
from crosslens.reports.cells import COLUMNS, Published, at_end, cell, difference, line, set_apart, table


def seeds(*values):
    return pd.DataFrame(
        [{"value": value, "low": value - 0.02, "high": value + 0.01, "n": 50 - i} for i, value in enumerate(values)]
    )


def test_a_cell_of_one_seed_has_the_interval_of_its_score():
    assert cell(seeds(0.51234)) == {"here": 51.23, "low": 49.23, "high": 52.23, "sd": None, "seeds": 1, "n": 50}


def test_a_cell_of_several_seeds_has_students_t_inside_the_bounds_of_a_score():
    found = cell(seeds(0.5, 0.6))
    assert (found["here"], found["sd"], found["seeds"], found["n"]) == (55, 7.07, 2, 49)
    for end in (found["low"] / 100, found["high"] / 100):  # where a share whose error is as large is 12.706 of its own away
        assert abs(end - 0.55) == pytest.approx(12.706 * 0.05 * (end * (1 - end) / (0.55 * 0.45)) ** 0.5, abs=2e-4)
    unbounded = cell(seeds(0.5, 0.6), score=False)
    assert [unbounded["low"], unbounded["high"]] == pytest.approx([55 - 12.706 * 5, 55 + 12.706 * 5], abs=0.01)


def test_equal_seeds_have_no_interval_and_say_so():
    found = cell(seeds(0.7, 0.7, 0.7))
    assert (found["here"], found["low"], found["high"], found["sd"]) == (70, None, None, 0)
    assert line("r", "c", "m", "d", found, remark=["one", ""])["remark"] == "one; no interval: the same in all seeds"
    assert "remark" not in cell(seeds(0.7))


def test_a_cell_without_values_or_without_an_interval():
    assert set(cell(seeds()).values()) == {None}
    alone = cell(pd.DataFrame({"value": [0.5]}), scale=1, digits=1)
    assert (alone["here"], alone["low"], alone["n"]) == (0.5, None, None)


def test_a_line_has_the_difference_where_both_are_there():
    assert line("r", "c", "m", "d", {"here": 51.2}, 50.1)["difference"] == 1.1
    assert line("r", "c", "m", "d", {"here": None}, 50.1)["difference"] is None
    assert line("r", "c", "m", "d", {"here": 51.2})["difference"] is None
    assert line("r", "c", "m", "d", {"here": 1e-3}, 1e-4, digits=6)["difference"] == 0.0009


@pytest.mark.parametrize(
    ("here", "low", "chance", "remark"),
    [
        (100, 100, 0, "at its ceiling: at most 3 points below 100"),
        (97, 90, 25, "at its ceiling: at most 3 points below 100"),
        (96.9, 90, 0, ""),
        (0, 0, 0, "at its floor: at most 3 points above 0"),
        (3, None, 25, "at its floor: at most 3 points above 0"),
        (3.1, 0.5, 0, ""),
        (38, 33.3, 100 / 3, "not above chance: 33.3"),
        (38, 33.4, 100 / 3, ""),
        (33, None, 100 / 3, "not above chance: 33.3"),
        (34, None, 100 / 3, ""),
        (None, None, 25, ""),
    ],
)
def test_scores_at_an_end_of_their_scale_say_so(here, low, chance, remark):
    numbers = {"here": here, "low": low}
    assert at_end(numbers, chance) == remark
    remarks = line("r", "c", "m", "d", numbers, remark=["one", ""], chance=chance)["remark"]
    assert remarks == "; ".join(filter(None, ["one", remark]))
    assert line("r", "c", "m", "d", numbers, remark="one")["remark"] == "one"  # of a difference or a count


def test_seeds_stand_beside_numbers_alone():
    assert line("r", "c", "m", "d", {"here": 51.2, "seeds": 3})["seeds"] == 3
    for numbers in ({}, {"here": None, "seeds": 3}, {"here": None, "seeds": 0}):
        assert line("r", "c", "m", "d", numbers, 50.1)["seeds"] is None


def test_a_difference_rests_on_the_seeds_of_both():
    for first, second, expected in (((0, 1, 2), (0, 1, 2), 3), ((0,), (0,), 1), ((0,), (0, 1, 2), 1), ((), (0,), None)):
        before, after = (seeds(*(0.5 + seed / 100 for seed in which)).assign(seed=list(which)) for which in (first, second))
        assert difference(before, after)["seeds"] == expected


def test_a_table_has_the_same_columns_whatever_is_in_it():
    assert list(table([], "p", "i").columns) == list(COLUMNS)
    made = table([line("r", "c", "m", "d", {"here": 1.5, "n": 3}), line("r", "e", "m", "d", {})], "p", "i")
    assert list(made.columns) == list(COLUMNS) and made.loc[0, ["paper", "item", "n"]].tolist() == ["p", "i", 3]
    assert made["n"].astype("string").tolist() == ["3", pd.NA]


def test_a_table_that_is_not_comparable_has_no_difference_and_says_why():
    made = table([line("r", "c", "m", "d", {"here": 51.2}, 50.1), line("r", "e", "m", "d", {"here": 1.0})], "p", "i")
    assert made["comparable"].all() and set(made["reason"]) == {""} and made["difference"].tolist()[0] == 1.1
    pd.testing.assert_frame_equal(set_apart(made, []), made)
    apart = set_apart(made, ["the encoder is another", "the corpus xnli differs"])
    assert list(apart.columns) == list(COLUMNS) and not apart["comparable"].any() and apart["difference"].isna().all()
    assert set(apart["reason"]) == {"the encoder is another; the corpus xnli differs"}
    others = [name for name in COLUMNS if name not in ("difference", "comparable", "reason")]
    pd.testing.assert_frame_equal(apart[others], made[others])


def test_published_cells_by_metric_and_lost_ones():
    rows = [("table1", "EN", "REF", "LAS", "88.98", None), ("table1", "EN", "REF", "UAS", "90", "a note"),
            ("table1", "FR", "REF", "LAS", "?", "cannot be read")]  # fmt: skip
    published = Published(pd.DataFrame(rows, columns=["item", "row", "column", "metric", "value", "note"]))
    assert published.value("table1", "EN", "REF", "UAS") == 90 and published.get("table1", "EN", "REF", "UAS").note == "a note"
    assert published.value("table1", "EN", "REF") == 88.98  # the first metric
    assert published.value("table1", "FR", "REF", "LAS") is None and published.get("table1", "FR", "REF").note == "cannot be read"
    assert published.get("table1", "DE", "REF") is None


def test_the_dictionary_names_every_column_and_definition():
    """docs/tables.md."""
    text = (Path(__file__).parents[1] / "docs/tables.md").read_text(encoding="utf-8")
    parts = {part.partition(":")[0].strip(): part for part in re.split("^## ", text, flags=re.MULTILINE)}
    tables, records, rest = parts["Tables"], parts["Records"], text.partition("\n## Definitions")[2]
    for part, columns in ((tables, COLUMNS), (records, RECORDS.names)):
        named = [name for row in re.findall(r"^\| ([a-z, ]+) \|", part, re.MULTILINE) for name in row.split(", ")]
        assert sorted(named) == sorted(["column", *columns])
    named = {value for name, value in vars(definitions).items() if name.isupper() and not name.startswith("ADVERSARY")}
    assert {definition for definition in named if f"`{definition}`" not in rest} == set()
