"""Kinds of measures: the modules of crosslens/measures that say what they read.

A kind is a module with a line `READS = (...)` and a function `measure`. What it reads comes first: "predictions" (what a
training left: predictions and history), "states" (stored hidden states), "encoder" (an encoder, trained or as it was
pretrained, which the measure runs) or "draws" (what was drawn for states, which takes no model); after it, "tokens" for the
tokenised texts beside them, "typology" for the corpus of that kind that its settings name so. The settings of a kind that reads
an encoder name what it reads of texts: `corpora`, corpus -> reading, and `dictionaries`, corpora of that kind. A kind whose rows
are not records names their columns in a line `SCHEMA = ...`.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Kind:
    """What the rules know of a kind."""

    source: str  # what it reads first
    tokens: bool
    typology: bool
    records: bool  # whether its rows are records


def named_corpora(settings: Mapping[str, Any]) -> list[str]:
    """Corpora that the settings of a kind name, beside those of the trainings."""
    typology = [settings["typology"]] if "typology" in settings else []
    return [*settings.get("corpora", {}), *settings.get("dictionaries", ()), *typology]


def kinds() -> dict[str, Kind]:
    """Kinds by name. Modules are parsed, not imported, since numerics are slow to import."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        lines = {
            target.id: node.value
            for node in ast.parse(path.read_bytes()).body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        if "READS" in lines:
            source, *others = ast.literal_eval(lines["READS"])
            found[path.stem] = Kind(source, "tokens" in others, "typology" in others, "SCHEMA" not in lines)
    return found
