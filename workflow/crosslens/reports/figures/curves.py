"""Panels of curves by layer, or over another number, with bands; each is named at its end, beside the last panel of a row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import MaxNLocator
from scipy.optimize import isotonic_regression

from crosslens.reports.figures.style import SMALL, STYLE, WIDTH, dark, frame, surround

LAYERS = "layer (0: embeddings)"


@dataclass(frozen=True)
class Curve:
    """Values by layer, or over another number, and their band, each (n,), x rising; nan: no value, or no band, there."""

    x: np.ndarray
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    look: Mapping[str, str | float]  # properties of the line; its colour is also that of band and name
    name: str = ""  # empty: not named

    @classmethod
    def of(cls, by_layer: pd.DataFrame, look: Mapping[str, str | float], name: str = "") -> Self:
        """A curve from a table by layer: value and, for a band, low and high."""
        value, low, high = by_layer.reindex(columns=["value", "low", "high"]).to_numpy(float).T
        return cls(by_layer.index.to_numpy(), value, low, high, look, name)

    @classmethod
    def over_seeds(cls, records: pd.DataFrame, look: Mapping[str, str | float], name: str = "") -> Self:
        """A curve of means at each layer; the band is the range over seeds, or the interval of a single seed."""
        by_layer = records.groupby("layer")
        value, single = by_layer["value"], by_layer.size() == 1
        low, high = by_layer["low"].first().where(single, value.min()), by_layer["high"].first().where(single, value.max())
        return cls.of(pd.DataFrame({"value": value.mean(), "low": low, "high": high}), look, name)

    @property
    def end(self) -> tuple[float, float]:
        """The last point, x and value."""
        last = np.flatnonzero(np.isfinite(self.values))[-1]
        return float(self.x[last]), float(self.values[last])


def panels(
    grid: Mapping[str, Mapping[str, Sequence[Curve]]],
    title: str,
    note: str,
    *,
    ylabel: str,
    ylim: tuple[float, float],
    xlabel: str | Mapping[str, str] = LAYERS,
) -> Figure:
    """Panels that share axes: row -> column -> curves; rows and columns are named where there are several; a note stands below.

    Rows and columns without a curve are left out. xlabel: of all rows, or of each, which then has x axes of its own. ylim: of
    the values; its ends give way to values beyond them; bands are cut off there.
    """
    rows = [row for row, panels in grid.items() if any(panels.values())]
    columns = [column for column in grid[rows[0]] if any(panels[column] for panels in grid.values())]
    values = np.concatenate([curve.values for row in grid.values() for curves in row.values() for curve in curves])
    low, high = min(ylim[0], float(np.nanmin(values))), max(ylim[1], float(np.nanmax(values)))
    margin = 0.03 * (high - low)
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        width = WIDTH if len(columns) > 1 else WIDTH / 2
        figure = Figure((width, 1.25 * len(rows) + (1.1 if len(rows) > 1 else 1.9)), layout="constrained")
        axes = figure.subplots(
            len(rows), len(columns), squeeze=False, sharex="all" if isinstance(xlabel, str) else "row", sharey=True
        )
        axes[0, 0].set_ylim(low - margin, high + margin)
        for line in axes[:1] if isinstance(xlabel, str) else axes:
            line[0].xaxis.set_major_locator(MaxNLocator(6, integer=True))
        for line, row in zip(axes, rows, strict=True):
            for axis, column in zip(line, columns, strict=True):
                _draw(axis, grid[row][column])
            line[0].set_ylabel("\n".join(filter(None, [row, ylabel])) if len(rows) > 1 else ylabel)
        for axis, column in zip(axes[0], columns, strict=True):
            axis.set_title(column, loc="left")
        for row, line in zip(rows, axes, strict=True):
            for axis in line:
                if isinstance(xlabel, Mapping) or row == rows[-1]:
                    axis.set_xlabel(xlabel if isinstance(xlabel, str) else xlabel[row])
        surround(figure, title, note, width)
        names = [_name(line[-1], grid[row]) for line, row in zip(axes, rows, strict=True)]
        figure.draw_without_rendering()  # lays out, so that heights are known
        for line, names_of_row in zip(axes, names, strict=True):
            _spread(line[-1], names_of_row)
    return figure


def _draw(axis: Axes, curves: Sequence[Curve]) -> None:
    """Draw lines above bands above the grid, whichever curves they belong to."""
    frame(axis)
    for curve in curves:
        if np.isfinite(curve.low).any():
            axis.fill_between(curve.x, curve.low, curve.high, color=str(curve.look["color"]), alpha=0.09, linewidth=0, zorder=1)
        axis.plot(curve.x, curve.values, **curve.look)  # type: ignore[arg-type]


def _name(axis: Axes, row: Mapping[str, Sequence[Curve]]) -> list[Annotation]:
    """Names of a row's curves to the right of its last panel, at the height of their ends, with thin lines to these."""
    curve_by_name = {curve.name: curve for curves in row.values() for curve in curves if curve.name}
    return [
        axis.annotate(
            name, curve.end, (1.08, curve.end[1]), textcoords=axis.get_yaxis_transform(), annotation_clip=False,
            fontsize=SMALL, color=dark(str(curve.look["color"])), va="center",
            # relpos: from the name's left end, so that a line crosses no other name
            arrowprops={"arrowstyle": "-", "relpos": (0, 0.5), "color": str(curve.look["color"]), "linewidth": 0.5, "shrinkA": 0,
                        "shrinkB": 0},
        )
        for name, curve in curve_by_name.items()
    ]  # fmt: skip


def _spread(axis: Axes, names: Sequence[Annotation]) -> None:
    """Move names up and down as little as keeps them apart: least squares under y[i + 1] - y[i] >= gap is isotonic."""
    if not names:
        return
    names = sorted(names, key=lambda name: name.xy[1])
    low, high = axis.get_ylim()
    points = 72 * axis.get_window_extent().height / axis.figure.dpi
    gap = (high - low) * min(1.2 * SMALL / points, 1 / len(names))
    steps = gap * np.arange(len(names))
    free = isotonic_regression(np.array([name.xy[1] for name in names]) - steps).x
    for name, y in zip(names, np.clip(free, low, high - steps[-1]) + steps, strict=True):
        name.set_position((name.get_position()[0], float(y)))
