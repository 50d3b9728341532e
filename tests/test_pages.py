"""Pages to read: how a table is laid out, what its names mean, and what is said of encoder, seeds and corpora."""

import csv
import re
from copy import deepcopy
from pathlib import Path

import pytest
from crosslens.config.base import languages_table
from crosslens.config.presets import read_yaml
from crosslens.corpora.sources.registry import load as load_sources
from crosslens.jobs.call import COMMAND
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.records import write_json
from crosslens.numerics import definitions
from crosslens.papers import papers
from crosslens.papers.configuration import load
from crosslens.reports.about import About
from crosslens.reports.cells import line, set_apart, table
from crosslens.reports.figures.save import save
from crosslens.reports.pages import _item, meanings, page
from crosslens.reports.pages import table as laid_out
from crosslens.reports.provenance import write_record, write_table
from crosslens.reports.studies import Studies
from matplotlib.figure import Figure
from study import committed_tables

REPOSITORY = Path(__file__).parents[1]
TERMS = read_yaml(REPOSITORY / "resources/terms.yaml")
LINES = [
    line("EN->X", "REF", "F1", "F1", {"here": 64.1, "low": 63, "high": 65, "sd": 0.5, "seeds": 5, "n": 1234}, 64.17, "few; odd"),
    line("EN->X", "delta <1>-2", "F1", "F1", {"here": -5.5, "seeds": 5}, -5.0, remark="few"),
    line("EN->EN", "REF", "F1", "F1", {"here": 83.3, "seeds": 5}),
    line("EN->DE", "REF", "F1", "F1", {"here": None, "seeds": 0}, 70, remark="no score"),
]


