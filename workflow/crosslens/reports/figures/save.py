"""Files of figures."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from crosslens.reports.figures.style import STYLE
from crosslens.storage.seals import sealed


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG and, beside it, as PNG; the same figure gives the same bytes."""
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        for suffix, metadata in ((".svg", {"Date": None}), (".png", {"Software": None})):
            with sealed(path.with_suffix(suffix)) as temporary:
                figure.savefig(temporary, format=suffix[1:], metadata=metadata)
    plt.close(figure)
