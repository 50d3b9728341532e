"""Kinds of measures: the modules of crosslens/measures that say what they read.

A kind is a module with a line `READS = (...)` and a function `measure`. What it reads comes first: "predictions" (what a training
left: predictions and history), "states" (stored hidden states) or "draws" (what was drawn for them, which takes no model); after
it, "tokens" for the tokenised texts beside them.
"""

import ast
from pathlib import Path

FOLDER = Path(__file__).parent / "measures"


def kinds(folder: Path = FOLDER) -> dict[str, tuple[str, ...]]:
    """Kind -> what it reads. Modules are parsed, not imported, since numerics are slow to import."""
    return {path.stem: reads for path in sorted(folder.glob("[!_]*.py")) if (reads := _reads(path))}


def _reads(path: Path) -> tuple[str, ...]:
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "READS":
            return tuple(ast.literal_eval(node.value))
    return ()
