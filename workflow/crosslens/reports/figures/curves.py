"""Panels of curves with bands, by layer or over another number, with one legend at the right."""

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
LABEL = 12  # characters of a label per inch of a column, margin included


@dataclass(frozen=True)
class Curve:
    """A curve by layer, or over another number, with a band.

    x: (n,), ascending.
    values, low, high: (n,), the curve and the ends of its band; nan where there is no value, or no band.
    """

    x: np.ndarray
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    look: Mapping[str, str | float]  # properties of the line; the band has its colour
    name: str = ""  # name in the legend; "": not in the legend

    @classmethod
    def of(cls, by_layer: pd.DataFrame, look: Mapping[str, str | float], name: str = "") -> Self:
        """A curve from a table with layers as index and the column value; for a band, also low and high."""
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
        """Whether the curve has a single value, so that no line would show it."""
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
    """Figure of panels with shared axes, a title above and a note below.

    The legend has each name once, in the order of the curves; a name must have the same look in all panels.

    grid: row -> column -> curves. Rows and columns without a curve are left out; if there are several, they are named.
    unit: "%" or "points", in which fractions are shown; "" to show values as they are.
    ylim: values that the y axis must include, such as chance and 100; values and bands beyond them are shown too.
    xlabel: label of all rows, or row -> its label. Panels of a column share an x axis in the first case, those of a row in the
    second.
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
    """Draw some curves: all bands above the grid, and all lines above the bands."""
    frame(axis)
    for curve in curves:
        if np.isfinite(curve.low).any():
            axis.fill_between(curve.x, curve.low, curve.high, color=str(curve.look["color"]), alpha=0.09, linewidth=0, zorder=1)
        axis.plot(curve.x, curve.values, **_look(curve))


def handles(curves: Sequence[Curve]) -> list[Line2D]:
    """Handles of a legend: a sample of each curve's line, and its name."""
    return [Line2D([], [], label=curve.name, **_look(curve)) for curve in curves]


def _look(curve: Curve) -> dict[str, Any]:
    """Properties of a curve's line, or of its mark if it has a single value."""
    return {"marker": "o", "markersize": 2.5} | dict(curve.look) | {"linestyle": ""} if curve.alone else dict(curve.look)
