"""Dots by language: that all values, intervals and names are there, inside, and told apart."""

import numpy as np
import pytest
from crosslens.reports.figures.dots import Dots, Look, Panel, looks, panels
from crosslens.reports.figures.save import save
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb

CODES = ["ar", "bg", "de", "el", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh"]
MODELS = ["BERT, window 512", "BERT, window 20", "GloVe", "Word2Vec", "mBERT as released", "untrained"]


def panel(title="(a)", models=MODELS, columns=CODES, seed=0, **fields):
    generator = np.random.default_rng(seed)
    series = []
    for model in models:
        values = generator.uniform(5, 60, len(columns))
        series.append(Dots(model, values, values - generator.uniform(0, 9, len(columns)), values + 3))
    return Panel(title, "MRR (%)", columns, series, **fields)


def drawn(parts, models=MODELS, **options):
    return panels(parts, looks(models), "Word retrieval, English to each language", "A note below. " * 12, **options)


def points(axis):
    """Name of the series by its marker and colour, and its points, of each series that is drawn."""
    return [(line.get_marker(), line.get_markeredgecolor(), np.column_stack(line.get_data())) for line in axis.lines
            if line.get_marker() not in ("None", None)]  # fmt: skip


@pytest.mark.parametrize("sizes", [1, 2])
def test_values_and_intervals_are_drawn_side_by_side_inside_their_panels(sizes):
    parts = [panel(f"size {number}", seed=number, level=np.full(len(CODES), 2.0)) for number in range(sizes)]
    figure = drawn(parts)
    figure.draw_without_rendering()
    for part, axis in zip(parts, figure.axes, strict=False):
        found, looked = points(axis), looks(MODELS)
        assert len(found) == len(MODELS)
        for series, (marker, colour, xy) in zip(part.series, found, strict=True):
            assert (marker, colour) == (looked[series.name].marker, looked[series.name].colour)
            assert np.array_equal(xy[:, 1], series.values)
            assert np.array_equal(np.round(xy[:, 0]), np.arange(len(CODES)))  # in its own column
        places = np.column_stack([xy[:, 0] for _, _, xy in found])
        assert (np.diff(places, axis=1) > 0).all()  # as in the legend
        dot = 3.2 * figure.dpi / 72
        across = axis.transData.transform(np.column_stack([places[0], np.zeros(len(MODELS))]))[:, 0]
        assert np.diff(across).min() > 0.9 * dot  # so that no marker covers another of equal value
        spans = [segment for lines in axis.collections if isinstance(lines, LineCollection) for segment in lines.get_segments()]
        ends = {(round(float(low), 6), round(float(high), 6)) for (_, low), (_, high) in spans}
        expected = {
            (round(low, 6), round(high, 6)) for each in part.series for low, high in zip(each.low, each.high, strict=True)
        }
        assert expected <= ends and (2.0, 2.0) in ends
        bottom, top = axis.get_ylim()
        assert all(bottom < low and high < top for low, high in ends)


def test_all_names_are_there_and_nothing_overlaps():
    figure = drawn([panel(columns=[*CODES, "mean"], apart=1), panel("(b)", MODELS[:2], [*CODES, "mean"], apart=1)])
    figure.draw_without_rendering()
    page, legend = figure.bbox, figure.axes[-1].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == MODELS
    labels = []
    for axis in figure.axes[:2]:
        low, high = axis.get_ylim()
        inside = [tick for tick, y in zip(axis.get_yticklabels(), axis.get_yticks(), strict=True) if low <= y <= high]
        labels += [*axis.get_xticklabels(), *inside, axis.yaxis.label]
    labels += [axis._left_title for axis in figure.axes[:2]]
    labels += [*legend.get_texts(), figure._suptitle, figure._supxlabel]
    visible = [label.get_window_extent() for label in labels if label.get_text() and label.get_visible()]
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == [*CODES, "mean"]
    assert not any(a.overlaps(b) for i, a in enumerate(visible) for b in visible[:i])
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in visible)


def test_names_of_languages_that_are_missing_stay_and_empty_panels_are_drawn():
    nothing = np.full(3, np.nan)
    figure = drawn([Panel("(a)", "MRR (%)", CODES[:3], [Dots(MODELS[0], nothing, nothing, nothing)])])
    figure.draw_without_rendering()
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == CODES[:3]


def test_limits_give_way_to_values_alone():
    inside, outside = panel(ylim=(0, 100)), panel(ylim=(20, 30))
    low, high = drawn([inside]).axes[0].get_ylim()
    assert low < 0 and high > 100
    low, high = drawn([outside]).axes[0].get_ylim()
    assert low < min(each.low.min() for each in outside.series) and high > max(each.high.max() for each in outside.series)


def test_series_are_told_apart_in_grey_and_in_colour():
    looked = looks([f"m{number}" for number in range(12)])
    assert len(set(looked.values())) == 12 and not any(look.colour == "#000000" for look in looked.values())
    first = list(looked.values())[:6]
    assert len({look.marker for look in first}) == len({look.colour for look in first}) == 6
    for look in first:  # against white, as WCAG asks of graphical objects, nearly
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(look.colour)]
        assert 1.05 / (np.dot(linear, (0.2126, 0.7152, 0.0722)) + 0.05) > 2
    hollow = {"a": Look("#0072B2", "o"), "b": Look("#0072B2", "o", hollow=True)}
    axis = panels([panel(models=["a", "b"])], hollow, "Title", "Note.").axes[0]
    faces = [line.get_markerfacecolor() for line in axis.lines if line.get_marker() == "o"]
    assert faces == ["#0072B2", "white"]


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        save(drawn([panel(level=np.full(len(CODES), 2.0))]), tmp_path / f"{name}.svg", "")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
