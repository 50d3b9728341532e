"""Panels of points in two dimensions, by class, with one legend a row."""

import textwrap
from collections.abc import Mapping, Sequence
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
    """Panels that share classes, and the legend's heading."""

    panels: Sequence[Panel]
    classes: Sequence[str]
    names: Sequence[str]
    heading: str


def panels(rows: Sequence[Row], title: str, caption: str) -> Figure:
    """Rows of scatter panels, a legend beside each row, a caption below."""
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        width = max(len(row.panels) for row in rows)
        legend_columns = max(-(-len(row.classes) // 17) for row in rows)
        figure, axes = plt.subplots(
            len(rows), width + 1, figsize=(2.9 * width + 0.95 * legend_columns, 2.75 * len(rows) + 0.9), squeeze=False,
            width_ratios=[1.0] * width + [0.31 * legend_columns], layout="constrained",
        )  # fmt: skip
        for row, line in zip(rows, axes, strict=True):
            marked = marks(row.classes)
            for panel, axis in zip(row.panels, line, strict=False):
                _scatter(axis, panel, marked)
            for axis in line[len(row.panels) :]:
                axis.axis("off")
            handles = [
                Line2D([], [], linestyle="", color=colour, marker=marker, markersize=4, label=name)
                for (colour, marker), name in zip(marked.values(), row.names, strict=True)
            ]
            line[-1].legend(
                handles=handles, title=row.heading, loc="center left", ncols=-(-len(handles) // 17), handletextpad=0.2,
                columnspacing=0.8, borderaxespad=0, title_fontsize=7.5, alignment="left",
            )  # fmt: skip
        figure.suptitle(title, fontsize=10)
        figure.supxlabel(textwrap.fill(caption, int(17.5 * figure.get_figwidth())), fontsize=7, x=0.01, ha="left")
    return figure


def _scatter(axis: Axes, panel: Panel, marked: Mapping[str, tuple[str, str]]) -> None:
    for name, (colour, marker) in marked.items():
        here = panel.points[panel.classes == name]
        axis.scatter(here[:, 0], here[:, 1], s=9, c=colour, marker=marker, linewidths=0, alpha=0.75)
    axis.set_title(panel.title, loc="left")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.margins(0.03)
