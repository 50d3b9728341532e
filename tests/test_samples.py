"""Every figure of every paper, of synthetic inputs: what it says, and that all of it is in its place."""

from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from crosslens.commands.documents.reports import OVERLAYS, configuration
from crosslens.papers import papers
from crosslens.reports.figures.save import save
from matplotlib.text import Text
from synthetic_records import Preset

ROOT = Path(__file__).parents[1]

FIGURES = {
    "tanti2021": [f"figure{number}" for number in range(2, 7)],
    "muller2021": [f"figure{number}" for number in range(1, 9)] + [f"figure{number}_appendix" for number in range(3, 9)],
    "liang2021": ["figure1", "figure2", "figure3", "figure4", "figure5", "subspaces"],
    "wu2019": ["figure1", "figure2", "figure3"],
    "liu2020": [f"figure{number}" for number in range(1, 9)],
}
CURVES = [("muller2021", name) for name in FIGURES["muller2021"]] + [("liang2021", name) for name in FIGURES["liang2021"]]
CURVES += [("wu2019", "figure2"), ("liu2020", "figure7"), ("liu2020", "figure8")]


SAMPLED = [("laptop", paper, name) for paper, names in FIGURES.items() for name in names]
SAMPLED += [("published", "tanti2021", "figure4"), ("published", "liang2021", "figure1"), ("published", "liang2021", "figure2")]
"""Also what is largest: maps of 33 languages, and curves of two encoders."""


@pytest.fixture(scope="module")
def presets(tmp_path_factory):
    folder, published = tmp_path_factory.mktemp("synthetic"), configuration(ROOT)
    laptop = configuration(ROOT, *OVERLAYS["laptop"])
    return {name: Preset(values, published, folder / name) for name, values in (("laptop", laptop), ("published", published))}


@pytest.fixture(scope="module")
def laptop(presets):
    return presets["laptop"]


def test_these_are_all_figures(laptop):
    items = {paper.key: paper.items(laptop.config) for paper in papers() if paper.key != "passport"}
    assert {key: [name for name, item in of.items() if item.form == "figure"] for key, of in items.items()} == FIGURES


def words(figure):
    """Texts of a figure and their boxes in pixels; of the labels of ticks those within the axes."""
    texts = [*figure.texts]
    for axis in figure.axes:
        legend = axis.get_legend()
        texts += [axis.title, axis._left_title, *axis.texts, *(legend.get_texts() if legend else [])]
        for way in (axis.xaxis, axis.yaxis) if axis.axison else ():
            low, high = sorted(way.get_view_interval())
            ticks = [tick for tick in way.get_major_ticks() if low <= tick.get_loc() <= high]
            texts += [way.label, *(label for tick in ticks for label in (tick.label1, tick.label2))]
    return [(text.get_text(), Text.get_window_extent(text)) for text in texts if text.get_text().strip() and text.get_visible()]


def check_words(figure):
    """Each lies in the picture, and over no other, by more than a pixel of its 300 an inch."""
    boxes, page = words(figure), figure.bbox.padded(1)
    assert [text for text, box in boxes if not (page.contains(*box.min) and page.contains(*box.max))] == []
    smaller = [(text, box.padded(-1)) for text, box in boxes]
    assert [(one, other) for (one, box), (other, second) in combinations(smaller, 2) if box.overlaps(second)] == []


def check_curves(figure):
    """Each lies in its panel, and so do bands."""
    for axis in figure.axes:
        low, high = axis.get_ylim()
        values = [np.asarray(line.get_ydata(), float) for line in axis.lines]
        for band in axis.collections:
            values += [path.vertices[:, 1] for path in band.get_paths()]
        assert values and all(low < np.nanmin(array) and np.nanmax(array) < high for array in values)


@pytest.mark.long
@pytest.mark.parametrize(("preset_name", "paper", "name"), SAMPLED)
def test_everything_is_in_its_place_and_the_picture_says_where_it_comes_from(presets, tmp_path, preset_name, paper, name):
    here = presets[preset_name]
    figure = here.figure(paper, name)
    figure.draw_without_rendering()
    check_words(figure)
    if (paper, name) in CURVES:
        check_curves(figure)
    item = here.papers[paper].items(here.config)[name]
    save(figure, tmp_path / "figure.svg", here.about.origin(here.papers[paper], item))
    texts = ElementTree.parse(tmp_path / "figure.svg").iter("{http://www.w3.org/2000/svg}text")
    said = " ".join(" ".join(text.itertext()) for text in texts)
    assert f"{paper}, {item.title[:1].lower()}{item.title[1:]}; {preset_name} preset" in said
    assert ("; encoder: " in said) == (name != "figure2" or paper != "tanti2021")  # a legend alone has none


def test_figures_of_states_show_the_probe_beside_the_head(laptop):
    figure = laptop.figure("tanti2021", "figure3")
    (table,) = (table for axis in figure.axes for table in axis.tables)
    rows = [[table[row, column].get_text().get_text() for column in range(6)] for row in range(7)]
    assert rows[0] == ["in percent", "V", "chance V", "head accuracy", "head F1", "probe"]
    assert [bool(row[5]) for row in rows[1:]] == [False] * 2 + [True] * 4  # only a language's probe is trained
