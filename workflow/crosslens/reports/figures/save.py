"""Files of figures."""

import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from crosslens.jobs.checksums import checksummed
from crosslens.reports.figures.style import GREY, NOTE, SMALL, STYLE, Drawing

LINE, GAP = 0.13, 0.04  # inches: height of a line of small text, and of the gap above the text


def save(figure: Figure, path: Path, origin: str) -> None:
    """Write a figure as SVG and PNG, and the data of a `Drawing` as .svg.csv; the same figure gives the same bytes.

    path: FIGURE.svg; the other files are written to the same folder.
    origin: paper, title, preset and encoder of the figure in a line. It is printed in a strip above the figure, so that a copy
    of the picture still says what it shows.
    """
    width, height = figure.get_size_inches()
    text = textwrap.fill(origin, int(NOTE * width), break_on_hyphens=False)
    strip = LINE * (text.count("\n") + 1) + GAP
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        figure.text(0.01, 1 + (strip - GAP) / height, text, fontsize=SMALL, color=GREY["color"], va="top", in_layout=False)
        whole = Bbox.from_extents(0, 0, width, height + strip)
        for suffix, metadata in ((".svg", {"Date": None}), (".png", {"Software": None})):
            with checksummed(path.with_suffix(suffix)) as temporary:
                figure.savefig(temporary, format=suffix[1:], metadata=metadata, bbox_inches=whole)
    plt.close(figure)
    if isinstance(figure, Drawing):
        with checksummed(path.with_name(f"{path.name}.csv")) as temporary:
            figure.data.to_csv(temporary, index=False)
