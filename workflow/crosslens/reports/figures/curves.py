"""Panels of curves by layer, or over another number, with bands; one legend stands beside them."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from crosslens.reports.figures.style import STYLE, WIDTH, Drawing, frame, surround

LAYERS = "layer (0: embeddings)"
LABEL = 12  # characters of a label to an inch of a column, the margin included


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
    def alone(self) -> bool:
        """Whether it has a single value, which no line shows."""
        return int(np.isfinite(self.values).sum()) == 1


def panels(
    grid: Mapping[str, Mapping[str, Sequence[Curve]]],
    title: str,
    note: str,
    *,
    ylabel: str,
    unit: str = "",
    ylim: Sequence[float] = (),
    xlabel: str | Mapping[str, str] = LAYERS,
) -> Figure:
    """Panels that share axes: row -> column -> curves; rows and columns are named where there are several; a note stands below.

    Rows and columns without a curve are left out. The legend has each name once, in the order in which the curves come; a name
    has the same look in all panels. unit: "%" or "points", in which fractions are shown. xlabel: of all rows, or of each, which
    then has x axes of its own; otherwise each column has. ylim: least and largest value of an axis that shows at least these,
    such as chance and 100; values and bands beyond them are shown too.
    """
    rows = [row for row, panels in grid.items() if any(panels.values())]
    columns = [column for column in grid[rows[0]] if any(panels[column] for panels in grid.values())]
    all_curves = [curve for row in grid.values() for curves in row.values() for curve in curves]
    values = np.concatenate([ylim, *(array for curve in all_curves for array in (curve.values, curve.low, curve.high))])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = 0.03 * (high - low)
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        width = WIDTH if len(columns) > 1 else WIDTH / 2
        figure = Drawing((width, 1.25 * len(rows) + (1.1 if len(rows) > 1 else 1.9)), layout="constrained")
        fields = ("name", "x", "values", "low", "high")
        figure.data = pd.concat([
            pd.DataFrame({"row": row, "column": column} | {name: getattr(curve, name) for name in fields})
            for row, cells in grid.items() for column, curves in cells.items() for curve in curves
        ])  # fmt: skip
        axes = figure.subplots(
            len(rows), len(columns), squeeze=False, sharex="col" if isinstance(xlabel, str) else "row", sharey=True
        )
        axes[0, 0].set_ylim(low - margin, high + margin)
        if unit:
            axes[0, 0].yaxis.set_major_formatter(PercentFormatter(1, symbol=""))
            ylabel = f"{ylabel} ({unit})"
        for axis in axes[0] if isinstance(xlabel, str) else axes[:, 0]:
            axis.xaxis.set_major_locator(MaxNLocator(6 if len(columns) < 3 else 4, integer=True))
        for line, row in zip(axes, rows, strict=True):
            for axis, column in zip(line, columns, strict=True):
                draw(axis, grid[row][column])
            line[0].set_ylabel("\n".join(filter(None, [row, ylabel])) if len(rows) > 1 else ylabel)
        for axis, column in zip(axes[0], columns, strict=True):
            axis.set_title(column, loc="left")
        for row, line in zip(rows, axes, strict=True):
            for axis in line:
                if isinstance(xlabel, Mapping) or row == rows[-1]:
                    label = xlabel if isinstance(xlabel, str) else xlabel[row]
                    axis.set_xlabel(textwrap.fill(label, int(LABEL * width / len(columns))))
        curve_by_name = {curve.name: curve for curve in all_curves if curve.name}
        if curve_by_name:
            figure.legend(handles=handles([*curve_by_name.values()]), loc="outside right center", handlelength=2.2)
        surround(figure, title, note, width)
    return figure


def draw(axis: Axes, curves: Sequence[Curve]) -> None:
    """Draw lines above bands above the grid, whichever curves they belong to."""
    frame(axis)
    for curve in curves:
        if np.isfinite(curve.low).any():
            axis.fill_between(curve.x, curve.low, curve.high, color=str(curve.look["color"]), alpha=0.09, linewidth=0, zorder=1)
        axis.plot(curve.x, curve.values, **_look(curve))


def handles(curves: Sequence[Curve]) -> list[Line2D]:
    """Handles of a legend: a piece of each curve's line, and its name."""
    return [Line2D([], [], label=curve.name, **_look(curve)) for curve in curves]


def _look(curve: Curve) -> dict[str, Any]:
    """Properties of the line, or of the mark of a value alone."""
    return {"marker": "o", "markersize": 2.5} | dict(curve.look) | {"linestyle": ""} if curve.alone else dict(curve.look)
