"""A sixth paper, tests/sixth, added to the tiny study as docs/new-paper.md says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from crosslens.jobs.parquet import metadata
from crosslens.papers.inputs import inputs
from sklearn.neighbors import NearestNeighbors
from study import ALL, OVERLAY, REPOSITORY, RESULTS, add_kind, changed, edit, planned, tiny

SIXTH = REPOSITORY / "tests/sixth"
MINE = f"{RESULTS}/measures/clusters@mine/tanti2021/pos/finetuned/seed0.parquet"
TUNED = "nearest_translation@pires2019"


NEW = [  # jobs of the sixth paper
    "Train pires2019/pos/en, seed 0",
    "Sample pires2019/parallel",
    "Store hidden states of pires2019/pretrained, seed 0",
    "Measure classification of pires2019/pos/en",
    "Measure nearest_translation of pires2019/pretrained, seed 0",
    "Measure nearest_translation@pires2019 of muller2021/pos/en/ref, seed 0",
    "Make pires2019/table2",
    "Draw pires2019/figure3",
    "Draw pires2019/figure3_tuned",
    "Lay out pires2019/table2",
    "Lay out pires2019/figure3",
    "Lay out pires2019/figure3_tuned",
    "Lay out pires2019/report",
    "Gather the records of pires2019",
]


@pytest.fixture(scope="module")
def root(edited: Path) -> Path:
    """The tiny study with the sixth paper and a measure that the configuration asks for, which are not built yet."""
    for folder in ("workflow", "resources"):
        shutil.copytree(SIXTH / folder, edited / folder, dirs_exist_ok=True)
    edit(edited / "workflow/crosslens/papers/__init__.py", ('")\n', '", "pires2019")\n'))
    add_kind(edited, "nearest_translation")
    with open(edited / OVERLAY, "a", encoding="utf-8") as overlay:
        overlay.writelines((SIXTH / name).read_text() for name in ("section.yaml", "measures.yaml"))
    return edited


@pytest.fixture(scope="module")
def results(root: Path) -> Path:
    """Results with those of the sixth paper, and with the measure that the configuration asks for."""
    assert planned(root) == sorted(NEW)  # nothing of the other papers
    tiny(root, *ALL, MINE)
    return root / RESULTS


@pytest.mark.long
def test_mistakes_in_a_new_paper_are_one_line(root):
    said = tiny(root, "-n", f"{RESULTS}/measures/clusters/pires2019/pos/en/seed0.parquet", works=False)
    assert "measures/clusters/pires2019/pos/en: expected a measure whose settings the paper of the recipe states" in said
    items = root / "workflow/crosslens/papers/pires2019/tables_and_figures.py"
    with changed(items, ('Need("nearest_translation"', 'Need("nearest_translatoin"')):
        said = tiny(root, "-n", f"{RESULTS}/pires2019/figure3.svg", works=False)
    expected = "pires2019: Need: expected a kind of measure, a line of workflow/crosslens/measures/kinds.py, found"
    assert f"{expected} 'nearest_translatoin'; did you mean 'nearest_translation'?" in said.split("\n")
    assert "Traceback" not in said


@pytest.mark.long
def test_the_example_has_the_types_that_the_library_expects(root):
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
@pytest.mark.parametrize(
    ("figure", "measure", "recipe"),
    [("figure3", "nearest_translation", "pires2019/pretrained"), ("figure3_tuned", TUNED, "muller2021/pos/en/ref")],
)
def test_a_figure_of_a_new_paper_and_its_measure(results, figure, measure, recipe):
    """The second is over the recipe of another paper, which does not ask for this kind of measure."""
    sampled = (results / f"pires2019/{figure}.svg").read_text()
    records = pd.read_parquet(results / f"measures/{measure}/{recipe}/seed0.parquet").set_index(["language", "layer"])
    assert {*records.index.get_level_values("language")} == {"ar", "de", "es", "fr", "hi", "tr"}
    states = results / f"states/{recipe}/seed0/pud"
    english = pd.read_parquet(states / "en.parquet")
    for (language, layer), record in records.iterrows():
        other = pd.read_parquet(states / f"{language}.parquet")
        source, target = (np.stack(of_language[f"layer_{layer}"]) for of_language in (english, other))
        nearest = NearestNeighbors(n_neighbors=1).fit(target).kneighbors(source - source.mean(0) + target.mean(0))[1]
        assert record["value"] == pytest.approx(np.mean(nearest[:, 0] == np.arange(len(source))))
        assert f"EN-{language.upper()}" in sampled


@pytest.mark.long
def test_a_figure_over_the_recipe_of_another_paper_says_so(results):
    page = (results / "pires2019/figure3_tuned.html").read_text(encoding="utf-8")
    assert "in a tagger of muller2021" in page and "muller2021_ud" in page  # on which that tagger was trained
    record = metadata(results / f"measures/{TUNED}/muller2021/pos/en/ref/seed0.parquet")
    assert record["settings"] == {"corpus": "pud", "reference": "en"}


@pytest.mark.long
def test_the_configuration_asks_for_a_measure_of_any_recipe(results):
    assert metadata(results.parents[1] / MINE)["settings"] == {"corpora": ["udpos"], "runs": 9}


def test_the_tutorial_quotes_the_modules():
    files = [path.read_text(encoding="utf-8") for path in SIXTH.rglob("*") if path.suffix in (".py", ".yaml", ".csv")]
    for page in ("new-paper", "new-measure"):
        text = (REPOSITORY / f"docs/{page}.md").read_text(encoding="utf-8")
        quoted = re.findall(r"```(?:python|yaml)\n(.*?)```", text, re.DOTALL)
        assert quoted and all(any(part in file for file in files) for part in quoted), page


def test_a_paper_without_published_values_has_none():
    made = inputs({"needs": [], "corpora": [], "samples": []}, {})
    assert made.published.value("table2", "EN", "DE") is None and made.cited is None
