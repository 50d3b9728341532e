"""Captions name as many seeds as there are."""

import re
from copy import deepcopy
from types import SimpleNamespace

import pandas as pd
import pytest
from crosslens.numerics.definitions import ACCURACY
from crosslens.papers import papers
from crosslens.papers.configuration import load
from crosslens.papers.wording import by_seeds, interval
from crosslens.papers.wu2019 import identification
from crosslens.papers.wu2019.names import IDENTIFICATION, UNTRAINED
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


def test_a_table_whose_trainings_have_other_numbers_of_seeds_says_what_holds_of_each(values):
    values = deepcopy(values) | {"seeds": [0, 1]}
    for run in values["papers"]["tanti2021"]["tasks"]["pos"]["runs"].values():
        run["seeds"] = [0]
    (tanti,) = (paper for paper in papers() if paper.key == "tanti2021")
    text = " ".join(tanti.items(load(values))["table1"].caption.split())
    assert "Student's t over 2 seeds or, of a single seed, the jackknife over texts; and n" in text


def note_of_identification(seeds, values):
    """values: by layer."""
    rows = [
        {"recipe": recipe, "seed": seed, "item": f"layer {layer}", "language": language, "split": "test", "definition": ACCURACY,
         "value": value, "low": 0.8, "high": 1.0}
        for recipe in (IDENTIFICATION, UNTRAINED) for seed in seeds for layer, value in enumerate(values)
        for language in ("all", "de", "fr")
    ]  # fmt: skip
    layers = dict.fromkeys((IDENTIFICATION, UNTRAINED), [f"layer {layer}" for layer in range(len(values))])
    drawn = identification.figure("figure2", SimpleNamespace(records=lambda: pd.DataFrame(rows)), {"layers": layers})
    return " ".join(drawn.get_supxlabel().split())


@pytest.mark.parametrize(("seeds", "bands"), [([0], "95 % interval over texts"), ([0, 1], "range over 2 seeds")])
def test_a_figure_says_what_its_bands_are(seeds, bands):
    assert note_of_identification(seeds, [0.9, 0.9]).endswith(f"Bands: {bands}.")


def test_a_figure_says_how_many_layers_lie_at_the_ceiling():
    said = "2 of 3 layers, pretrained, lie at the ceiling, at most 0.03 below 1."
    assert note_of_identification([0], [0.98, 0.96, 1.0]).endswith(said)


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
