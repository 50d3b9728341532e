"""The scoreboard: each printed cell once, beside the line of ours that has it, and what planted tables give."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from crosslens.jobs.checksums import checksummed
from crosslens.numerics.intervals import prediction_interval
from crosslens.papers import papers
from crosslens.reports.cells import line, set_apart, table
from crosslens.reports.paper import Paper, Place
from crosslens.reports.scoreboard import (  # fmt: skip
    CITED,
    COLUMNS,
    COMPUTED,
    ILLEGIBLE,
    NO_TABLE,
    NOT_RUN,
    SETTING,
    UNDECIDED,
    VERDICTS,
    WITHIN,
    page,
    read_published,
    read_table,
    scoreboard,
)
from goldens import assert_golden
from study import RESULTS, committed_tables, copy_repository, planned, tiny
from synthetic_records import Preset

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "workflow/crosslens/reports/scoreboard.html.j2"
KEY = ["paper", "item", "row", "column", "metric"]
PRINTED = {paper.key: ROOT / f"resources/published/{paper.key}.csv" for paper in papers()}
PUBLISHED = {key: read_published(path) for key, path in PRINTED.items() if path.is_file()}  # a paper may have printed nothing
FILES = committed_tables("laptop")
LAPTOP = {path.relative_to(ROOT / "docs/results/laptop").with_suffix("").as_posix(): read_table(path) for path in FILES}
QUICK = {  # tables whose lines the code writes without records
    "muller2021": [f"table{number}" for number in (1, 2, 4, 5, 6, 7, 8)],
    "liang2021": [f"table{number}" for number in range(1, 7)],
    "wu2019": [*(f"table{number}" for number in range(2, 7)), "figure1_cells"],
    "tanti2021": ["table4", "table5"],
}


@pytest.fixture(scope="module")
def laptop():
    return scoreboard(papers(), PUBLISHED, LAPTOP)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    values = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
    return Preset(values, values, tmp_path_factory.mktemp("study"))


def test_each_printed_cell_stands_there_once(laptop):
    printed = Counter()
    for path in (ROOT / "resources/published").glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as stream:
            printed.update(tuple(cell[name] for name in KEY) for cell in csv.DictReader(stream))
    for board in (laptop, scoreboard(papers(), PUBLISHED, {})):
        assert list(board.columns) == list(COLUMNS)
        assert Counter(board[KEY].itertuples(index=False, name=None)) == printed
        assert set(printed.values()) == {1} and set(board["verdict"]) <= VERDICTS.keys()


def test_every_place_is_in_a_table_that_config_yaml_has(study):
    places = {
        paper.path(place.item)
        for paper in papers()
        if paper.key in PUBLISHED
        for cell in PUBLISHED[paper.key][["item", "row", "column", "metric"]].itertuples(index=False)
        if not cell.item.startswith("text") or cell.metric != "value"
        if (place := paper.place(Place(*cell)))
    }
    assert places <= {place for place, (_, _, item) in study.studies.items.items() if item.form == "table"}


LONG = ("liang2021", "muller2021")  # whose tables take five seconds and more


@pytest.mark.parametrize("key", [pytest.param(key, marks=[pytest.mark.long] * (key in LONG)) for key in QUICK])
def test_every_printed_cell_stands_in_the_line_that_shows_it(key, study, tmp_path):
    paper, tables = study.papers[key], {}
    for name in QUICK[key]:
        study.table(key, name, cut=0.1, empty=True).to_csv(tmp_path / "table.csv", index=False)
        tables[paper.path(name)] = read_table(tmp_path / "table.csv").assign(here=1.0, seeds=1)  # all have a value
    board = scoreboard([paper], PUBLISHED, tables)
    cells = board[board["table"].isin(tables)]
    assert len(cells) > 50 and set(cells["verdict"]) == {SETTING if key == "tanti2021" else UNDECIDED}
    assert {paper.path(name) for name in QUICK[key]} == set(cells["table"])
    for cell in cells.to_dict("records"):
        place = paper.place(Place(*(cell[name] for name in KEY[1:])))
        lines = tables[cell["table"]]
        lines = lines[(lines["row"] == place.row) & (lines["column"] == place.column) & (lines["metric"] == place.metric)]
        lines = lines[lines["definition"].where(lines["definition"] != "", lines["metric"]) == cell["definition"]]
        again = 0.01 if cell["item"] == "text section 4.3" else 0  # the text has 0.75, table 4 has 0.74
        assert list(lines["published"]) == [pytest.approx(float(cell["published"]), abs=again + 1e-9)]


# Planted tables.

CELLS = [  # column, printed value, unit, note
    ("inside", "71.0", "percent", ""), ("outside", "71.9", "percent", ""), ("rounding", "70.8", "percent", ""),
    ("ceiling", "99.9", "percent", ""), ("alone", "71.0", "percent", ""), ("equal", "71.0", "percent", ""),
    ("count", "1200", "sentences", ""), ("other count", "1200", "sentences", ""), ("size", "0.1", "1", ""),
    ("empty", "71.0", "percent", ""), ("missing", "71.0", "percent", ""), ("theirs", "71.0", "percent", "cited; footnote"),
    ("lost", "", "percent", "cannot be read"), ("bounds", "[1,9]", "", ""),
]  # fmt: skip


def planted(tmp_path, apart):
    numbers = {
        "inside": {"here": 70.5, "sd": 0.2, "seeds": 3},  # half 4.303 * 0.2 * sqrt(4 / 3) = 0.99
        "outside": {"here": 70.5, "sd": 0.2, "seeds": 3},
        "rounding": {"here": 70.0, "sd": 0.155, "seeds": 3},  # half 0.770, and 0.05 of the print
        "ceiling": {"here": 99.5, "sd": 0.5, "seeds": 3},
        "alone": {"here": 71.0, "seeds": 1},
        "equal": {"here": 71.0, "sd": 0.0, "seeds": 3},
        "count": {"here": 1200},
        "other count": {"here": 1201},
        "size": {"here": 0.1},
        "empty": {"here": None},
    }
    printed = {column: float(value) for column, value, _, note in CELLS if column in numbers}
    lines = [line("r", column, "m", "first", values, printed[column], "no score; other") for column, values in numbers.items()]
    lines += [line("r", "inside", "m", "second", {"here": 1.0, "sd": 0.1, "seeds": 3}, 71.0)]
    set_apart(table(lines, "p", "table1"), apart).to_csv(tmp_path / "table1.csv", index=False)
    nothing = dict.fromkeys(("recipes", "measures", "items"), lambda *_: {})
    common = {"paper": "p", "item": "table1", "row": "r", "metric": "m"}
    cells = [common | dict(zip(("column", "value", "unit", "note"), cell, strict=True)) for cell in [*CELLS, ("a", "5", "", "")]]
    cells[-1]["item"] = "text"
    tables = {"p/table1": read_table(tmp_path / "table1.csv")}
    board = scoreboard([Paper(key="p", about="", **nothing)], {"p": pd.DataFrame(cells)}, tables)
    return board.set_index("column")


@pytest.mark.parametrize(("name", "apart"), [("same", ()), ("another", ["the encoder is x, not y"])])
def test_verdicts_on_planted_tables(name, apart, tmp_path):
    """Of another encoder the same count is no chance, and nothing else is comparable."""
    assert_golden(planted(tmp_path, apart).reset_index(), f"scoreboard_of_{name}_encoder")


def test_a_table_that_is_not_there_is_named():
    (paper,) = (paper for paper in papers() if paper.key == "wu2019")
    board = scoreboard([paper], PUBLISHED, {})
    assert set(board["verdict"]) == {NOT_RUN, NO_TABLE, CITED}
    assert (board.loc[board["item"] == "figure1a", "reason"] == "wu2019/figure1_cells.csv is not built").all()


@pytest.mark.parametrize("number", [2, 3, 5])
def test_a_new_run_is_inside_as_often_as_it_should_be(number):
    random = np.random.default_rng(number)
    runs, new = random.normal(70, 2, (4000, number)), random.normal(70, 2, 4000)
    ends = [
        prediction_interval(float(mean), float(sd), number) for mean, sd in zip(runs.mean(1), runs.std(1, ddof=1), strict=True)
    ]
    inside = np.mean([low <= value <= high for (_, low, high), value in zip(ends, new, strict=True)])
    assert inside == pytest.approx(0.95, abs=0.012)  # three and a half standard errors of 4,000 draws


def test_no_interval_from_one_run_or_from_equal_ones():
    assert np.isnan(prediction_interval(70, 0.0, 3)[1:]).all() and np.isnan(prediction_interval(70, 1.0, 1)[1:]).all()


def test_the_page_counts_verdicts_and_folds_cells(laptop):
    text = page(laptop, "Scoreboard", "snakemake scoreboard", TEMPLATE)
    is_result = laptop["verdict"].isin(COMPUTED)
    items = len(laptop.assign(is_result=is_result)[["paper", "item", "is_result"]].drop_duplicates())
    assert text.count("<details") == items + 2 and text.count('<details class="item" open') == 1
    assert text.count("<tr") == len(laptop) + items + 1 + len(PUBLISHED)  # cells, heads, counts by paper
    within = (laptop["paper"] == "liu2020") & (laptop["item"] == "table3")
    assert text.index(f"liu2020, table3: {within.sum()} within</summary>") < text.index("Without a result here")
    assert f"{is_result.sum()} have a result here" in text
    assert "http" not in text and ">nan<" not in text


@pytest.mark.long
def test_the_rule_tells_of_the_tables_that_exist_and_starts_nothing_else(tmp_path):
    root, target, job = copy_repository(tmp_path), f"{RESULTS}/scoreboard.csv", ["Set the printed cells beside ours"]
    assert planned(root, target) == job
    tiny(root, target)
    board = pd.read_csv(root / target)
    assert set(board["verdict"]) == {NOT_RUN, NO_TABLE, CITED, ILLEGIBLE} and planned(root, target) == []
    with checksummed(root / RESULTS / "liu2020/table3.csv") as temporary:
        temporary.write_bytes((ROOT / "docs/results/laptop/liu2020/table3.csv").read_bytes())
    assert planned(root, target) == job
    tiny(root, target)
    board = pd.read_csv(root / target)
    assert (board["verdict"] == WITHIN).sum() == 14 and planned(root, target) == []
    assert not (root / RESULTS / "models").exists()
