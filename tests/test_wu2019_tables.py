"""wu2019: tables 1 to 6 and figure 1 from made-up records: printed cells, means, what is cited, what is missing."""

from pathlib import Path

import pandas as pd
import pytest
from crosslens.jobs.errors import DataError
from crosslens.papers.wu2019 import figures, layers, tables
from crosslens.papers.wu2019.names import CELLS, FULL, RELEASED_ROOT, TABLES, TAGS, Study
from crosslens.reports.cells import COLUMNS, Published
from goldens import assert_golden

PUBLISHED = Published.read(Path(__file__).parents[1] / "resources/published/wu2019.csv")
TESTS = {task: tables._printed(PUBLISHED, table) for task, table in TABLES.items()}
ZERO, OWN = "Zero-shot cross-lingual transfer | mBERT", "In language supervised learning | mBERT"


def study(tests=TESTS, trains=None, **fields):
    trains = tests if trains is None else trains
    places = [{task: {code: f"{task} data" for code in codes} for task, codes in each.items()} for each in (tests, trains)]
    fields = {"frozen": [0, 3], "features": True, "released_root": True, "names": {"en": "English"}, "substitutes": {}} | fields
    return Study("en", *places, **fields)


def records(shown, definitions, seeds=(0,), missing=()):
    """Scores of every recipe of a study, of a value that tells the recipe, the language, the definition and the seed apart."""
    rows = []
    for task in shown.tasks:
        variants = [FULL, *shown.variants, *([TAGS, RELEASED_ROOT] if task == "parsing" else [])]
        recipes = {shown.zero_shot(task, variant): shown.tests[task] for variant in variants}
        recipes |= {name: [code] for code, name in shown.in_language(task).items() if code != shown.source}
        for (name, codes), seed in ((each, seed) for each in recipes.items() for seed in seeds):
            shared = {"recipe": name, "seed": seed, "task": task, "split": "test", "n": 100, "low": 0.1, "high": 0.9}
            shared |= {"measure": "score"}
            rows += [
                shared | {"language": code, "definition": definition, "value": value(name, code, definition, seed)}
                for code in codes for definition in definitions if (name, code, seed) not in missing
            ]  # fmt: skip
    return pd.DataFrame(rows)


def value(*parts):
    return int.from_bytes("|".join(map(str, parts)).encode(), "little") % 9973 / 10000


def made(name, shown, definitions, **options):
    found = tables.table_of(name, records(shown, definitions, **options), PUBLISHED, shown)
    assert list(found.columns) == list(COLUMNS) and not found.duplicated(["row", "column", "metric", "definition"]).any()
    return found.set_index(["row", "column", "definition"])


@pytest.mark.parametrize("name", ["table2", "table4", "table5"])
def test_means_are_over_the_languages_of_the_printed_mean(name):
    found = tables.table_of(name, records(study(), ["accuracy", "F1"], seeds=(0, 1)), PUBLISHED, study())
    means = found["column"].str.startswith("Average") & found["here"].notna()
    assert_golden(found[means], f"wu2019/means_of_{name}")
    assert tables.ALL not in set(found["column"])


@pytest.mark.parametrize(("name", "languages"), [("table2", ["en", "de", "sw"]), ("table6", ["en", "zh", "sw"])])
def test_missing_and_further_languages(name, languages):
    """Few languages are configured, one is not in print, one lacks training data, one a score of a seed."""
    task = "topic" if name == "table2" else "parsing"
    shown = study(TESTS | {task: languages}, TESTS | {task: [languages[0], languages[2]]})
    gap = {(f"wu2019/{task}/en/full", languages[1], 1)}
    found = tables.table_of(name, records(shown, ["accuracy", *tables.OF_TREES], seeds=(0, 1), missing=gap), PUBLISHED, shown)
    assert_golden(found[found["here"].notna() | found["row"].str.contains("mBERT")], f"wu2019/{name}")
    cited = found["remark"].str.contains("cited")
    assert cited.any() and found[cited]["here"].isna().all()


def test_entities_have_a_score_by_window_and_one_without_misc():
    shown = study()
    scored = records(shown, ["F1", "F1 by window"])
    zh = ["wu2019/ner/en/full", "zh"]
    scored.loc[len(scored)] = scored.iloc[0].to_dict() | dict(zip(("recipe", "language"), zh, strict=True)) | {
        "definition": "F1, MISC as O", "value": 0.5, "task": "ner"}  # fmt: skip
    scored.loc[len(scored)] = scored.iloc[-1].to_dict() | {
        "definition": "entities that cross the edge of a window", "measure": "cut", "value": 0.02, "n": 200}  # fmt: skip
    found = tables.table_of("table4", scored, PUBLISHED, shown)
    chosen = (found["row"] == ZERO) & found["column"].isin(["de", "zh"])
    assert_golden(found[chosen], "wu2019/windows")


