"""Maps of points by class: one map with the names of the classes, or a small map for each class; and keys to the marks."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, cos, pi, sin, sqrt
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from crosslens.reports.figures.style import GROUND, PALE, SMALL, STYLE, WIDTH, Drawing, Mark, dark, legend_marks, surround

SHAPE = 0.75  # height of a map / its width
GAP = 0.08  # between small maps, as a share of their width
NAME = 0.15  # inches for the name above a small map
CELL = 0.16  # inches, the height of a table's line
AREA = {"^": 1.4, "s": 0.7}  # factors on the area of marks, so that they look equally large
# Places for a name around a point, in heights of the name: on the point, and on ellipses, since names are wide.
RINGS = np.array([(0, 0), *((2 * r * cos(pi * i / 8), r * sin(pi * i / 8)) for r in range(1, 40) for i in range(16))])


@dataclass(frozen=True)
class Panel:
    """A map of points.

    points: (n, 2).
    classes: (n,).
    named: whether to write the names of classes into the map, for classes that form groups.
    """

    points: np.ndarray
    classes: np.ndarray
    title: str
    named: bool = True


@dataclass(frozen=True)
class Row:
    """A row of panels with the same classes.

    apart: whether each class has a small map, over grey points of all classes, for classes that overlap.
    """

    panels: Sequence[Panel]
    names: Mapping[str, str]  # class -> name, in order; those without a point are left out
    marks: Mapping[str, Mark]
    apart: bool = False

    @property
    def shown(self) -> list[str]:
        """Classes with points."""
        classes = {name for panel in self.panels for name in panel.classes}
        return [name for name in self.names if name in classes]

    @property
    def grid(self) -> tuple[int, int]:
        """Number of lines and of columns of small maps: a few more columns than lines, and few empty places."""
        n, columns = len(self.shown), round(sqrt(1.35 * len(self.shown)))
        columns = min(columns, columns + 1, key=lambda columns: -n % columns)
        return ceil(n / columns), columns

    def height(self, width: float) -> float:
        """Height of a panel, in inches. width: of the panel, in inches."""
        lines, columns = self.grid if self.apart else (1, 1)
        return lines * (SHAPE * width / (columns * (1 + GAP)) + NAME) if self.apart else SHAPE * width


def panels(rows: Sequence[Row], title: str, note: str, table: Sequence[Sequence[str]] = ()) -> Figure:
    """Figure with rows of panels, a title above, a table of texts and a note below. table: header, then lines; (): no table."""
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        columns = max(len(row.panels) for row in rows)
        heights = [row.height(WIDTH / columns - 0.1) for row in rows]
        heights += [CELL * len(table)] if table else []
        figure = Drawing((WIDTH, sum(heights) + 0.26 * len(heights) + 0.78), layout="constrained")  # titles, gaps and the note
        figure.data = pd.concat([
            pd.DataFrame({"panel": panel.title, "class": panel.classes, "x": panel.points[:, 0], "y": panel.points[:, 1]})
            for row in rows for panel in row.panels
        ])  # fmt: skip
        axes = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights)
        if table:
            _tabulate(figure, axes[-1], table)
        for row, height, line in zip(rows, heights, axes, strict=False):
            for panel, axis in zip(row.panels, line, strict=True):
                axis.set_title(panel.title, loc="left")
                axis.set(xticks=[], yticks=[])
                _apart(axis, panel, row, height) if row.apart else _together(axis, panel, row)
        surround(figure, title, note)
        figure.draw_without_rendering()  # lays out, so that sizes are known
        for row, line in zip(rows, axes, strict=False):
            for panel, axis in zip(row.panels, line, strict=True):
                if panel.named and not row.apart:
                    _name(axis, panel, row)
    return figure


def _tabulate(figure: Figure, line: Sequence[Axes], table: Sequence[Sequence[str]]) -> None:
    """Write a table across a line of axes: names at the left, numbers at the right."""
    axis = figure.add_subplot(figure.axes[0].get_subplotspec().get_gridspec()[-1, :])  # type: ignore[union-attr]
    for hidden in (axis, *line):
        hidden.axis("off")
    lengths = [max(map(len, column)) + 2 for column in zip(*table, strict=True)]  # in characters
    widths = [length / sum(lengths) for length in lengths]
    grid = axis.table([*map(list, table)], colWidths=widths, cellLoc="right", bbox=Bbox.unit(), edges="horizontal")
    grid.auto_set_font_size(False)
    for (_, column), cell in grid.get_celld().items():
        cell.set(linewidth=0.4, edgecolor=PALE)
        cell.PAD = 0.02
        cell.get_text().set(fontsize=SMALL, ha="right" if column else "left")


def keys(columns: Mapping[str, Mapping[str, Mark]], note: str) -> Figure:
    """Figure of marks and their meanings, a column for each heading, with a note below. columns: heading -> meaning -> mark."""
    wrapped = {head: {textwrap.fill(label, 66): mark for label, mark in column.items()} for head, column in columns.items()}
    lines = max(sum(label.count("\n") + 1 for label in column) for column in wrapped.values())
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        figure = Drawing((WIDTH, 0.14 * lines + 0.6), layout="constrained")
        figure.data = pd.DataFrame(
            [(head, label, *mark) for head, column in columns.items() for label, mark in column.items()],
            columns=["column", "meaning", "colour", "marker"],
        )
        axes = figure.subplots(1, len(columns), width_ratios=[min(66, max(map(len, column))) + 8 for column in columns.values()])
        for axis, (head, column) in zip(axes, wrapped.items(), strict=True):
            axis.axis("off")
            axis.legend(
                handles=legend_marks(column), title=head, loc="upper left", handletextpad=0.2, borderaxespad=0, alignment="left"
            )
        surround(figure, "", note)
    return figure


def _dots(axis: Axes, points: np.ndarray, mark: Mark, size: float, **look: Any) -> None:
    colour, marker = mark
    axis.scatter(points[:, 0], points[:, 1], s=size * AREA.get(marker, 1), c=colour, marker=marker, linewidths=0, **look)


def _together(axis: Axes, panel: Panel, row: Row) -> None:
    size = min(max(8000 / len(panel.points), 3), 8)
    for name in row.shown:
        _dots(axis, panel.points[panel.classes == name], row.marks[name], size, alpha=0.75)
    axis.margins(0.05)


def _apart(axis: Axes, panel: Panel, row: Row, height: float) -> None:
    """Draw small maps side by side, each 1 wide, with the points of all classes in each. height: of the panel, in inches."""
    low, high = panel.points.min(0), panel.points.max(0)
    points = (0.04 + 0.92 * (panel.points - low) / (high - low)) * (1, SHAPE)
    lines, columns = row.grid
    step = SHAPE * height / (height - lines * NAME)  # from line to line
    room = 72 * (height / lines - NAME) / SHAPE  # points, for a name
    font = min(SMALL, room / (0.6 * max(len(row.names[name]) for name in row.shown)))
    size = 16 / columns
    for number, name in enumerate(row.shown):
        x, y = corner = (number % columns * (1 + GAP), -(number // columns) * step)
        axis.add_patch(Rectangle(corner, 1, SHAPE, facecolor=GROUND, zorder=0))
        _dots(axis, points + corner, (PALE, "o"), 0.4 * size, rasterized=True, zorder=1)
        _dots(axis, points[panel.classes == name] + corner, row.marks[name], size, zorder=2)
        axis.text(x, y + SHAPE + 0.03, row.names[name], fontsize=font)
    axis.set(xlim=(0, columns * (1 + GAP) - GAP), ylim=((1 - lines) * step, step))
    axis.axis("off")


def _name(axis: Axes, panel: Panel, row: Row) -> None:
    """Write each class's name near its densest place, over no other name and over few points, with a line to that place."""
    points, frame, dot = axis.transData.transform(panel.points), axis.get_window_extent(), axis.figure.dpi / 72
    boxes: list[tuple[np.ndarray, np.ndarray]] = []  # lower left and upper right corners of names
    for name in (name for name in row.shown if name in panel.classes):
        here = np.flatnonzero(panel.classes == name)
        squared_distances = ((points[here, None] - points[here]) ** 2).sum(-1)
        dense = here[np.exp(-squared_distances / (0.04 * frame.width) ** 2).sum(1).argmax()]
        colour = dark(row.marks[name][0])
        text = axis.annotate(
            row.names[name], panel.points[dense], (0, 0), textcoords="offset points", ha="center", va="center", fontsize=SMALL,
            color=colour, bbox={"fc": (1, 1, 1, 0.75), "ec": "none", "pad": 0.5},
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        size = np.array(Text.get_window_extent(text).padded(dot).size)  # without the line
        low = points[dense] + size[1] * RINGS - size / 2
        high = low + size
        free = (low >= frame.min).all(1) & (high <= frame.max).all(1)
        for corner, opposite in boxes:
            free &= ~((low < opposite) & (high > corner)).all(1)
        covered = [np.mean(((points > low[i]) & (points < high[i])).all(1)) if free[i] else np.inf for i in range(len(RINGS))]
        best = int(np.argmin(300 * np.array(covered) + np.hypot(*RINGS.T)))  # the nearest if no place is free
        text.set_position(size[1] * RINGS[best] / dot)
        boxes.append((low[best], high[best]))
