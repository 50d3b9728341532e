"""The style of all figures, colours that the colour-blind can tell apart, and the marks of language families."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Literal

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

matplotlib.use("Agg")

# Okabe and Ito (2008), without yellow, which vanishes on white; black last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "^", "s", "v", "D", "P", "X")
INK, PALE, GROUND = "#333333", "#D4D4D4", "#F7F7F7"  # colours of text, of points in the background, and of the background

WIDTH = 7.2  # inches: as wide as a journal page, or 700 pixels on a screen
SMALL = 7  # points: font size of names in panels and of notes
TITLE, NOTE = 13.5, 18.5  # characters per inch

Look = Mapping[str, str | float]
"""Arguments of matplotlib's `plot`."""
GREY: Look = {"color": "#707070", "linewidth": 0.9, "linestyle": "--"}
DOTTED: Look = {**GREY, "linestyle": ":"}
"""Looks of controls in all papers: random weights are dashed; random directions, and levels such as chance, are dotted."""

Mark = tuple[str, str]
"""Colour and marker."""

STYLE = {
    "font.size": 8,
    # The first comes with matplotlib, so figures are the same everywhere. The others, for viewers of the SVG, are as wide.
    "font.sans-serif": ["DejaVu Sans", "Bitstream Vera Sans", "Verdana"],
    "text.color": INK,
    "axes.titlesize": 8,
    "axes.titlepad": 4,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "#666666",
    "axes.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "xtick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.labelsize": SMALL,
    "ytick.color": INK,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "figure.dpi": 300,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "crosslens",  # the same figure gives the same file
}


class Drawing(Figure):
    """A figure with its data: a row for each point, bar or cell that it shows."""

    data: pd.DataFrame


def wrapped(title: str, note: str, width: float = WIDTH) -> tuple[str, str]:
    """Title and note broken into lines that fit a figure; width: of the figure, in inches."""
    sizes = (TITLE, title), (NOTE, note)
    heading, footing = (textwrap.fill(text, int(characters * width), break_on_hyphens=False) for characters, text in sizes)
    return heading, footing


def surround(figure: Figure, title: str, note: str, width: float = WIDTH) -> None:
    """Write a title above the panels of a figure and a note below them; width: of the figure, in inches."""
    heading, footing = wrapped(title, note, width)
    figure.suptitle(heading, fontsize=9, x=0.01, ha="left")
    figure.supxlabel(footing, fontsize=SMALL, x=0.01, ha="left")


def frame(axis: Axes, grid: Literal["y", "both"] = "y") -> None:
    """Draw the frame of a panel: an axis at the left and below, and grid lines behind everything else."""
    axis.grid(axis=grid, color="#E5E5E5", linewidth=0.5)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def marks(classes: Sequence[str]) -> Mapping[str, Mark]:
    """Class -> (colour, marker). Neighbours differ in colour, and 7 x 7 classes have 49 different pairs."""
    size = len(COLOURS)
    return {name: (COLOURS[i % size], MARKERS[(i // size + i) % len(MARKERS)]) for i, name in enumerate(classes)}


def legend_marks(marks: Mapping[str, Mark]) -> list[Line2D]:
    """Handles of a legend: the mark of each class, and its name."""
    return [Line2D([], [], linestyle="", markersize=4, label=name, color=mark[0], marker=mark[1]) for name, mark in marks.items()]


def dark(colour: str, share: float = 0.66) -> str:
    """A darker colour, for text or for points on grey ones. share: share of the brightness that is kept."""
    red, green, blue = to_rgb(colour)
    return to_hex((share * red, share * green, share * blue))


# In all papers, circles are branches of Indo-European, triangles other families. Colours are dark, to stand out in grey, too.
BRANCHES = {"Germanic": "Germanic", "Romance": "Romance", "Slavic": "Slavic", "Indic": "Indo-Iranian", "Iranian": "Indo-Iranian"}
OTHER_BRANCHES, OTHER_FAMILIES = "other Indo-European", "other families"
FAMILIES = ("Afro-Asiatic", "Turkic", "Austronesian", "Dravidian", "Sino-Tibetan", "Uralic")
FAMILY_MARKS: Mapping[str, Mark] = {
    **{name: (dark(COLOURS[i], 0.8), "o") for i, name in enumerate(dict.fromkeys([*BRANCHES.values(), OTHER_BRANCHES]))},
    **{name: (dark(COLOURS[i], 0.8), "^") for i, name in enumerate(FAMILIES)},
    OTHER_FAMILIES: (COLOURS[-1], "s"),
}


def families(languages: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Code -> family, or branch of Indo-European, as in FAMILY_MARKS; in the order of FAMILY_MARKS, then by language name.

    languages: code -> name, family and genus, as in resources/languages.csv.
    """
    family_by_code = {}
    for code, language in languages.items():
        if language["family"] == "Indo-European":
            family_by_code[code] = BRANCHES.get(language["genus"], OTHER_BRANCHES)
        else:
            family_by_code[code] = language["family"] if language["family"] in FAMILY_MARKS else OTHER_FAMILIES
    order = list(FAMILY_MARKS)
    return dict(sorted(family_by_code.items(), key=lambda item: (order.index(item[1]), languages[item[0]]["name"])))


def look(number: int) -> Look:
    """Colour, marker and width of one of several curves; none is black, which some figures keep for a special series."""
    return {
        "color": COLOURS[number % (len(COLOURS) - 1)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 2.0,
        "linewidth": 0.9,
    }