def cells(lines, folder):
    """Lines as a page reads them."""
    table(lines, "muller2021", "table8").to_csv(folder / "table.csv", index=False)
    with (folder / "table.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_cells_have_fixed_decimals_and_numbered_notes(tmp_path):
    found = laid_out(cells(LINES, tmp_path), 2)
    part, without_ours = found["parts"]
    assert (part["corner"], part["columns"], found["notes"]) == ("F1", ["REF", "delta <1>-2"], ["few", "odd", "no score"])
    assert list(part["groups"]) == [""]  # one metric and definition: a line is a row
    (first, second), (third,) = part["groups"][""], without_ours["groups"][""]
    assert [each["name"] for each in (first, second, third)] == ["EN->X", "EN->EN", "EN->DE"]
    reference, delta = first["cells"]
    assert reference == {"here": "64.10", "details": ["63.00 to 65.00", "sd 0.50", "n 1,234"], "published": "64.17",
                         "difference": "-0.07", "notes": [1, 2]}  # fmt: skip
    assert (delta["here"], delta["published"], delta["difference"], delta["notes"]) == ("-5.50", "-5.00", "-0.50", [1])
    assert second["cells"][1] is None and second["cells"][0]["details"] == []
    assert third["cells"][0] == {"here": "", "details": [], "published": "70.00", "difference": "", "notes": [3]}


def groups(lines, decimals):
    """Return the groups of lines that a table shows first."""
    return laid_out(lines, decimals)["parts"][0]["groups"]


def differences(lines, decimals):
    return [cell["difference"] for row in groups(lines, decimals)[""] for cell in row["cells"] if cell]


def test_differences_are_those_of_the_table(tmp_path):
    assert differences(cells(LINES, tmp_path), 2) == ["-0.07", "-0.50", ""]
    set_apart(table(LINES, "muller2021", "table8"), ["the encoder is another"]).to_csv(tmp_path / "apart.csv", index=False)
    with (tmp_path / "apart.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    for decimals in (2, None):
        assert differences(lines, decimals) == ["", "", ""]


@pytest.mark.parametrize(
    ("number", "n", "decimals", "shown"),
    [
        (0.0004, 5, 3, "0.0004"),  # not 0.000
        (0, 5, 3, "0.000"),
        (12345, None, None, "12,345"),
        (1e-6, None, None, "1e-06"),
        (0.02, None, None, "0.02"),
        (60.6, 540, None, "60.60"),  # a score among settings
    ],
)
def test_numbers(tmp_path, number, n, decimals, shown):
    groups_of_lines = groups(cells([line("r", "c", "m", "d", {"here": number, "n": n})], tmp_path), decimals)
    assert groups_of_lines[""][0]["cells"][0]["here"] == shown


@pytest.mark.parametrize(
    ("keys", "headings"),
    [
        # rows one after the other, each under several definitions; a metric that the definition does not name is said too
        ([("A", "F1", "macro F1"), ("A", "share", "cut"), ("B", "F1", "macro F1"), ("B", "share", "cut")],
         [("A", "macro F1", ""), ("A", "cut", "share"), ("B", "macro F1", ""), ("B", "cut", "share")]),
        # definitions one after the other, each of several rows
        ([("A", "LAS", "LAS"), ("B", "LAS", "LAS"), ("A", "F1", "F1"), ("B", "F1", "F1")],
         [("LAS", "A", ""), ("LAS", "B", ""), ("F1", "A", ""), ("F1", "B", "")]),
        # a metric without a definition beside one that has some
        ([("A", "share", "all"), ("B", "share", "all"), ("A", "rate", ""), ("B", "rate", "")],
         [("all, share", "A", ""), ("all, share", "B", ""), ("rate", "A", ""), ("rate", "B", "")]),
        # metrics that have nothing to do with the definitions
        ([("A", "rho", "linear"), ("A", "p", "linear"), ("A", "rho", "RBF"), ("A", "p", "RBF")],
         [("A · rho", "linear", ""), ("A · p", "linear", ""), ("A · rho", "RBF", ""), ("A · p", "RBF", "")]),
        # each row under a definition of its own
        ([("A", "F1", "F1"), ("B", "accuracy", "accuracy")], [("", "A", "F1"), ("", "B", "accuracy")]),
    ],
)  # fmt: skip
def test_lines_are_grouped_by_what_they_share(tmp_path, keys, headings):
    lines = [line(row, "c", metric, definition, {"here": i}) for i, (row, metric, definition) in enumerate(keys)]
    groups_of_lines = groups(cells(lines, tmp_path), 2)
    places = [(heading, row["name"], row["detail"]) for heading, group in groups_of_lines.items() for row in group]
    assert sorted(places) == sorted(headings) and list(groups_of_lines) == list(
        dict.fromkeys(heading for heading, _, _ in headings)
    )


def test_definitions_that_were_not_printed_are_folded_and_constant_ones_are_notes(tmp_path):
    """Each row shows a line: its printed one, or the first of those that it has."""
    lines = [line("A", "x", "F1", "strict", {"here": 1}), line("A", "x", "F1", "plain", {"here": 2}, 3),
             line("B", "x", "F1", "strict", {"here": 4}), line("B", "x", "F1", "plain", {"here": 5}),
             line("bigram", "x", "accuracy", "masked", {"here": 6}),
             line("bigram", "x", "share", "rare", {"here": 7})]  # fmt: skip
    lines += [line(row, column, "share", "texts cut", {"here": 0}) for row in ("A", "B") for column in ("x", "y")]
    lines += [line("A", "y", "F1", "strict", {"here": 8})]
    page_table = laid_out(cells(lines, tmp_path), 2)
    headline, further = (
        {way: [row["name"] for row in group] for way, group in part["groups"].items()} for part in page_table["parts"]
    )
    assert headline == {"plain, F1": ["A", "B"], "masked, accuracy": ["bigram"]}
    assert further == {"strict, F1": ["A", "B"], "rare, share": ["bigram"]} and page_table["parts"][1]["lines"] == 3
    assert [part["columns"] for part in page_table["parts"]] == [["x"], ["x", "y"]]
    assert page_table["constant"] == ["texts cut: 0.00 in every row and column"]


def test_the_lines_that_decide_stand_with_the_printed_ones_and_columns_without_our_values_are_left_out(tmp_path):
    lines = [line("A", "x", "F1", "printed", {"here": 1, "low": 0, "high": 2, "seeds": 1}, 3),
             line("A", "y", "F1", "printed", {"here": None}, 4),
             line("A", "x", "accuracy", "probe", {"here": 5, "seeds": 1}),
             line("A", "x", "accuracy", "other", {"here": 6, "seeds": 1}),
             line("A, de", "all", "F1", "printed", {"here": 7})]  # fmt: skip
    first, folded = laid_out(cells(lines, tmp_path), 1, {("A", "F1", "printed"): 0.25}, ["probe"])["parts"]
    printed, probe = (row for group in first["groups"].values() for row in group)
    assert first["columns"] == ["x"] and (printed["cells"][0]["here"], probe["cells"][0]["here"]) == ("1.0", "5.0")
    assert printed["width"] == "0.2" and printed["cells"][0]["details"] == []  # between runs, and not over texts
    assert folded["columns"] == ["x", "all"] and folded["lines"] == 2


# --- what names mean ------------------------------------------------------------------------------------------------------


def test_a_definition_of_several_parts_is_explained_part_by_part():
    def explained(definition):
        row = {"row": "", "column": "", "metric": "", "definition": definition}
        return set(meanings([row], {"rate": "r"}, known)["definitions"])

    known = dict.fromkeys(("F1", "F1 strict", "paper: F1 (chunks; stray)", "centred", "targets", "targets and English"), "")
    assert explained("F1") == {"F1"} and explained("macro F1") == set() and explained("F1 strict") == {"F1 strict"}
    assert explained("the rate: paper: F1 (chunks; stray)") == {"paper: F1 (chunks; stray)"}
    assert explained("centred; targets and English") == {"centred", "targets and English"}


def test_names_are_explained_by_the_longest_terms_that_they_contain():
    names = {"Init.": "a", "Init. sd": "b", "UDPOS": "c", "EN->": "d", "no": "e"}
    rows = [{"row": "EN->X", "column": "UDPOS Init. sd", "metric": "", "definition": "no: F1"}]
    assert meanings(rows, names, {"F1": "f"}) == {"names": {"Init. sd": "b", "UDPOS": "c", "EN->": "d", "no": "e"},
                                                  "definitions": {"F1": "f"}}  # fmt: skip


def test_every_name_in_tables_is_explained():
    tables = [path for path in committed_tables() if path.stem != "dataset_sizes"]
    assert len(tables) > 10
    blank = dict.fromkeys(("row", "column", "metric", "definition"), "")
    rows_by_code = languages_table()
    languages = rows_by_code.keys() | {row["name"].upper() for row in rows_by_code.values()}  # they name themselves
    for path in tables:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        for kind in ("row", "column", "definition"):
            for name in {row[kind] for row in rows if row[kind]} - languages:
                if rows[0]["item"] == "table5" and re.fullmatch(r"\d+(-\d+)?", name):
                    continue  # sets of layers, as its caption says
                found = meanings([blank | {kind: name}], TERMS["names"][rows[0]["paper"]], TERMS["definitions"])
                assert found["names"] or found["definitions"], f"{path}: {kind} {name!r}"


def test_every_definition_of_a_measure_has_a_meaning():
    assert {value for name, value in vars(definitions).items() if name.isupper()} - TERMS["definitions"].keys() == set()
    assert TERMS["names"].keys() <= {paper.key for paper in papers()}


# --- encoder, seeds, corpora ----------------------------------------------------------------------------------------------

E5 = {"source": "packaged", "id": "intfloat/multilingual-e5-small", "revision": "f" * 40}


def about(values, changes):
    """The `About` of the full study with some changed values. changes: key.key -> value."""
    changed = deepcopy(values)
    for place, value in changes.items():
        *parents, last = place.split(".")
        section = changed
        for key in parents:
            section = section[key]
        section[last] = value
    return About(Studies(load(changed), papers()), Studies(load(values), papers()), load_sources())


def settings(found, place):
    """Of the page of an item."""
    key, name = place.split("/")
    paper = next(paper for paper in papers() if paper.key == key)
    return found.page(paper, {name: paper.items(found.config)[name]}, report=False)


def test_the_full_study_is_comparable_with_itself(values):
    found = about(values, {})
    for paper in found.here.papers:
        whole = found.page(paper, paper.items(found.config), report=True)
        assert whole["apart"] == []
    table1 = settings(found, "tanti2021/table1")
    assert table1["facts"]["Encoder"] == "mbert: google-bert/bert-base-multilingual-cased, revision 3f076fdb1ab6"
    assert table1["facts"]["Seeds"] == "0" and table1["facts"]["Preset"] == "published, in results"
    assert list(table1["corpora"]) == ["udpos", "wikipedia", "xnli"]
    assert table1["corpora"]["xnli"].startswith("MultiNLI 1.0 and XNLI 1.0; 14 languages: ar, bg, ")
    assert "pud" not in settings(found, "muller2021/table8")["corpora"]
    assert "pud" in settings(found, "muller2021/figure8")["corpora"]  # whose states are compared
    assert settings(found, "tanti2021/table5")["corpora"] == settings(found, "tanti2021/figure2")["corpora"] == {}


DEPARTURES = {  # what changes -> which items say so, and how
    "encoder": ({"encoders.mbert": E5}, {"tanti2021/table1", "muller2021/table8"},
                f"the encoder is {E5['id']} (quantised to 4 bits), not google-bert/bert-base-multilingual-cased"),
    "folder": ({"encoders.mbert": {"source": "folder", "path": "/home/name/my-bert", "corpora": []}}, {"tanti2021/table1"},
               "the encoder is my-bert, not google-bert/bert-base-multilingual-cased"),
    "source": ({"corpora.xnli.source": "xnli-mt"}, {"tanti2021/table1", "tanti2021/figure4"}, "the corpus xnli differs"),
    "languages": ({"corpora.wikiann.languages": ["en", "de"], "corpora.wikiann.source_languages": ["en"],
                   "papers.muller2021.source_languages": ["en"]}, {"muller2021/table8"}, "the corpus wikiann differs"),
    "limits": ({"corpora.udpos.limits": {"train": 9}}, {"tanti2021/table1", "tanti2021/dataset_sizes"},
               "the corpus udpos differs"),
}  # fmt: skip
ITEMS = ("tanti2021/table1", "tanti2021/figure4", "tanti2021/table5", "tanti2021/dataset_sizes", "muller2021/table8")


@pytest.mark.parametrize("change", DEPARTURES)
def test_what_departs_from_the_full_study_is_said_where_it_counts(values, change):
    changes, places, reason = DEPARTURES[change]
    found = about(values, changes)
    said = {place: "; ".join(settings(found, place)["apart"]) for place in ITEMS}
    assert all(said[place].startswith(reason) for place in places)
    assert settings(found, "tanti2021/table5")["apart"] == []  # printed hyperparameters do not rest on an encoder
    others = {place for place in ITEMS if place.partition("/")[0] != next(iter(places)).partition("/")[0]}
    assert change in ("encoder", "folder") or all(said[place] == "" for place in others)


def test_seeds_and_corpora_are_told_with_those_of_the_full_study(values):
    languages = ["en", "de", "cy"]
    limits = {"train": 1200, "test": 20}
    found = about(values, {
        "corpora.wikiann.languages": languages, "corpora.wikiann.source_languages": ["en"], "corpora.wikiann.limits": limits,
        "corpora.wikiann.source": "panx", "corpora.wikiann.note": "a note", "papers.muller2021.source_languages": ["en"],
        "papers.muller2021.seeds": [3],
    })  # fmt: skip
    table8 = settings(found, "muller2021/table8")
    assert table8["facts"]["Seeds"] == "3 (the full study: 0, 1, 2, 3, 4)"
    assert table8["corpora"]["wikiann"] == (
        "WikiANN as prepared by XTREME (PAN-X) instead of WikiANN (PAN-X); 2 of the paper's 17 languages and 1 more: en, de, cy; "
        "at most 1,200 train texts a language; at most 20 test texts a language; a note"
    )

    (paper,) = (paper for paper in papers() if paper.key == "muller2021")
    assert found.departures(paper, found.uses(paper, paper.items(found.config)["table8"])) == (
        "seeds: 3 (the full study: 0, 1, 2, 3, 4); languages: wikiann 2 of 17; training texts of each language, at most: "
        "wikiann 1,200"
    )


def test_a_study_that_config_yaml_lacks_is_not_comparable(values):
    without = deepcopy(values)
    without["papers"]["muller2021"] = None
    found = About(about(values, {}).here, Studies(load(without), papers()), load_sources())
    assert settings(found, "muller2021/table8")["apart"] == ["config.yaml does not have this study"]


# --- pages ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A figure with its record, where tables are written."""
    monkeypatch.setenv(COMMAND, "snakemake --profile demo")
    monkeypatch.chdir(tmp_path)
    save(Figure(), Path("figure8.svg"), "figure 8")
    write_record("figure8.svg", {}, {}, {})
    return tmp_path


def written(found, folder, *names, report=False, result=""):
    paper = next(paper for paper in papers() if paper.key == "muller2021")
    items = {name: paper.items(found.config)[name] for name in names}
    for name, item in items.items():
        if item.form == "table":  # as the rule writes it
            made = set_apart(table(LINES, paper.key, name), found.apart(paper, found.uses(paper, item)))
            write_table(made, Path(f"{name}.csv"), {}, {})
    files = [folder / f"{name}.{'csv' if name.startswith('table') else 'svg'}" for name in names]
    return page(found.page(paper, items, report), files, TERMS, "snakemake all", result=result)


def training_record(folder, name, **best_epochs):
    """Record of a training run with a stage for each best epoch."""
    stages = [{"name": stage, "epochs": 2} for stage in best_epochs]
    rows = [f"{stage},{epoch},0.5,{best}" for stage, best in best_epochs.items() for epoch in range(3)]
    training = folder / "models" / name
    training.mkdir(parents=True)
    (training / "history.csv").write_text("\n".join(["stage,epoch,score,best_epoch", *rows, ""]))
    record = {"recipe": {"name": name, "stages": stages}, "seed": 1, "seconds": 1.0, "data_sha256": {}, "content_sha256": {}}
    write_json(record, training / "record.json")
    write_checksums(training / "history.csv")
    return training / "record.json"


def test_a_page_names_trainings_whose_start_was_best(values, folder):
    best_epochs = {"p/kept": {"task": 0, "language": 2}, "p/learnt": {"task": 1}, "p/none": {}}
    records = [training_record(folder, name, **best) for name, best in best_epochs.items()]
    for files, said in (({"records": records}, ["p/kept, seed 1 (task)."]), ({"records": records[1:]}, [])):
        write_record("figure8.svg", {}, files, {})
        text = written(about(values, {}), folder, "figure8")
        assert re.findall(r"Not trained, in effect: .* which were kept, in (.*)</p>", text) == said


def test_a_page_tells_the_share_of_unknown_subwords_that_were_kept(values, folder):
    write_record("figure8.svg", {}, {}, {"muller2021": {"unknown_subwords": {"pud": {"Chinese": 0.631}, "udpos": {}}}})
    text = written(about(values, {}), folder, "figure8")
    (said,) = re.findall('<p class="warning">(Texts of .*)</p>', text)
    assert said.startswith("Texts of pud with unknown subwords were kept") and said.endswith(": Chinese 63.1 %.")


def test_a_page_stands_alone(values, folder):
    text = written(about(values, {"encoders.mbert": E5}), folder, "table8")
    assert re.findall('href="([^"]*)"', text) == ["table8.csv", "table8.csv.json"] and "://" not in text and "<script" not in text
    for wanted in (
        "Not comparable with the paper's numbers: the encoder is intfloat/multilingual-e5-small (quantised to 4 bits)",
        "<dt>REF</dt><dd>no layer is re-initialised before fine-tuning</dd>",
        "<code>snakemake --profile demo table8.csv</code>",
        '<th scope="col">delta &lt;1&gt;\u20112</th>',  # no line ends within it
        "<b>64.1<sup>1,2</sup></b>",
    ):
        assert wanted in text, wanted
    assert "(-0.07)" not in text and "±" not in text
    comparable = written(about(values, {}), folder, "table8")
    assert "Not comparable" not in comparable and '<span class="published">paper 64.2 (-0.1)</span>' in comparable


@pytest.mark.parametrize(("numbers", "said"), [({"here": 1.0, "n": 3}, True), ({"here": 1.0}, False)])
def test_a_caption_says_what_is_below_values_only_where_something_is(folder, numbers, said):
    write_table(table([line("a", "b", "F1", "F1", numbers)], "muller2021", "table8"), Path("table8.csv"), {}, {})
    below = " Below a value are its 95 % interval (from t), if there is one, and n, the number of units."
    settings = {"caption": f"Scores.{below} More.", "decimals": 1, "decides": []}
    assert _item(settings, folder / "table8.csv", {}, {}, {})["caption"] == f"Scores.{below if said else ''} More."


def test_a_report_has_contents_and_whatever_it_shows_in_one_file(values, folder):
    text = written(about(values, {}), folder, "table8", "figure8", report=True, result="The probe is right.")
    assert text.index("The probe is right.") < text.index('id="summary"')
    links, ids, sources = (re.findall(f'{name}="([^"]*)"', text) for name in ("href", "id", "src"))
    inside = {link.removeprefix("#") for link in links if link.startswith("#")}
    assert inside == {"table8", "figure8"} <= set(ids) and text.index('id="summary"') < text.index('id="table8"')
    assert [source.partition(",")[0] for source in sources] == ["data:image/svg+xml;base64"] and "://" not in text
    assert re.search(r"Grid search.*\(<code>results/muller2021/table3_search.html</code>\)", text)  # not shown, but named
