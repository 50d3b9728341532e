"""Panels of points in two dimensions, by class, with one legend a row; and the legends alone."""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from crosslens.figures.style import STYLE, marks


@dataclass(frozen=True)
class Panel:
    """Points (n, 2), their classes (n,), and a title of at most two lines."""

    points: np.ndarray
    classes: np.ndarray
    title: str


@dataclass(frozen=True)
class Row:
    """Panels that share classes, and their legend. The marks depend on all classes; `shown` are those of the legend."""

    panels: Sequence[Panel]
    names: Mapping[str, str]  # class -> name, in the legend's order
    heading: str
    shown: Collection[str] | None = None  # None: all

    @property
    def entries(self) -> list[str]:
        """Classes of the legend."""
        return [name for name in self.names if self.shown is None or name in self.shown]

    @property
    def columns(self) -> int:
        """Columns of the legend."""
        return -(-len(self.entries) // 17)


def panels(rows: Sequence[Row], title: str, caption: str) -> Figure:
    """Rows of scatter panels, a legend beside each row, a caption below."""
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        width = max(len(row.panels) for row in rows)
        legend_columns = max(row.columns for row in rows)
        figure, axes = plt.subplots(
            len(rows), width + 1, figsize=(2.9 * width + 0.95 * legend_columns, 2.75 * len(rows) + 0.9), squeeze=False,
            width_ratios=[1.0] * width + [0.31 * legend_columns], layout="constrained",
        )  # fmt: skip
        for row, line in zip(rows, axes, strict=True):
            for panel, axis in zip(row.panels, line, strict=False):
                _scatter(axis, panel, marks(list(row.names)))
            for axis in line[len(row.panels) :]:
                axis.axis("off")
            _legend(line[-1], row)
        _title(figure, title, caption)
    return figure


def legends(rows: Sequence[Row], title: str, caption: str) -> Figure:
    """The legends of rows side by side, without panels."""
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        columns = [row.columns for row in rows]
        figure, axes = plt.subplots(1, len(rows), figsize=(1.3 * sum(columns), 3.4), width_ratios=columns, layout="constrained")
        for row, axis in zip(rows, axes, strict=True):
            axis.axis("off")
            _legend(axis, row)
        _title(figure, title, caption)
    return figure


def _title(figure: Figure, title: str, caption: str) -> None:
    figure.suptitle(title, fontsize=10)
    figure.supxlabel(textwrap.fill(caption, int(17.5 * figure.get_figwidth())), fontsize=7, x=0.01, ha="left")


def _legend(axis: Axes, row: Row) -> None:
    marked = marks(list(row.names))
    handles = [
        Line2D([], [], linestyle="", color=marked[name][0], marker=marked[name][1], markersize=4, label=row.names[name])
        for name in row.entries
    ]
    axis.legend(
        handles=handles, title=row.heading, loc="center left", ncols=row.columns, handletextpad=0.2,
        columnspacing=0.8, borderaxespad=0, title_fontsize=7.5, alignment="left",
    )  # fmt: skip


def _scatter(axis: Axes, panel: Panel, marked: Mapping[str, tuple[str, str]]) -> None:
    for name, (colour, marker) in marked.items():
        here = panel.points[panel.classes == name]
        axis.scatter(here[:, 0], here[:, 1], s=9, c=colour, marker=marker, linewidths=0, alpha=0.75)
    axis.set_title(panel.title, loc="left")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.margins(0.03)
