"""Figures: what is drawn of values, what can be read on disk, and that the same figure gives the same bytes."""

from xml.etree import ElementTree

import numpy as np
import pytest
from crosslens.config.base import languages_table
from crosslens.reports.figures import curves, dots, heatmap, style
from crosslens.reports.figures.curves import Curve
from crosslens.reports.figures.save import save
from crosslens.reports.figures.scatter import Panel, Row, panels
from crosslens.reports.figures.style import FAMILY_MARKS, families, marks
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import Polygon, Rectangle
from matplotlib.text import Text
from PIL import Image

# The 33 languages of tanti2021.
CODES = "af ar bg de el en es et eu fa fi fr he hi hu id it ja kk ko mr nl pt ru ta te th tl tr ur vi yo zh".split()
LANGUAGES = {code: languages_table()[code] for code in CODES}
NAMES = {code: LANGUAGES[code]["name"] for code in families(LANGUAGES)}
LABELS = tuple("abcdefghijklmnopq")
SVG = "{http://www.w3.org/2000/svg}"


def drawn(together=0.0):
    """A row by label, its points together or apart, and small maps of 33 languages."""
    draw = np.random.default_rng(0)
    labels, languages = draw.choice(LABELS, 600), draw.choice(CODES, 600)
    centres = {label: (1 - together) * draw.normal(size=2) for label in LABELS}
    points = np.array([centres[label] for label in labels]) + 0.1 * draw.normal(size=(600, 2))
    family = {code: FAMILY_MARKS[name] for code, name in families(LANGUAGES).items()}
    rows = [
        Row([Panel(points, labels, "by label")] * 2, {label: f"label {label}" for label in LABELS}, marks(LABELS)),
        Row([Panel(points, languages, "by language")] * 2, NAMES, family, apart=True),
    ]
    return panels(rows, "A title", "A note.")


def inks(axis):
    """Boxes of the names in a panel, without their lines, in pixels."""
    axis.figure.draw_without_rendering()
    return [Text.get_window_extent(text) for text in axis.texts]


@pytest.mark.parametrize("together", [0.0, 0.8, 1.0])
def test_names_of_classes_overlap_neither_each_other_nor_the_frame(together):
    for axis in drawn(together).axes[:2]:
        names, frame = inks(axis), axis.get_window_extent()
        assert len(names) == len(LABELS)
        assert not any(name.count_overlaps(names[:i]) for i, name in enumerate(names))
        assert all((name.min >= frame.min).all() and (name.max <= frame.max).all() for name in names)


def test_a_small_map_has_its_language_on_all_points():
    figure = drawn()
    all_points, of = figure.axes[2].collections[::2], figure.axes[2].collections[1::2]
    assert {len(cloud.get_offsets()) for cloud in all_points} == {600}
    assert sum(len(part.get_offsets()) for part in of) == 600
    for cloud, part in zip(all_points, of, strict=True):
        assert {tuple(point) for point in part.get_offsets()} <= {tuple(point) for point in cloud.get_offsets()}


def test_relatives_stand_side_by_side():
    found = families(LANGUAGES)
    assert list(dict.fromkeys(found.values())) == [family for family in FAMILY_MARKS if family in found.values()]
    of = {"nl": "Germanic", "fa": "Indo-Iranian", "el": "other Indo-European", "hu": "Uralic", "eu": "other families"}
    assert of.items() <= found.items()


def test_every_language_of_the_table_has_a_mark():
    assert set(families(languages_table()).values()) == set(FAMILY_MARKS)
    assert len(set(FAMILY_MARKS.values())) == len(FAMILY_MARKS)


def texts(path):
    return [text.text for text in ElementTree.parse(path).iter(f"{SVG}text")]


def test_svg_has_its_text_as_text(tmp_path):
    save(drawn(), tmp_path / "figure.svg", "figure 9; demo scale")
    expected = {"figure 9; demo scale", "A title", "A note.", "by label", "by language", *NAMES.values()}
    expected |= {f"label {label}" for label in LABELS}
    assert set(texts(tmp_path / "figure.svg")) == expected


@pytest.mark.long
def test_the_same_figure_gives_the_same_bytes_and_png_has_300_dots_an_inch(tmp_path):
    for number in (0, 1):
        save(drawn(), tmp_path / f"{number}.svg", "figure 9")
    for suffix in ("svg", "png"):
        assert (tmp_path / f"0.{suffix}").read_bytes() == (tmp_path / f"1.{suffix}").read_bytes()
    with Image.open(tmp_path / "0.png") as picture:
        assert picture.info["dpi"] == pytest.approx((300, 300), abs=0.1)
        assert picture.width == 2160  # 7.2 inches


def test_a_legend_has_each_name_once_in_the_order_of_the_curves():
    def curve(values, number, name):
        return Curve(np.arange(3), values, values, values, style.look(number), name)

    first, second = curve(np.array([2.0, 1.0, 0.0]), 0, "first"), curve(np.arange(3.0), 1, "second")
    (legend,) = curves.panels({"a": {"": [first, second]}, "b": {"": [second]}}, "", "", ylabel="score").legends
    assert [text.get_text() for text in legend.get_texts()] == ["first", "second"]


