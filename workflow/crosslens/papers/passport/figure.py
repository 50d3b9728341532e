"""The picture of a passport: three panels over relative depth, and below them a strip with a dot for each language."""

from collections.abc import Iterator, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crosslens.papers.passport.facts import Baseline, Passport, name_of
from crosslens.reports.figures.curves import Curve, draw, handles, panels
from crosslens.reports.figures.style import COLOURS, DOTTED, GREY, STYLE, WIDTH, Look, frame, look, surround

OWN = "own, raw"  # definition of the strip: own-language neighbours
MIDDLE = 0.5  # share above which a dot's name is to its left
NAME = 6  # font size of the dots' names, in points
LETTER, GAP = 0.0115, 0.015  # widths in units of the x axis: a letter of a name; a dot with its margin
COMPARED = {
    "share": "a  Language variance",
    "neighbours": "b  Nearest neighbours",
    "topic": "c  Topic transfer",
}
RANDOM = (
    "a: share of variance between languages; b: share of translations that are the nearest neighbour; c: topics right in other "
    "languages. Dashed: the same architecture with random weights. Bands: 95 % intervals over families of languages."
)
LEAST = 6  # the strip has room for at least so many rows
PANELS, NAMES, ROW = 1.6, 0.52, 0.115  # inches: heights of the panels, of the names below them, and of a row of the strip
FIRST: Look = {"color": COLOURS[0], "marker": "o", "markersize": 2.6, "linewidth": 1.3}
SECOND: Look = {"color": COLOURS[1], "marker": "s", "markersize": 2.4, "linewidth": 1.0, "linestyle": (0, (4, 1.6))}  # type: ignore[dict-item]
BAND: Look = {**GREY, "linestyle": "-", "linewidth": 0.7}
DASHED: Look = {**BAND, "linestyle": SECOND["linestyle"]}


def figure(passport: Passport) -> Figure:
    """Draw where the language is, whether translations are neighbours, and topic transfer, by layer; below, the languages."""
    neighbours = passport.languages("neighbours", str(passport.depth), OWN)
    families = [str(family) for family in neighbours.groupby("family")["here"].mean().sort_values(ascending=False).index]
    height = ROW * max(len({*_places(neighbours, families).values()}), LEAST)
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        heights = [PANELS, NAMES, height + 0.5]
        whole = Figure((WIDTH, sum(heights) + 0.35), layout="constrained")
        grid = whole.add_gridspec(2, 1, height_ratios=[PANELS + NAMES, heights[-1]])
        top, bottom = (whole.add_subfigure(grid[row]) for row in range(2))
        axes = top.subplots(2, 3, height_ratios=heights[:2], sharey="row")
        for (panel, names), (title, curves) in zip(axes.T, _panels(passport).items(), strict=True):
            _draw(panel, title, curves, passport)
            _name(names, curves)
        _strip(bottom.subplots(), neighbours, families)
        surround(whole, "", " ".join(_sentences(passport)))
    return whole


def comparison(passports: Sequence[Passport]) -> Figure:
    """Draw curves of several encoders over relative depth, each with its own look, and those with random weights."""
    grid: dict[str, list[Curve]] = {}
    for key, title in COMPARED.items():
        for number, passport in enumerate(passports):
            like = look(number)
            whole = curve(passport, key, like, passport.facts["name"])
            random = curve(passport, key, {**GREY, "color": like["color"]}, "", baseline="random weights")
            grid.setdefault(title, []).extend(part for part in (random, whole) if part)
    return panels({"": grid}, "", RANDOM, ylabel="share", ylim=(0, 1), xlabel="relative depth")


def _panels(passport: Passport) -> dict[str, list[Curve]]:
    """Title of a panel -> its curves, as far as they were measured."""
    titles = ("a  Where the language is", "b  Translation as nearest neighbour", "c  Topics, learned in English")
    curves: tuple[list[Curve | None], ...] = (
        [
            curve(passport, "identification", FIRST, "identification"),
            curve(passport, "identification", DASHED, "identification, random weights", baseline="random weights"),
            curve(passport, "share", SECOND, "share of variance"),
            curve(passport, "share", BAND, "share, random weights", baseline="random weights"),
        ],
        [
            curve(passport, "neighbours", FIRST, "raw", "strong, raw"),
            curve(passport, "neighbours", SECOND, "language means subtracted", "strong, centred"),
            curve(passport, "neighbours", BAND, "raw, random weights", "strong, raw", "random weights"),
            _level(passport.curve("neighbours", "strong, raw").filter(["0"], axis="index"), "raw, layer 0"),
        ],
        [
            curve(passport, "topic", FIRST, "English", column="en"),
            curve(passport, "topic", SECOND, "mean of the others"),
            curve(passport, "topic", BAND, "others, random weights", baseline="random weights"),
            _level(passport.curve("topic", baseline="formula"), "largest topic"),
        ],
    )
    return {title: [curve for curve in panel if curve] for title, panel in zip(titles, curves, strict=True)}


