"""How far a value of a single seed may be from that of another run, and the tables over several seeds that tell it."""

from pathlib import Path

import pytest
from crosslens.reports import spread as spreads
from crosslens.reports.pages import table
from crosslens.reports.spread import spread

ROOT = Path(__file__).parents[1]


def cell(row, column, sd, seeds="3"):
    return {"row": row, "column": column, "metric": "accuracy", "definition": "", "here": "0.5", "low": "", "high": "", "sd": sd,
            "seeds": seeds, "n": "", "published": "", "difference": "", "remark": ""}  # fmt: skip


def test_the_spread_of_a_line_pools_its_cells():
    cells = [cell("tags", "a", "3"), cell("tags", "b", "4"), cell("tags", "c", ""), cell("same", "a", "0")]
    # t with 4 degrees of freedom, of the difference of two runs with variance (9 + 16) / 2 each
    assert spread(cells) == pytest.approx({("tags", "accuracy", ""): 2.776445 * 5})


def test_lines_of_one_seed_say_how_far_another_run_may_be():
    cells = [cell("tags", "a", "", seeds="1"), cell("tags", "b", ""), cell("trees", "a", "2", seeds="5"), cell("trees", "b", "")]
    (part,) = table(cells, 1, {("tags", "accuracy", ""): 6.0832, ("trees", "accuracy", ""): 2.0})["parts"]
    assert [line["width"] for lines in part["groups"].values() for line in lines] == ["6.1", ""]
    (part,) = table(cells, 1)["parts"]
    assert {line["width"] for lines in part["groups"].values() for line in lines} == {""}


def test_tables_over_several_seeds_are_found_by_their_place(tmp_path):
    assert spreads.tables(ROOT, "demo", ["table1", "no_such_table"]) == [ROOT / "docs/results/demo-seeds/table1.csv"]
    assert spreads.tables(tmp_path, "demo", ["table1"]) == []
