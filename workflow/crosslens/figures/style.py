"""How every figure looks: one style, and marks for many classes that stay apart in print and for the colour-blind."""

from collections.abc import Mapping, Sequence

import matplotlib

matplotlib.use("Agg")

# Okabe and Ito (2008), without yellow, which vanishes on white; black last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "^", "s", "v", "D", "P", "X")

STYLE = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "#666666",
    "legend.frameon": False,
    "legend.fontsize": 7,
    "figure.dpi": 150,
    "savefig.dpi": 150,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "crosslens",  # the same figure gives the same file
}


def marks(classes: Sequence[str]) -> Mapping[str, tuple[str, str]]:
    """Class -> (colour, marker). Neighbours differ in colour, and 7 x 7 classes have 49 different pairs."""
    size = len(COLOURS)
    return {name: (COLOURS[i % size], MARKERS[(i // size + i) % len(MARKERS)]) for i, name in enumerate(classes)}


def look(number: int) -> Mapping[str, str | float]:
    """Colour, marker and width of one of several curves; none is black, which is left to controls."""
    size = len(COLOURS) - 1
    return {"color": COLOURS[number % size], "marker": MARKERS[number % size], "markersize": 1.9, "linewidth": 0.8}