def curve(
    passport: Passport,
    key: str,
    look: Look,
    name: str,
    definition: str | None = None,
    baseline: Baseline = "",
    column: str | None = None,
) -> Curve | None:
    """A curve over relative depth with its interval as a band, from Passport.curve; None if nothing was measured."""
    values = passport.curve(key, definition, baseline, column)
    values = values[values.index.str.isdecimal()]
    return Curve.of(values.set_axis(values.index.astype(int) / passport.depth).sort_index(), look, name) if len(values) else None


def _level(values: pd.DataFrame, name: str) -> Curve | None:
    """A horizontal line through a panel at the last of some values; None if there are none."""
    if values.empty:
        return None
    return Curve.of(pd.DataFrame({"value": [float(values["value"].iloc[-1])] * 2}, index=[0.0, 1.0]), DOTTED, name)


def _draw(axis: Axes, title: str, curves: Sequence[Curve], passport: Passport) -> None:
    """Draw a panel over relative depth; the last layer of a pre-norm encoder is shaded."""
    draw(axis, curves)
    if passport.encoder.get("prenorm"):
        axis.axvspan(1 - 0.5 / passport.depth, 1.03, color="#EBEBEB", linewidth=0, zorder=0)
    axis.set_xlim(-0.03, 1.03)
    axis.set_ylim(-0.03, 1.03)
    axis.set_title(title, loc="left")
    axis.set_xlabel("relative depth (0: embeddings)")
    axis.set_ylabel("share (0 to 1)")


def _name(axis: Axes, curves: Sequence[Curve]) -> None:
    """Draw a legend for the panel above."""
    axis.axis("off")
    axis.legend(handles=handles(curves), loc="upper left", handlelength=2.4, labelspacing=0.25, borderpad=0, borderaxespad=0)


def _strip(axis: Axes, neighbours: pd.DataFrame, families: Sequence[str]) -> None:
    """Draw rows for each family and a dot for each language, with its name, at its share of own-language neighbours."""
    frame(axis, "both")
    places = _places(neighbours, families)
    heights = [-places[str(code)] for code in neighbours.index]
    axis.scatter(neighbours["here"], heights, s=16, color=COLOURS[0], edgecolor="white", linewidth=0.4, zorder=3)
    for code, share in neighbours["here"].items():
        side = -1 if share > MIDDLE else 1
        axis.annotate(
            name_of(str(code)), (share, -places[str(code)]), (4 * side, 0), textcoords="offset points",
            fontsize=NAME, va="center", ha="left" if side > 0 else "right",
        )  # fmt: skip
    firsts = {family: min(places[str(code)] for code in codes) for family, codes in neighbours.groupby("family").groups.items()}
    axis.set_yticks([-firsts[family] for family in families], families)
    for family in families[1:]:
        axis.axhline(0.5 - firsts[family], color="#E5E5E5", linewidth=0.5)
    axis.set_ylim(-max(places.values(), default=0) - 0.6, 0.6)
    axis.set_xlim(-0.02, 1.02)
    axis.tick_params(axis="y", length=0)
    axis.set_title("d  Own-language neighbours at the last layer, lower is better", loc="left")
    axis.set_xlabel("share of sentences whose nearest neighbour, English ones included, is of their own language")


def _places(neighbours: pd.DataFrame, families: Sequence[str]) -> dict[str, int]:
    """Row of each language: the first of its family's rows in which its name does not overlap another."""
    rows, first = dict[str, int](), 0
    for family in families:
        ends = list[list[tuple[float, float]]]()  # of each name, for each row of the family
        for code, share in neighbours.loc[neighbours["family"] == family, "here"].sort_values().items():
            width = GAP + LETTER * len(name_of(str(code)))
            low, high = (share - width, share + GAP) if share > MIDDLE else (share - GAP, share + width)
            free = [all(low > end or high < start for start, end in names) for names in ends]
            number = free.index(True) if True in free else len(ends)
            ends += [[]] * (number == len(ends))
            ends[number] = [*ends[number], (low, high)]
            rows[str(code)] = first + number
        first += len(ends)
    return rows


def _sentences(passport: Passport) -> Iterator[str]:
    """Yield the sentences below the picture."""
    bands = [passport.curve("neighbours"), passport.curve("neighbours", baseline="random weights")]
    if np.isfinite(bands[0]["low"]).any():
        yield "Means over families of languages, with 95 % intervals over families."
    if len(bands[1]):
        seeds = len(passport.facts["seeds"])
        encoders = "one encoder" if seeds == 1 else f"mean and range of {seeds} encoders"
        yield f"Random weights: {encoders} of the same architecture."
    if passport.encoder.get("prenorm"):
        yield "Shaded: only the last layer is normalised, so the change at the last step is not due to depth alone."
