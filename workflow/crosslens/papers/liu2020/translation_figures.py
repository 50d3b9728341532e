"""liu2020: figures 7 and 8, token translation by layer and weight of the shift."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from crosslens.measures.shared.shift_terms import BLEU_1, CONVERT_RATE, NO_SHIFT, RANDOM
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020 import masked_predictions
from crosslens.papers.liu2020.names import Study, alpha
from crosslens.papers.liu2020.translation import shift_grid
from crosslens.reports.cells import where
from crosslens.reports.figures.curves import Curve, panels
from crosslens.reports.figures.style import DOTTED, GREY, Look, look


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """Draw figure 7 or 8. settings: study, the fields of Study."""
    study = Study(**settings["study"])
    source, target = study.translation["figure_direction"]
    measure, scale = (CONVERT_RATE, 1) if name == "figure7" else (BLEU_1, 100)
    masked_note = masked_predictions.note(inputs.records("masked"), {"the model": study.translator})
    records = where(inputs.records("translation"), item=f"{source}->{target}", split="test", measure=measure)
    scaled = records.assign(**{column: scale * records[column] for column in ("value", "low", "high")})
    grid, plain = shift_grid(scaled), where(scaled, definition=NO_SHIFT)
    title = f"{'Convert rate' if name == 'figure7' else 'BLEU-1'}, {study.names[source]} to {study.names[target]}"
    layers = [*dict.fromkeys(grid["layer"])]
    by_layer = [_curve(where(grid, weight=weight), "layer", look(number), alpha(weight))
                for number, weight in enumerate(study.translation["weights"])]  # fmt: skip
    level = float(plain["value"].iloc[0])
    flat = pd.DataFrame({"value": level}, index=pd.Index(layers))
    by_layer.append(Curve.of(flat, GREY, "no shift"))
    if name == "figure7":
        most = max(study.translation["weights"])
        chance = where(scaled, definition=RANDOM, weight=most)
        by_layer.append(_curve(chance, "layer", DOTTED, f"random, {alpha(most)}"))
        note = "Bands: 95 % interval over pairs. Random: vectors of the same length in random directions." + masked_note
        return panels(
            {"": {"": by_layer}}, title, note, ylabel="convert rate", unit="%", ylim=(0, 1), xlabel="layer of the shift"
        )
    chosen = layers[:: max(1, len(layers) // 4)]
    zero = pd.DataFrame({"weight": [0.0], "value": [level]})
    by_weight = [
        _curve(pd.concat([zero, where(grid, layer=layer)]), "weight", look(len(by_layer) + number), f"layer {layer:.0f}")
        for number, layer in enumerate(chosen)
    ]
    note = "Bands: 95 % interval over pairs. Weight 0: the subwords predicted without a shift." + masked_note
    rows = {"by weight": {"": by_weight}, "by layer": {"": by_layer}}
    xlabels = {"by weight": "alpha, the weight of the shift", "by layer": "layer of the shift"}
    return panels(rows, title, note, ylabel="BLEU-1 (points)", ylim=(0, 20), xlabel=xlabels)


def _curve(records: pd.DataFrame, x: str, style: Look, label: str) -> Curve:
    return Curve.of(records.set_index(x).sort_index()[[c for c in ("value", "low", "high") if c in records]], style, label)
