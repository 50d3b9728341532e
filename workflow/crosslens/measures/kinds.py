"""Kinds of measures: the modules of crosslens/measures that declare what they read.

A kind is a module with a line `READS = (...)` and a function `measure`. The first entry of READS is its source: "predictions"
(the predictions and history of a training), "states" (stored hidden states), "encoder" (an encoder, trained or only pretrained,
which the measure runs) or "draws" (the words and texts drawn for states, for which no model is needed). Further entries are
"tokens" for the tokenised texts, and "typology" for the typological corpus that the setting of that name names. The settings of
a kind that reads an encoder name its texts: `corpora`, corpus -> reading, and `dictionaries`, corpora of that kind. A kind whose
rows are not records defines their columns in a line `SCHEMA = ...`.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A kind of measure as the workflow's rules see it: what it reads, and whether its rows are records."""

    source: str  # "predictions", "states", "encoder" or "draws"
    tokens: bool
    typology: bool
    records: bool  # whether its rows are records


def named_corpora(settings: Mapping[str, Any]) -> list[str]:
    """Return the corpora that the settings of a kind name, beside those of the trainings."""
    typology = [settings["typology"]] if "typology" in settings else []
    return [*settings.get("corpora", {}), *settings.get("dictionaries", ()), *typology]


def kinds() -> dict[str, Kind]:
    """Return the kinds by name. The lines of modules are read, not imported, since numerics are slow to import."""
    kinds_by_name = {}
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        reads = [line.removeprefix("READS = ") for line in lines if line.startswith("READS = ")]
        if reads:
            source, *inputs = ast.literal_eval(reads[0])
            records = not any(line.startswith("SCHEMA = ") for line in lines)
            kinds_by_name[path.stem] = Kind(source, "tokens" in inputs, "typology" in inputs, records)
    return kinds_by_name
