"""The picture of a comparison: curves of all encoders with their baselines, and the languages that differ most."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from crosslens.papers.passport.comparison import LETTERS, shared_values
from crosslens.papers.passport.facts import Passport, measures, name_of
from crosslens.papers.passport.figure import curve
from crosslens.reports.figures.curves import draw
from crosslens.reports.figures.style import COLOURS, GREY, MARKERS, STYLE, WIDTH, Look, frame, surround

SHOWN = 10  # languages
PANEL, LEGEND, ROW = 1.7, 0.13, 0.16  # inches: heights of a panel, of a line of the legend, and of a language
TITLES = {
    "share": "a  Variance between languages",
    "neighbours": "b  Translation as nearest neighbour",
    "topic": "c  Topics in the other languages",
}
NOTE = (
    "Dashed: the same architecture with random weights. Bands: 95 % intervals over families of languages. d is at the layer that "
    "is best on other languages."
)


def most_different(passports: Sequence[Passport]) -> pd.DataFrame:
    """Languages whose shares of translations as nearest neighbours differ most between encoders, the most different first."""
    values = shared_values(passports, measures()["neighbours"])[1].drop(columns="family")
    spread = values.max(axis=1) - values.min(axis=1)
    return values.loc[spread.sort_values(ascending=False, kind="stable").index[:SHOWN]]


def comparison_figure(passports: Sequence[Passport]) -> Figure:
    """Three panels over relative depth with a colour and a marker for each encoder, and a row for each of ten languages."""
    languages = most_different(passports)
    marks = zip(COLOURS[: len(passports)], MARKERS, strict=False)
    looks: list[Look] = [{"color": colour, "marker": mark, "markersize": 2.8, "linewidth": 1.2} for colour, mark in marks]
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        heights = [PANEL, LEGEND * (len(passports) + 1), ROW * len(languages) + 0.4]
        whole = Figure((WIDTH, sum(heights) + 0.9), layout="constrained")
        grid = whole.add_gridspec(3, 3, height_ratios=heights)
        for column, (key, title) in enumerate(TITLES.items()):
            axis = whole.add_subplot(grid[0, column])
            curves = [
                part
                for passport, look in zip(passports, looks, strict=True)
                for part in (
                    curve(passport, key, {**GREY, "color": look["color"]}, "", baseline="random weights"),
                    curve(passport, key, look, ""),
                )
                if part
            ]
            draw(axis, curves)
            axis.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="relative depth (0: embeddings)")
            axis.set_title(title, loc="left")
        names = [f"{letter}  {passport.facts['name']}" for letter, passport in zip(LETTERS.upper(), passports, strict=False)]
        handles = [Line2D([], [], label=name, **look) for name, look in zip(names, looks, strict=True)]  # type: ignore[arg-type]
        below = whole.add_subplot(grid[1, :])
        below.axis("off")
        below.legend(handles=handles, loc="upper left", ncols=2 if len(names) > 3 else 1)
        if len(languages):
            _rows(whole.add_subplot(grid[2, :]), languages, looks)
        surround(whole, "", NOTE)
    return whole


def _rows(axis: Axes, languages: pd.DataFrame, looks: Sequence[Look]) -> None:
    """Draw a row for each language with a mark for each encoder."""
    frame(axis, "both")
    heights = [-number for number in range(len(languages))]
    axis.hlines(heights, languages.min(axis=1), languages.max(axis=1), color="#BBBBBB", linewidth=1, zorder=1)
    for letter, look in zip(languages, looks, strict=True):
        axis.plot(languages[letter], heights, linestyle="", color=look["color"], marker=look["marker"], markersize=4.5, zorder=3)
    axis.set_yticks(heights, [name_of(str(language)) for language in languages.index])
    axis.tick_params(axis="y", length=0)
    axis.set(xlim=(-0.02, 1.02), ylim=(0.6 - len(languages), 0.6))
    axis.set_title(f"d  The {len(languages)} languages that differ most", loc="left")
    axis.set_xlabel(
        "share of sentences whose nearest neighbour is their translation, among all of English and their own language"
    )
