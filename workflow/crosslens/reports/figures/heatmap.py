"""Heat maps: numbers in cells coloured by their difference from a reference, in panels one above the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from crosslens.jobs.quantities import number
from crosslens.reports.figures.style import GROUND, INK, SMALL, STYLE, WIDTH, Drawing, wrapped

LOSS, GAIN = "#E69F00", "#56B4E9"  # from the palette of Okabe and Ito; light enough for dark numbers
DIVERGING = LinearSegmentedColormap.from_list("loss_gain", [LOSS, "#FFFFFF", GAIN])
GAP = 0.3  # width, in cells, of the gap before columns that are set apart
EM = 0.7  # width of a bold digit divided by the size of the font
SIGNS = "Bold: above the reference. Triangles: further above or below than the colours reach."
cell_text = partial(number, digits=1, plus=False)  # a number as cells show it


@dataclass(frozen=True)
class Panel:
    """A heat map. nan in `values`: an empty cell; nan in `differences`: a cell without a colour."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: np.ndarray  # (rows, columns), printed in the cells
    differences: np.ndarray  # (rows, columns), from the reference; shown as colours
    apart: int = 0  # number of last columns that are set apart, such as means


def panels(parts: Sequence[Panel], title: str, note: str, *, legend: str, limit: float) -> Figure:
    """Figure of panels with cells of equal size; a title is above, the colour bar and a note are below.

    Numbers above the reference are bold, so that a print without colours can be read, too.

    legend: name of the differences, at the colour bar.
    limit: difference at which the colours end, on both sides.
    """
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        margin, names = 0.08, 0.07 * max(len(row) for part in parts for row in part.rows) + 0.03  # inches
        widest = max(len(part.columns) + GAP * bool(part.apart) for part in parts)
        width, height = min(0.42, (WIDTH - 2 * margin - names) / widest), 0.17
        size = min(SMALL, 72 * 0.88 * width / (EM * _longest(parts)))
        heading, footing = wrapped(title, f"{note} {SIGNS}".strip())
        top, bottom = 0.17 * (heading.count("\n") + 1) + 0.1, 0.13 * (footing.count("\n") + 1) + 0.55
        over = 0.36  # inches for a panel's title and the names of its columns
        figure = Drawing((WIDTH, top + bottom + sum(over + height * len(part.rows) for part in parts)))
        figure.data = pd.concat([
            pd.DataFrame({"panel": part.title, "row": row, "column": part.columns, "values": values, "differences": differences})
            for part in parts for row, values, differences in zip(part.rows, part.values, part.differences, strict=True)
        ])  # fmt: skip
        whole = figure.get_figheight()
        figure.text(margin / WIDTH, 1 - 0.06 / whole, heading, fontsize=9, va="top")
        figure.text(margin / WIDTH, 0.05 / whole, footing, fontsize=SMALL, va="bottom")
        colours = ScalarMappable(Normalize(-limit, limit), DIVERGING)
        below = whole - top
        for part in parts:
            below -= over + height * len(part.rows)
            extent = (len(part.columns) + GAP * bool(part.apart)) * width
            box = ((margin + names) / WIDTH, below / whole, extent / WIDTH, height * len(part.rows) / whole)
            _draw(figure.add_axes(box), part, colours, limit, size, height / width)
        scale = figure.add_axes(((margin + names) / WIDTH, (bottom - 0.25) / whole, 1.9 / WIDTH, 0.09 / whole))
        bar = figure.colorbar(colours, cax=scale, orientation="horizontal", extend="both", ticks=[-limit, 0, limit])
        bar.ax.set_xticklabels([f"−{limit:g}", "0", f"+{limit:g}"])
        bar.outline.set_linewidth(0.4)
        figure.text((margin + names + 2.1) / WIDTH, (bottom - 0.21) / whole, legend, fontsize=SMALL, va="center")
    return figure


def _longest(parts: Sequence[Panel]) -> float:
    """Width of the widest number, in digits; a decimal point is as wide as half a digit."""
    texts = [cell_text(value) for part in parts for value in part.values.ravel() if np.isfinite(value)]
    return max((len(text) - 0.5 for text in texts), default=3.5)


def _draw(axis: Axes, part: Panel, colours: ScalarMappable, limit: float, size: float, aspect: float) -> None:
    """Draw the cells of a panel. size: font size of numbers, in points; aspect: height of a cell divided by its width."""
    n, k = part.values.shape
    edges = np.arange(k, dtype=float)
    edges[k - part.apart :] += GAP * bool(part.apart)
    axis.set(xlim=(0, edges[-1] + 1), ylim=(n, 0))
    axis.spines[:].set_visible(False)
    axis.set_title(part.title, loc="left", pad=14)
    axis.xaxis.tick_top()
    axis.tick_params(length=0, pad=1.5)
    axis.set_xticks(edges + 0.5, part.columns)
    axis.set_yticks(np.arange(n) + 0.5, part.rows)
    for row, column in np.ndindex(n, k):
        value, difference, x = float(part.values[row, column]), float(part.differences[row, column]), float(edges[column])
        colour = colours.to_rgba(np.array(difference)) if np.isfinite(difference) else GROUND
        axis.add_patch(Rectangle((x, row), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.6))
        if np.isfinite(value):
            weight = "bold" if difference > 0 else "normal"
            axis.text(x + 0.5, row + 0.53, cell_text(value), ha="center", va="center", fontsize=size, weight=weight, color=INK)
        if abs(difference) > limit:
            y, inwards = (row + 0.03, 0.28) if difference > 0 else (row + 0.97, -0.28)
            right = x + 1 - 0.03 * aspect
            corner = [(right, y), (right - 0.28 * aspect, y), (right, y + inwards)]
            axis.add_patch(Polygon(corner, facecolor=INK, linewidth=0))
