"""A sixth paper, tests/sixth, added to a copy of the repository as docs/new-paper.md says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from crosslens.jobs.parquet import metadata
from crosslens.papers.inputs import inputs
from sklearn.neighbors import NearestNeighbors
from study import OVERLAY, REPOSITORY, RESULTS, copy_repository, counts, edit, planned, tiny

SIXTH = REPOSITORY / "tests/sixth"
SVG = "{http://www.w3.org/2000/svg}"


def add_paper(root: Path) -> None:
    for folder in ("workflow", "resources"):
        shutil.copytree(SIXTH / folder, root / folder, dirs_exist_ok=True)
    edit(root / "workflow/crosslens/papers/__init__.py", ('")\n', '", "pires2019")\n'))
    last = '"units": Kind("units", "encoder"),\n'
    row = '    "nearest_translation": Kind("nearest_translation", "states"),\n'
    edit(root / "workflow/crosslens/measures/kinds.py", (last, last + row))
    overlay = root / OVERLAY
    overlay.write_text(overlay.read_text() + (SIXTH / "section.yaml").read_text())


def curves(figure: Path) -> dict[str, list[float]]:
    """Values of a figure's curves by their names in the legend, read off the vertical axis."""
    axes = ElementTree.parse(figure).find(f".//{SVG}g[@id='axes_1']")
    assert axes is not None
    ticks = [tick for tick in axes.iter(f"{SVG}g") if tick.get("id", "").startswith("ytick_")]
    labels = [float(next(tick.iter(f"{SVG}text")).text or "nan") for tick in ticks]
    scale = np.polyfit([float(next(tick.iter(f"{SVG}use")).get("y", "nan")) for tick in ticks], labels, 1)
    values = {}
    for colour, points in _lines(axes):
        values[colour] = [float(np.polyval(scale, float(point.get("y", "nan")))) for point in points]
    legend = axes.find(f"{SVG}g[@id='legend_1']")
    assert legend is not None
    names = [text.text or "" for text in legend.iter(f"{SVG}text")]
    return {name: values[colour] for name, (colour, _) in zip(names, _lines(legend), strict=True)}


def _lines(group: ElementTree.Element) -> list[tuple[str, list[ElementTree.Element]]]:
    """Colour and points of the lines directly in a group that have points."""
    lines = [line for line in group.findall(f"{SVG}g") if line.get("id", "").startswith("line2d_")]
    points = [list(line.iter(f"{SVG}use")) for line in lines]
    return [(re.findall("#[0-9a-f]{6}", places[0].get("style", ""))[0], places) for places in points if places]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sixth paper's table and figure, and what they are made of."""
    root = copy_repository(tmp_path_factory.mktemp("sixth"))
    add_paper(root)
    edit(root / OVERLAY, ("  parallel: 6\n", "  parallel: 12\n"))  # of two sentences, both would have the right neighbour or none
    names = ("table2.csv", "figure3.svg", "figure3_tuned.svg", "figure3_tuned.html")
    tiny(root, *(f"{RESULTS}/pires2019/{name}" for name in names))
    return root / RESULTS


@pytest.mark.long
def test_a_new_paper_and_a_new_measure_rerun_nothing_of_the_others(own):
    add_paper(own)
    assert planned(own) == sorted([
        "Train pires2019/pos/en, seed 0",
        "Draw pires2019/parallel",
        "Store hidden states of pires2019/pretrained, seed 0",
        "Measure classification of pires2019/pos/en",
        "Measure nearest_translation of pires2019/pretrained, seed 0",
        "Make pires2019/table2",
        "Draw pires2019/figure3",
        "Measure nearest_translation@pires2019 of muller2021/pos/en/ref, seed 0",
        "Draw pires2019/figure3_tuned",
        "Lay out pires2019/table2",
        "Lay out pires2019/figure3",
        "Lay out pires2019/figure3_tuned",
        "Lay out pires2019/report",
        "Gather the records of pires2019",
    ])  # fmt: skip
    said = tiny(own, "-n", f"{RESULTS}/measures/clusters/pires2019/pos/en/seed0.parquet", works=False)
    assert "measures/clusters/pires2019/pos/en: expected a measure whose settings the paper of the recipe states" in said


