"""Kinds of measures: the modules of crosslens/measures that declare what they read.

A kind is a module with a line `READS = (...)` and a function `measure`. The first entry of READS is its source: "predictions"
(the predictions and history of a training), "states" (stored hidden states), "encoder" (an encoder, trained or only pretrained,
which the measure runs) or "draws" (the words and texts drawn for states, for which no model is needed). Further entries are
"tokens" for the tokenised texts, and "typology" for the typological corpus that the setting of that name names. The settings of
a kind that reads an encoder name its texts: `corpora`, corpus -> reading, and `dictionaries`, corpora of that kind. A kind whose
rows are not records defines their columns in a line `SCHEMA = ...`.
"""

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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


def read_corpora(settings: Mapping[str, Any], corpora: Collection[str]) -> dict[str, str]:
    """Return the corpora whose states or draws a kind reads, each with the setting that names it.

    These are the values of `corpus` and `corpora`, configured or not, and the other values that are keys of `corpora`, the
    configured ones; `typology` and `dictionaries` name files beside the states.
    """
    values = {name: [value] if isinstance(value, str) else value for name, value in settings.items()}
    return {
        value: name
        for name, group in values.items()
        if isinstance(group, Sequence) and name not in ("typology", "dictionaries")
        for value in group
        if isinstance(value, str) and (name in ("corpus", "corpora") or value in corpora)
    }


@cache
def expected_settings(kind: str) -> dict[str, bool] | None:
    """Return the settings of a kind by name, with whether they must be stated; None where `measure` takes any.

    They are the arguments of the module's function `measure`, read without importing it.
    """
    tree = ast.parse((Path(__file__).parent / f"{kind}.py").read_bytes())
    functions = [node.args for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "measure"]
    if not functions or functions[0].kwarg:
        return None
    (arguments,) = functions
    positional = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args]]
    must = dict.fromkeys(positional, True) | dict.fromkeys(positional[len(positional) - len(arguments.defaults) :], False)
    del must[positional[0]]  # the subject
    return must | {
        argument.arg: default is None for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    }


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