def test_classes_that_do_not_group_have_no_names():
    points, classes = np.random.default_rng(0).normal(size=(40, 2)), np.array(["x", "y"] * 20)
    row = Row(
        [Panel(points, classes, "named"), Panel(points, classes, "at chance", named=False)], {"x": "X", "y": "Y"}, marks("xy")
    )
    named, at_chance = panels([row], "", "").axes
    assert len(named.texts) == 2 and not at_chance.texts


def test_a_value_alone_in_a_curve_is_a_mark():
    empty, line = np.full(3, np.nan), np.full(3, 0.3)
    drawn_curves = [
        Curve(np.arange(3), values, ends, ends, {"color": "#000000"}, name)
        for name, values, ends in (("line", line, line), ("alone", np.array([np.nan, 0.4, np.nan]), empty))
    ]
    axis = curves.panels({"": {"": drawn_curves}}, "", "", ylabel="", ylim=(0, 1)).axes[0]
    assert [(line.get_marker(), line.get_linestyle()) for line in axis.lines] == [("None", "-"), ("o", "None")]


def test_dots_have_their_values_and_intervals_in_their_own_columns():
    """Values of a series stand beside each other in the order of the legend; limits give way to values."""
    models, columns = ["BERT", "GloVe", "untrained"], ["ar", "de", "zh"]
    values = np.arange(9.0).reshape(3, 3)
    series = [dots.Dots(name, row, row - 1, row + 2) for name, row in zip(models, values, strict=True)]
    panel = dots.Panel("(a)", "MRR (%)", columns, series, ylim=(4, 5), level=np.full(3, 2.0))
    axis = dots.panels([panel], dots.looks(models), "Title", "Note.").axes[0]
    points = [np.column_stack(line.get_data()) for line in axis.lines if line.get_marker() not in ("None", None)]
    assert np.array_equal([xy[:, 1] for xy in points], values)
    assert np.array_equal(np.round([xy[:, 0] for xy in points]), [[0, 1, 2]] * 3)
    assert (np.diff([xy[:, 0] for xy in points], axis=0) > 0).all()
    spans = [segment for lines in axis.collections if isinstance(lines, LineCollection) for segment in lines.get_segments()]
    ends = {(float(low), float(high)) for (_, low), (_, high) in spans}
    assert {(value - 1, value + 2) for value in values.ravel()} | {(2.0, 2.0)} <= ends
    assert axis.get_ylim()[0] < -1 and axis.get_ylim()[1] > 10


def test_cells_of_a_heat_map_have_colours_signs_and_triangles_beyond_the_scale():
    differences = np.array([[-9.0, -5, -2.5, 0, 2.5, 5, 9, np.nan]])
    values = np.array([[1.0, 2, 3, -0.04, 5, 6, -7, np.nan]])
    panel = heatmap.Panel("p", ["row"], list("abcdefgh"), values, differences)
    axis = heatmap.panels([panel], "Title", "Note.", legend="points", limit=5).axes[0]
    colours = [patch.get_facecolor()[:3] for patch in axis.patches if isinstance(patch, Rectangle)]
    assert colours[0] == colours[1] == pytest.approx(to_rgb(heatmap.LOSS))
    assert colours[5] == colours[6] == pytest.approx(to_rgb(heatmap.GAIN))
    assert np.mean(colours[3]) > 0.99 and np.allclose(colours[4], (1 + np.array(to_rgb(heatmap.GAIN))) / 2, atol=0.01)
    assert [text.get_text() for text in axis.texts] == ["1.0", "2.0", "3.0", "0.0", "5.0", "6.0", "−7.0"]
    assert [text.get_weight() for text in axis.texts] == ["normal"] * 4 + ["bold"] * 3  # a gain
    below, above = (patch.get_xy() for patch in axis.patches if isinstance(patch, Polygon))
    assert (below[:, 0] < 1).all() and (below[:, 1] > 0.5).all() and (above[:, 0] > 6).all() and (above[:, 1] < 0.5).all()


def test_the_data_of_a_figure_is_beside_it(tmp_path):
    band = np.array([np.nan, 1.0]), np.array([np.nan, 3.0])
    curve = Curve(np.array([0, 1]), np.array([1.5, 2.0]), *band, {"color": "#000000"}, "en")
    save(curves.panels({"": {"tagging": [curve]}}, "A title", "A note.", ylabel="accuracy"), tmp_path / "figure.svg", "figure 9")
    expected = ["row,column,name,x,values,low,high", ",tagging,en,0,1.5,,", ",tagging,en,1,2.0,1.0,3.0"]
    assert (tmp_path / "figure.svg.csv").read_text().splitlines() == expected
    points = drawn().data
    assert len(points) == 4 * 600 and {*points["panel"]} == {"by label", "by language"}
