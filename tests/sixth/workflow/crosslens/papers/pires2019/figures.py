"""pires2019: figure 3, translations as nearest neighbours, by layer."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from crosslens.papers.inputs import Inputs
from crosslens.reports.figures.curves import Curve, panels
from crosslens.reports.figures.style import marks

TITLE = "Accuracy of nearest-neighbour translation from English"
NOTE = "{n:,} sentence pairs. Bands: 95 % interval over sentences."


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """Figure 3, in percent: a curve for each language."""
    records, curves = inputs.records().sort_values("layer"), []
    for language, (colour, marker) in marks(sorted(set(records["language"]))).items():
        values = records[records["language"] == language]
        value, low, high = (100 * values[column].to_numpy() for column in ("value", "low", "high"))
        look: dict[str, str | float] = {"color": colour, "marker": marker, "markersize": 1.9, "linewidth": 0.8}
        curves.append(Curve(values["layer"].to_numpy(), value, low, high, look, f"EN-{language.upper()}"))
    return panels({"": {"": curves}}, TITLE, NOTE.format(n=records["n"].min()), ylabel="accuracy (%)", ylim=(0, 100))
