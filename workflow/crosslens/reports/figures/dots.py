"""Dots by language: a column for each language, with several models side by side; panels one above the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from crosslens.reports.figures.style import COLOURS, MARKERS, STYLE, WIDTH, Drawing, frame, surround, wrapped

HEIGHT = 1.55  # inches: height of a panel
SPREAD = 0.72  # share of a column's width over which series are spread
LEVEL = {"color": "#666666", "linewidth": 0.8, "linestyle": (0, (3, 1.5))}


@dataclass(frozen=True)
class Look:
    """Colour and marker of a series; hollow: whether markers are outlines."""

    colour: str
    marker: str
    hollow: bool = False


@dataclass(frozen=True)
class Dots:
    """A series: values of the languages and the ends of their intervals, each (n_languages,); nan where there is none."""

    name: str
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Panel:
    """Series over the same languages.

    level: (n_languages,), a dashed line for each language, such as chance; None: no lines.
    ylim: values that the y axis must include; values and intervals beyond them are shown too.
    apart: number of last columns that are set apart, such as means.
    """

    title: str
    ylabel: str
    columns: Sequence[str]
    series: Sequence[Dots]
    level: np.ndarray | None = None
    ylim: tuple[float, float] | None = None
    apart: int = 0


def looks(names: Sequence[str]) -> dict[str, Look]:
    """A look for each series: colours and markers differ, so that series are distinct in grey, too; none is black."""
    colours = len(COLOURS) - 1
    return {
        name: Look(COLOURS[i % colours], MARKERS[i % len(MARKERS)], hollow=i // colours % 2 == 1) for i, name in enumerate(names)
    }


def panels(parts: Sequence[Panel], looks_by_name: Mapping[str, Look], title: str, note: str) -> Figure:
    """Panels with a title above them, the names of the series and a note below.

    looks_by_name: name of a series -> its look, in the order of the legend, and from left to right within a column. The legend
    calls dashed lines chance.
    """
    names = [name for name in looks_by_name if any(series.name == name for part in parts for series in part.series)]
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        handles = [_handle(name, looks_by_name[name]) for name in names]
        if any(part.level is not None for part in parts):
            handles.append(Line2D([], [], label="chance", **LEVEL))  # type: ignore[arg-type]
        longest = max((len(str(handle.get_label())) for handle in handles), default=1)
        per_line = max(1, int(WIDTH / (0.068 * longest + 0.32)))
        heights = [*(HEIGHT for _ in parts), 0.15 * ceil(len(handles) / per_line)]
        heading, footing = wrapped(title, note)
        outside = 0.17 * (heading.count("\n") + 1) + 0.13 * (footing.count("\n") + 1)
        figure = Drawing((WIDTH, sum(heights) + 0.42 * len(parts) + outside + 0.2), layout="constrained")
        figure.data = pd.concat([
            pd.DataFrame({"panel": part.title, "column": part.columns, **vars(series), "level": part.level})
            for part in parts for series in part.series
        ])  # fmt: skip
        axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axis, part in zip(axes[:-1], parts, strict=True):
            _draw(axis, part, looks_by_name, names)
        axes[-1].axis("off")
        axes[-1].legend(handles=handles, loc="upper left", ncols=per_line, handletextpad=0.4, columnspacing=1.2, borderaxespad=0)
        surround(figure, title, note)
        figure.align_ylabels(axes[:-1])
    return figure


def _draw(axis: Axes, part: Panel, looks_by_name: Mapping[str, Look], names: Sequence[str]) -> None:
    """Draw a column for each language, with faint borders; dots are drawn over intervals, so that no dot is hidden."""
    columns = np.arange(len(part.columns), dtype=float)
    columns[len(columns) - part.apart :] += 0.3
    frame(axis)
    for border in (columns[1:] + columns[:-1]) / 2:
        axis.axvline(border, color="#EFEFEF", linewidth=0.5, zorder=0)
    series = {dots.name: dots for dots in part.series}
    names_here = [name for name in names if name in series]
    for number, name in enumerate(names_here):
        dots, look = series[name], looks_by_name[name]
        x = columns + SPREAD / len(names_here) * (number - (len(names_here) - 1) / 2)
        axis.vlines(x, dots.low, dots.high, color=look.colour, linewidth=0.7, zorder=2)
        face = "white" if look.hollow else look.colour
        axis.plot(
            x, dots.values, linestyle="", marker=look.marker, markersize=3.2, markerfacecolor=face, markeredgecolor=look.colour,
            markeredgewidth=0.7, zorder=3,
        )  # fmt: skip
    if part.level is not None:
        axis.hlines(part.level, columns - 0.46, columns + 0.46, zorder=1, **LEVEL)  # type: ignore[arg-type]
    axis.set_xlim(columns[0] - 0.55, columns[-1] + 0.55)
    axis.set_xticks(columns, part.columns)
    axis.tick_params(axis="x", length=0, pad=2)
    axis.set_ylim(*_limits(part))
    axis.set_ylabel(part.ylabel)
    axis.set_title(part.title, loc="left")


def _limits(part: Panel) -> tuple[float, float]:
    """Ends of the y axis, with every dot and interval inside and a margin for markers."""
    arrays = [array for dots in part.series for array in (dots.values, dots.low, dots.high)]
    values = np.concatenate([*arrays, part.level if part.level is not None else [], part.ylim or []])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = 0.05 * (high - low or 1)
    return low - margin, high + margin


def _handle(name: str, look: Look) -> Line2D:
    face = "white" if look.hollow else look.colour
    return Line2D(
        [], [], linestyle="", marker=look.marker, markersize=4, markerfacecolor=face, markeredgecolor=look.colour, label=name
    )
