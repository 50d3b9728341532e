"""Heat maps: what stands in the cells, how they are coloured, that everything is in its place."""

import numpy as np
import pytest
from crosslens.reports.figures.heatmap import GAIN, LOSS, Panel, panels
from crosslens.reports.figures.save import save
from matplotlib.colors import to_rgb
from matplotlib.patches import Polygon, Rectangle

ROWS = ["Feat", "Lay 0", "Lay 3", "Lay 6", "Lay 9"]


def panel(columns, title="(a) Tagging, accuracy", seed=0):
    generator = np.random.default_rng(seed)
    differences = generator.normal(0, 4, (len(ROWS), columns))
    return Panel(title, ROWS, [*(f"l{number}" for number in range(columns - 1)), "AVER"], 60 + differences, differences, apart=1)


def drawn(parts, **options):
    return panels(parts, "Title", "Note.", **{"legend": "points", "limit": 5} | options)


def rectangles(axis):
    return [patch for patch in axis.patches if isinstance(patch, Rectangle)]


def triangles(axis):
    return [patch for patch in axis.patches if isinstance(patch, Polygon)]


@pytest.mark.parametrize("columns", [(9, 6), (16, 32)])
def test_numbers_lie_in_their_cells_and_panels_in_the_page(columns):
    figure = drawn([panel(size) for size in columns])
    figure.draw_without_rendering()
    page = figure.bbox
    panels_there = figure.axes[: len(columns)]
    for axis, size in zip(panels_there, columns, strict=True):
        assert len(axis.texts) == len(rectangles(axis)) == len(ROWS) * size
        for text, cell in zip(axis.texts, rectangles(axis), strict=True):
            inside, box = text.get_window_extent(), cell.get_window_extent()
            assert box.x0 < inside.x0 and inside.x1 < box.x1 and page.x0 < box.x0 and box.x1 < page.x1
            assert text.get_fontsize() > 4.5
        labels = [*axis.get_xticklabels(), *axis.get_yticklabels(), axis.title]
        extents = [label.get_window_extent() for label in labels]
        assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in extents)
        assert not any(a.overlaps(b) for i, a in enumerate(extents) for b in extents[:i])
    tops = [axis.get_tightbbox() for axis in panels_there]
    assert all(below.y1 < above.y0 for above, below in zip(tops, tops[1:], strict=False))


def test_colours_signs_and_triangles():
    differences = np.array([[-9.0, -5, -2.5, 0, 2.5, 5, 9, np.nan]])
    values = np.array([[1.0, 2, 3, 4, 5, 6, -7, np.nan]])
    figure = drawn([Panel("p", ["row"], list("abcdefgh"), values, differences)])
    axis = figure.axes[0]
    colours = [cell.get_facecolor()[:3] for cell in rectangles(axis)]
    assert colours[0] == colours[1] == pytest.approx(to_rgb(LOSS)) and colours[5] == colours[6] == pytest.approx(to_rgb(GAIN))
    assert np.mean(colours[3]) > 0.99 and np.allclose(colours[4], (1 + np.array(to_rgb(GAIN))) / 2, atol=0.01)
    assert [text.get_text() for text in axis.texts] == ["1.0", "2.0", "3.0", "4.0", "5.0", "6.0", "−7.0"]
    assert [text.get_weight() for text in axis.texts] == ["normal"] * 4 + ["bold"] * 3
    below, above = (patch.get_xy() for patch in triangles(axis))
    assert (below[:, 0] < 1).all() and (below[:, 1] > 0.5).all() and (above[:, 0] > 6).all() and (above[:, 1] < 0.5).all()


def test_ends_of_the_scale_have_the_same_lightness_for_dark_numbers():
    """So that numbers are as legible in grey print on both; WCAG asks for a contrast of 4.5."""

    def luminance(colour):
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
        return np.dot(linear, (0.2126, 0.7152, 0.0722))

    ink = luminance("#333333")
    assert abs(luminance(LOSS) - luminance(GAIN)) < 0.05
    assert min((luminance(colour) + 0.05) / (ink + 0.05) for colour in (LOSS, GAIN)) > 4.5


def test_the_same_map_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        save(drawn([panel(9)]), tmp_path / f"{name}.svg", "")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
