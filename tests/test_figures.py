"""Figures on disk: what can be read in them, at which resolution, and that the same figure gives the same bytes."""

from xml.etree import ElementTree

import numpy as np
import pytest
from crosslens.config.base import languages_table
from crosslens.reports.figures.save import save
from crosslens.reports.figures.scatter import Panel, Row, keys, panels
from crosslens.reports.figures.style import COLOURS, FAMILY_MARKS, PALE, dark, families, marks
from matplotlib.colors import to_rgb
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


def test_names_stand_near_their_class():
    axis = drawn().axes[0]
    panel = axis.get_window_extent().width
    distances = [np.hypot(*text.get_position()) * axis.figure.dpi / 72 / panel for text in axis.texts]
    assert max(distances) < 0.25


def test_names_of_small_maps_do_not_overlap():
    for axis in drawn().axes[2:]:
        names = inks(axis)
        assert len(names) == len(CODES) and not any(name.count_overlaps(names[:i]) for i, name in enumerate(names))


def test_a_small_map_has_its_language_on_all_points():
    figure = drawn()
    all_points, of = figure.axes[2].collections[::2], figure.axes[2].collections[1::2]
    assert {len(dots.get_offsets()) for dots in all_points} == {600}
    assert sum(len(dots.get_offsets()) for dots in of) == 600
    for cloud, dots in zip(all_points, of, strict=True):
        assert {tuple(point) for point in dots.get_offsets()} <= {tuple(point) for point in cloud.get_offsets()}


def test_relatives_stand_side_by_side():
    found = families(LANGUAGES)
    assert list(dict.fromkeys(found.values())) == [family for family in FAMILY_MARKS if family in found.values()]
    of = {"nl": "Germanic", "fa": "Indo-Iranian", "el": "other Indo-European", "hu": "Uralic", "eu": "other families"}
    assert of.items() <= found.items()


def test_every_language_of_the_table_has_a_mark():
    assert set(families(languages_table()).values()) == set(FAMILY_MARKS)
    assert len(set(FAMILY_MARKS.values())) == len(FAMILY_MARKS)


def contrast(one, other):
    """Of WCAG 2: 1 to 21."""
    parts = [np.array(to_rgb(colour)) for colour in (one, other)]
    linear = [np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4) for part in parts]
    low, high = sorted(float(part @ (0.2126, 0.7152, 0.0722)) for part in linear)
    return (high + 0.05) / (low + 0.05)


def test_names_can_be_read_and_points_stand_out_without_colour():
    assert min(contrast(dark(colour), "white") for colour in COLOURS) > 4.5
    assert min(contrast(colour, PALE) for colour, _ in FAMILY_MARKS.values()) > 2


def texts(path):
    return [text.text for text in ElementTree.parse(path).iter(f"{SVG}text")]


def test_svg_has_its_text_as_text(tmp_path):
    save(drawn(), tmp_path / "figure.svg", "figure 9; demo scale")
    expected = {
        "figure 9; demo scale",
        "A title",
        "A note.",
        "by label",
        "by language",
        *NAMES.values(),
        *(f"label {label}" for label in LABELS),
    }
    assert set(texts(tmp_path / "figure.svg")) == expected


def test_keys_name_every_mark(tmp_path):
    long = ", ".join(f"language {number}" for number in range(20))
    columns = {"families": {"one": ("#000000", "o"), long: ("#0072B2", "^")}, "labels": marks(LABELS)}
    save(keys(columns, "A title", "A note."), tmp_path / "key.svg", "figure 2")
    said = " ".join(texts(tmp_path / "key.svg"))
    assert all(name in said for name in ("families", "labels", "one", long, *LABELS))


@pytest.mark.long
def test_the_same_figure_gives_the_same_bytes_and_png_has_300_dots_an_inch(tmp_path):
    for number in (0, 1):
        save(drawn(), tmp_path / f"{number}.svg", "figure 9")
    for suffix in ("svg", "png"):
        assert (tmp_path / f"0.{suffix}").read_bytes() == (tmp_path / f"1.{suffix}").read_bytes()
    with Image.open(tmp_path / "0.png") as picture:
        assert picture.info["dpi"] == pytest.approx((300, 300), abs=0.1)
        assert picture.width == 2160  # 7.2 inches
