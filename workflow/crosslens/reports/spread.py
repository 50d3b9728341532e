"""How far a value of a single seed may be from that of another run, with another seed or on another processor.

In bfloat16, running the same seed on another processor changes values as much as another seed does (docs/results.md).
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from crosslens.numerics.intervals import t_quantile

FOLDER = Path("docs/results")
"""Tables of committed runs, laid out like results: PRESET/[PAPER/]NAME.csv. Those over several seeds are in PRESET-seeds."""
Line = tuple[str, str, str]  # key of a line of a table: row, metric, definition


def tables(root: Path, preset: str, places: Iterable[str]) -> list[Path]:
    """Tables over several seeds that the repository has. places: paths of tables below the results, without extension."""
    files = (root / FOLDER / f"{preset}-seeds" / f"{place}.csv" for place in places)
    return [file for file in files if file.is_file()]


def spread(cells: Iterable[Mapping[str, str]]) -> dict[Line, float]:
    """Half the width of the 95 % interval of the difference between two runs, by line of a table and in the table's unit.

    The variances of a line's cells are pooled, since three seeds say little about a single cell. Lines in which nothing varies
    are left out.

    cells: cells of a table over several seeds (crosslens.reports.cells), as text.
    """
    squares: dict[Line, list[tuple[float, int]]] = {}
    for cell in cells:
        if cell["sd"] and int(cell["seeds"]) > 1:
            line = cell["row"], cell["metric"], cell["definition"]
            squares.setdefault(line, []).append((float(cell["sd"]) ** 2, int(cell["seeds"]) - 1))
    widths = {}
    for line, variances in squares.items():
        freedom = sum(degrees for _, degrees in variances)
        variance = sum(square * degrees for square, degrees in variances) / freedom
        widths[line] = float(t_quantile(freedom) * np.sqrt(2 * variance))
    return {line: width for line, width in widths.items() if width > 0}
