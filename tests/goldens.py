"""Tables and figures of made-up records, beside the files in tests/golden that somebody has checked.

After a change that is meant to move a table, write its file anew with GOLDEN=write in the environment, and read the difference.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend

GOLDEN = Path(__file__).parent / "golden"


def assert_golden(table: pd.DataFrame, name: str) -> None:
    """The table is, byte for byte, the file of that name, a path below tests/golden without its ending."""
    path, text = GOLDEN / f"{name}.csv", table.to_csv(index=False, lineterminator="\n")
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    expected = path.read_text("utf-8").splitlines()
    assert text.splitlines() == expected


def assert_golden_curves(figure: Figure, name: str) -> None:
    """Title, note and all curves of a figure are those of the file of that name."""
    legends = filter(None, [*figure.legends, *(axis.get_legend() for axis in figure.axes)])
    names = {look: label for legend in legends for look, label in named_looks(legend)}
    texts = {"title": figure.get_suptitle(), "note": figure.get_supxlabel()}
    rows = [("", "", kind, " ".join(text.split())) for kind, text in texts.items()]
    for number, axis in enumerate(figure.axes):
        place = " ".join(f"{number}: {axis.get_ylabel()}; {axis.get_title(loc='left')}".split())
        rows += [(place, names.get(look, ""), kind, values) for look, kind, values in drawn_curves(axis)]
    assert_golden(pd.DataFrame(rows, columns=["panel", "name", "kind", "values"]), name)


def named_looks(legend: Legend) -> Iterator[tuple[tuple[str, ...], str]]:
    """Look, and colour alone, and name of each line in a legend."""
    for text, line in zip(legend.get_texts(), legend.legend_handles, strict=True):
        yield look_of(line), text.get_text()
        yield look_of(line)[:1], text.get_text()


def look_of(line: Any) -> tuple[str, ...]:
    """Colour of a line or of its marks, marker and colour of its inside."""
    if line.get_marker() in ("None", None):
        return to_hex(line.get_color()), "", ""
    return to_hex(line.get_markeredgecolor()), str(line.get_marker()), to_hex(line.get_markerfacecolor())


def drawn_curves(axis: Axes) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Look, kind and values of each line of a panel, and of the corners of its bands and the ends of its intervals."""
    for line in axis.get_lines():
        yield look_of(line), str(line.get_linestyle()), numbers(line.get_ydata())
    for band in axis.collections:
        colours = band.get_facecolor() if len(band.get_facecolor()) else band.get_edgecolor()
        corners = [value for path in band.get_paths() for value in path.vertices[:, 1]]
        yield (to_hex(colours[0]),), "band", numbers(corners)


def numbers(values: Any) -> str:
    """Values as text, with four decimals."""
    return " ".join(f"{value:.4f}" for value in values)
