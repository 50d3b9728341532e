"""Scatter plots of scores against a property of languages, with a short name next to each point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from crosslens.reports.figures.scatter import AREA, RINGS
from crosslens.reports.figures.style import SMALL, STYLE, WIDTH, Drawing, Mark, dark, frame, legend_marks, surround

NAME = 5  # points: height of a name
SIZE = 9  # square points: area of a mark
HEIGHT = 1.5  # inches of a panel


@dataclass(frozen=True)
class Panel:
    """A panel of points.

    x, y, names, classes: (n,).
    hollow: (n,), whether a point is drawn as an outline.
    title: may have several lines.
    """

    x: np.ndarray
    y: np.ndarray
    names: Sequence[str]
    classes: Sequence[str]
    hollow: np.ndarray
    title: str


def panels(
    grid: Sequence[Sequence[Panel]], xlabels: Sequence[str], ylabels: Sequence[str], marks: Mapping[str, Mark], title: str,
    note: str, *, bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Figure:  # fmt: skip
    """Figure with a grid of panels; a title is above, the legend of classes and a note are below.

    grid: rows of panels. Panels of a row share their x axis, those of a column their y axis.
    xlabels: label of each row.
    ylabels: label of each column.
    marks: class -> colour and marker, in the order of the legend.
    bounds: least and greatest possible number; no axis goes beyond them.
    """
    present = {name for row in grid for panel in row for name in panel.classes}
    classes = [name for name in marks if name in present]
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        columns = len(grid[0])
        width = WIDTH if columns > 2 else WIDTH * (columns + 1) / 4
        lines = sum(max(panel.title.count("\n") + 1 for panel in row) for row in grid)
        per_line = max(3, int(width))  # classes in a line of the legend
        heights = [*(HEIGHT for _ in grid), 0.15 * ceil(len(classes) / per_line)]
        figure = Drawing((width, sum(heights) + 0.45 * len(grid) + 0.13 * lines + 0.7), layout="constrained")
        figure.data = pd.concat([
            pd.DataFrame({**vars(panel), "x axis": xlabel, "y axis": ylabel})
            for row, xlabel in zip(grid, xlabels, strict=True) for panel, ylabel in zip(row, ylabels, strict=True)
        ])  # fmt: skip
        axes = figure.subplots(len(heights), columns, squeeze=False, sharex="row", sharey="col", height_ratios=heights)
        below = figure.add_subplot(axes[-1, 0].get_gridspec()[-1, :])
        for axis in (*axes[-1], below):
            axis.axis("off")
        for line, row, xlabel in zip(axes[:-1], grid, xlabels, strict=True):
            for axis, panel, ylabel in zip(line, row, ylabels, strict=True):
                _draw(axis, panel, marks)
                axis.set_ylabel(ylabel, labelpad=1, fontsize=SMALL)
            line[columns // 2].set_xlabel(xlabel)
        for axis in axes[:-1].flat:
            axis.set(xlim=np.clip(axis.get_xlim(), *bounds), ylim=np.clip(axis.get_ylim(), *bounds))
        handles = legend_marks({name: marks[name] for name in classes})
        below.legend(handles=handles, loc="upper left", ncols=per_line, handletextpad=0, columnspacing=1, borderaxespad=0)
        surround(figure, title, note, width)
        figure.draw_without_rendering()  # lays out, so that places of points are known
        for axis, panel in zip(axes[:-1].flat, (panel for row in grid for panel in row), strict=True):
            _name(axis, panel, marks)
    return figure


def _draw(axis: Axes, panel: Panel, marks: Mapping[str, Mark]) -> None:
    frame(axis, "both")
    axis.margins(0.1)
    axis.tick_params(pad=1.5, length=2)
    axis.set_title(panel.title, loc="left", fontsize=SMALL)
    for x, y, name, hollow in zip(panel.x, panel.y, panel.classes, panel.hollow, strict=True):
        colour, marker = marks[name]
        face = "none" if hollow else colour
        axis.scatter(x, y, s=SIZE * AREA.get(marker, 1), marker=marker, facecolors=face, edgecolors=colour, linewidths=0.6,
                     clip_on=False)  # fmt: skip


def _name(axis: Axes, panel: Panel, marks: Mapping[str, Mark]) -> None:
    """Write each point's name close to it, over no other name and over few points; crowded points come first."""
    points, frame = axis.transData.transform(np.column_stack([panel.x, panel.y])), axis.get_window_extent()
    dot = axis.figure.dpi / 72
    mark = 1.3 * dot * np.sqrt(SIZE) / 2  # half a mark
    distances = np.hypot(*(points[:, None] - points).T)
    boxes: list[tuple[np.ndarray, np.ndarray]] = []  # lower left and upper right corners of names
    for number in np.argsort(np.sort(distances, axis=1)[:, 1 : 1 + min(4, len(points) - 1)].sum(1)):
        colour = dark(marks[panel.classes[number]][0])
        text = axis.annotate(
            panel.names[number], (panel.x[number], panel.y[number]), (0, 0), textcoords="offset points", ha="center", va="center",
            fontsize=NAME, color=colour, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.3, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        size = np.array(Text.get_window_extent(text).size) + (2 * dot, 0)  # without the line; with a gap to the next name
        steps = 0.5 * size[1] * RINGS + np.sign(RINGS) * (size / 2 + mark) * 0.75
        low, high = points[number] + steps - size / 2, points[number] + steps + size / 2
        free = (low >= frame.min).all(1) & (high <= frame.max).all(1)
        for corner, opposite in boxes:
            free &= ~((low < opposite) & (high > corner)).all(1)
        covered = ((points > low[:, None] - mark) & (points < high[:, None] + mark)).all(2).sum(1)
        best = int(np.argmin(np.where(free, 0, 1e6) + 30 * covered + np.hypot(*steps.T) / dot))
        text.set_position(tuple(steps[best] / dot))
        boxes.append((low[best], high[best]))