def test_parsers():
    found = tables.table_of("table6", records(study(), tables.OF_TREES), PUBLISHED, study())
    assert_golden(found[found["row"].isin(["zh*", "de", "AVER"])], "wu2019/parsers")
    plain = tables.table_of("table6", records(study(), tables.OF_TREES), PUBLISHED, study(released_root=False))
    assert set(found["column"]) - set(plain["column"]) == {"mBERT(Z), released root"}


def test_languages_of_tasks():
    shown = study({"pos": ["en", "de", "yo"], "ner": ["en"]})
    found = tables.table_of("table1", pd.DataFrame(), PUBLISHED, shown)
    assert found["row"].nunique() == 40 and set(found["here"]) == set(found["published"]) == {0, 1}
    counts = found.groupby("column", sort=False)[["here", "published"]].sum()
    assert counts["published"].tolist() == [8, 15, 5, 15, 31] and counts["here"].tolist() == [0, 0, 1, 3, 0]
    yo = found[(found["row"] == "yo") & (found["column"] == "POS tagging")].iloc[0]
    assert (yo["here"], yo["published"]) == (1, 0)


@pytest.mark.long
def test_printed_means_that_are_not_those_of_the_printed_cells():
    """Table 2, Schwenk and Li in each language, and figure 1c with 3 blocks frozen; no others."""
    odd = [
        (name, row, remark)
        for name in TABLES.values()
        for (row, _, _), remark in made(name, study(), ["accuracy", "F1", *tables.OF_TREES])["remark"].items()
        if "printed cells" in remark
    ]
    cells = layers.table_of("figure1_cells", records(study(), ["accuracy", "F1", *tables.OF_TREES]), PUBLISHED, study())
    odd += [(line.item, line.row, line.remark) for line in cells.itertuples() if "printed cells" in line.remark]
    assert odd == [
        ("table2", "In language supervised learning | Schwenk and Li (2018)", "the mean of the 8 printed cells is 89.56; cited"),
        ("figure1_cells", "Named entities: Lay 3", "the mean of the 5 printed cells is 74.36"),
    ]


# --- figure 1 ---------------------------------------------------------------------------------------------------------------


def printed_study():
    """With the languages of the figure's panels."""
    cells = {task: PUBLISHED.table[PUBLISHED.table["item"] == item] for task, item in CELLS.items()}
    tests = {task: [code for code in part["column"].unique() if code != layers.AVERAGE] for task, part in cells.items()}
    return study(tests, frozen=[0, 3, 6, 9])


@pytest.mark.long
def test_what_layers_change_in_figure_1():
    """The zero-shot means with English are 74.45, 85.15 and 54.2."""
    shown = printed_study()
    found = layers.table_of("figure1_cells", records(shown, ["accuracy", "F1", *tables.OF_TREES]), PUBLISHED, shown)
    chosen = found["row"].isin(["Document classification: Lay 6", "POS tagging: Lay 3", "Dependency parsing: Lay 3"])
    assert_golden(found[chosen & found["column"].isin(["de", "AVER"])], "wu2019/figure1_cells")


def test_the_heat_map_has_a_panel_a_task_and_languages_by_score():
    shown = printed_study()
    found = records(shown, ["accuracy", "F1", *tables.OF_TREES])
    figure = figures.heat_map(found, shown)
    rows = []
    for axis in figure.axes[:5]:
        columns, names = ([text.get_text() for text in labels] for labels in (axis.get_xticklabels(), axis.get_yticklabels()))
        texts = iter([text.get_text() for text in axis.texts])
        lines = [("", columns), *((name, [next(texts) for _ in columns]) for name in names)]
        rows += [(axis.get_title(loc="left"), name, " ".join(line)) for name, line in lines]
    assert_golden(pd.DataFrame(rows, columns=["panel", "name", "values"]), "wu2019/figure1")
    two = study({"ner": ["en", "de"], "pos": ["en"]})
    assert len(figures.heat_map(records(two, ["accuracy", "F1"]), two).axes) == 3
    with pytest.raises(DataError, match="figure1: expected scores with frozen bottom layers or from features, found none"):
        figures.heat_map(found[found["recipe"].str.endswith("/full")], shown)