@pytest.mark.long
def test_the_example_has_the_types_that_the_library_expects(tmp_path):
    root = copy_repository(tmp_path)
    add_paper(root)
    if (REPOSITORY / ".mypy_cache").is_dir():
        shutil.copytree(REPOSITORY / ".mypy_cache", root / ".mypy_cache")
    packages = ("-p", "crosslens.papers.pires2019", "-p", "crosslens.measures.nearest_translation")
    done = subprocess.run([sys.executable, "-m", "mypy", *packages], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_the_table_of_a_new_paper(results):
    words = pd.read_parquet(results / "models/pires2019/pos/en/seed0/predictions.parquet").explode(["gold", "predicted"])
    accuracy = 100 * (words["gold"] == words["predicted"]).groupby(words["language"].str.upper()).mean()
    table = pd.read_csv(results / "pires2019/table2.csv").set_index("column")
    assert list(table.index) == ["DE", "EN", "TR"] and set(table["row"]) == {"EN"} and accuracy["EN"] > 30
    np.testing.assert_allclose(table["here"], accuracy[table.index], atol=0.005)
    np.testing.assert_array_equal(table["published"], [89.40, 96.82, np.nan])
    assert not table["comparable"].any() and table["difference"].isna().all()
    assert set(table["reason"]) == {"config.yaml does not have this study"}


@pytest.mark.long
def test_the_figure_of_a_new_paper(results):
    check_figure(curves(results / "pires2019/figure3.svg"), results / "states/pires2019/pretrained/seed0/pud")


@pytest.mark.long
def test_a_figure_over_the_recipe_of_another_paper(results):
    """Its kind is one that the other paper does not ask for."""
    check_figure(curves(results / "pires2019/figure3_tuned.svg"), results / "states/muller2021/pos/en/ref/seed0/pud")
    page = (results / "pires2019/figure3_tuned.html").read_text(encoding="utf-8")
    assert "in a tagger of muller2021" in page and "muller2021_ud" in page  # on which that tagger was trained
    record = metadata(results / "measures/nearest_translation@pires2019/muller2021/pos/en/ref/seed0.parquet")
    assert record["settings"] == {"corpus": "pud", "reference": "en"}


@pytest.mark.long
def test_the_configuration_asks_for_a_measure_of_any_recipe(own):
    with open(own / OVERLAY, "a", encoding="utf-8") as overlay:
        overlay.write((SIXTH / "measures.yaml").read_text())
    target = f"{RESULTS}/measures/clusters@mine/tanti2021/pos/finetuned/seed0.parquet"
    assert counts(tiny(own, target)) == {"measure_states": 1, "total": 1}
    assert metadata(own / target)["settings"] == {"corpora": ["udpos"], "runs": 9}


@pytest.mark.long
def test_a_misspelt_kind_of_a_need_is_one_line(own):
    add_paper(own)
    edit(own / "workflow/crosslens/papers/pires2019/items.py", ('Need("nearest_translation"', 'Need("nearest_translatoin"'))
    said = tiny(own, "-n", f"{RESULTS}/pires2019/figure3.svg", works=False)
    expected = "pires2019: Need: expected a kind of measure, a line of workflow/crosslens/measures/kinds.py, found"
    assert f"{expected} 'nearest_translatoin'; did you mean 'nearest_translation'?" in said.split("\n")
    assert "Traceback" not in said


def check_figure(sampled: dict[str, list[float]], states: Path) -> None:
    """Compare a figure's curves with nearest neighbours by scikit-learn."""
    assert sampled.keys() == {"EN-AR", "EN-DE", "EN-ES", "EN-FR", "EN-HI", "EN-TR"}
    for name, values in sampled.items():
        english, other = (pd.read_parquet(states / f"{language}.parquet") for language in ("en", name[-2:].lower()))
        expected = []
        for layer in (f"layer_{number}" for number in range(3)):
            source, target = np.stack(english[layer]), np.stack(other[layer])
            nearest = NearestNeighbors(n_neighbors=1).fit(target).kneighbors(source - source.mean(0) + target.mean(0))[1]
            expected.append(100 * np.mean(nearest[:, 0] == np.arange(len(source))))
        np.testing.assert_allclose(values, expected, atol=0.01)


def test_the_tutorial_quotes_the_modules():
    files = [path.read_text(encoding="utf-8") for path in SIXTH.rglob("*") if path.suffix in (".py", ".yaml", ".csv")]
    for page in ("new-paper", "new-measure"):
        text = (REPOSITORY / f"docs/{page}.md").read_text(encoding="utf-8")
        quoted = re.findall(r"```(?:python|yaml)\n(.*?)```", text, re.DOTALL)
        assert quoted and all(any(part in file for file in files) for part in quoted), page


def test_a_paper_without_published_values_has_none():
    made = inputs({"needs": [], "corpora": [], "samples": []}, {})
    assert made.published.value("table2", "EN", "DE") is None and made.cited is None
