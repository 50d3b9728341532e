"""How every figure looks: one style, colours that the colour-blind tell apart, and the marks of language families."""

from collections.abc import Mapping, Sequence

import matplotlib
from matplotlib.colors import to_hex, to_rgb

matplotlib.use("Agg")

# Okabe and Ito (2008), without yellow, which vanishes on white; black last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "^", "s", "v", "D", "P", "X")
INK, PALE, GROUND = "#333333", "#D4D4D4", "#F7F7F7"  # of text, of points in the background, and of what these are on

WIDTH = 7.2  # inches: a page of a journal, 700 pixels of a screen
SMALL = 7  # points: names in panels, notes

Look = Mapping[str, str | float]
"""Arguments of matplotlib's `plot`."""
GREY: Look = {"color": "#707070", "linewidth": 0.9, "linestyle": "--"}
DOTTED: Look = {**GREY, "linestyle": ":"}
"""Controls and levels that curves are compared with."""

Mark = tuple[str, str]
"""Colour and marker."""

STYLE = {
    "font.size": 8,
    # The first one comes with matplotlib, so that a figure is the same everywhere; who reads SVG may have one of its width.
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


def marks(classes: Sequence[str]) -> Mapping[str, Mark]:
    """Class -> (colour, marker). Neighbours differ in colour, and 7 x 7 classes have 49 different pairs."""
    size = len(COLOURS)
    return {name: (COLOURS[i % size], MARKERS[(i // size + i) % len(MARKERS)]) for i, name in enumerate(classes)}


def dark(colour: str, share: float = 0.66) -> str:
    """A colour for text, or for points on grey ones, which must be darker than for marks on white."""
    red, green, blue = to_rgb(colour)
    return to_hex((share * red, share * green, share * blue))


# The same in all papers: circles are branches of Indo-European, triangles other families. Dark, to stand out in grey, too.
BRANCHES = {"Germanic": "Germanic", "Romance": "Romance", "Slavic": "Slavic", "Indic": "Indo-Iranian", "Iranian": "Indo-Iranian"}
OTHER_BRANCHES, OTHER_FAMILIES = "other Indo-European", "other families"
FAMILIES = ("Afro-Asiatic", "Altaic", "Austronesian", "Dravidian", "Sino-Tibetan", "Uralic")
FAMILY_MARKS: Mapping[str, Mark] = {
    **{name: (dark(COLOURS[i], 0.8), "o") for i, name in enumerate(dict.fromkeys([*BRANCHES.values(), OTHER_BRANCHES]))},
    **{name: (dark(COLOURS[i], 0.8), "^") for i, name in enumerate(FAMILIES)},
    OTHER_FAMILIES: (COLOURS[-1], "s"),
}


def families(languages: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Code -> its family, or its branch of Indo-European, as FAMILY_MARKS has them; in the order of these, then by name.

    languages: code -> name, family and genus, as resources/languages.csv has them.
    """
    found = {}
    for code, language in languages.items():
        if language["family"] == "Indo-European":
            found[code] = BRANCHES.get(language["genus"], OTHER_BRANCHES)
        else:
            found[code] = language["family"] if language["family"] in FAMILY_MARKS else OTHER_FAMILIES
    order = list(FAMILY_MARKS)
    return dict(sorted(found.items(), key=lambda item: (order.index(item[1]), languages[item[0]]["name"])))


def look(number: int) -> Look:
    """Colour, marker and width of one of several curves; none is black, which is left to controls."""
    size = len(COLOURS) - 1
    return {"color": COLOURS[number % size], "marker": MARKERS[number % size], "markersize": 2.0, "linewidth": 0.9}
