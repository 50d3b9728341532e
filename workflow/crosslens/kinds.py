"""Kinds of measures: the modules of crosslens/measures that say what they read.

A kind is a module with a line `READS = (...)` and a function `measure`. What it reads comes first: "predictions" (what a
training left: predictions and history), "states" (stored hidden states) or "draws" (what was drawn for them, which takes no
model); after it, "tokens" for the tokenised texts beside them, "typology" for the corpus of that kind that its settings name
so. A kind whose rows are not records names their columns in a line `SCHEMA = ...`.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "measures"


@dataclass(frozen=True)
class Kind:
    """What the rules know of a kind."""

    source: str  # what it reads first
    tokens: bool
    typology: bool
    records: bool  # whether its rows are records


def kinds(folder: Path = FOLDER) -> dict[str, Kind]:
    """Kinds by name. Modules are parsed, not imported, since numerics are slow to import."""
    found = {}
    for path in sorted(folder.glob("[!_]*.py")):
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
