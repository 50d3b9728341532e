"""Captions name as many seeds as there are."""

import re
from copy import deepcopy

import pytest
from crosslens.papers import papers
from crosslens.papers.configuration import load
from crosslens.papers.wording import by_seeds, interval
from crosslens.reports.studies import Studies

OVER_SEEDS = re.compile(r"over (the |\d+ )?seeds|of a single seed")
SAY_INTERVALS = {
    "tanti2021": {"table1", "table2", "table3", "footnote6", "findings", "languages", "epochs", "units"},
    "muller2021": {"table1", "table2", "table5", "table6", "table7", "table8", "change"},
    "liang2021": {f"table{number}" for number in range(1, 7)},
    "wu2019": {"table2", "table3", "table4", "table5", "table6", "figure1", "figure1_cells", "figure3"},
    "liu2020": {"figure2", "figure4", "figure6", "table4", "nli", "languages"},
}


def captions(values, seeds):
    """Paper -> item -> caption, with these seeds for every training run."""
    values = deepcopy(values) | {"seeds": seeds}
    for section in values["papers"].values():
        section["seeds"] = seeds
    del values["papers"]["tanti2021"]["seeds"]
    for task in values["papers"]["tanti2021"]["tasks"].values():
        for run in task["runs"].values():
            run.pop("seeds", None)
    config = load(values)
    return {
        paper.key: {name: item.caption for name, item in paper.items(config).items()}
        for paper in Studies(config, papers()).papers
    }


def test_no_caption_speaks_of_intervals_over_seeds_where_there_is_one(values):
    for paper, by_item in captions(values, [7]).items():
        said = {name: OVER_SEEDS.findall(text) for name, text in by_item.items()}
        assert not {name: words for name, words in said.items() if words}, paper


def test_captions_say_over_how_many_seeds_intervals_are(values):
    by_paper = captions(values, [7, 8, 9, 10])
    for paper, names in SAY_INTERVALS.items():
        assert {name for name, text in by_paper[paper].items() if "over 4 seeds" in text} == names
    for by_item in by_paper.values():
        assert not {name for name, text in by_item.items() if re.search(r"over (the )?seeds", text)}


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([1], "a bootstrap"),
        ([3, 3], "over 3"),
        ([5, 3], "over 3 or 5"),
        ([1, 3], "over 3 or, of a single seed, a bootstrap"),
        ([], ""),
    ],
)
def test_clauses(numbers, text):
    assert by_seeds(numbers, "over {}", "a bootstrap") == text
    assert interval([2]) == "Student's t over 2 seeds"
