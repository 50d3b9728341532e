"""All kinds of measures, and what each of them reads. docs/new-measure.md explains how to add one.

A kind is a module of crosslens/measures with a function `measure`. The module is imported only when the kind is measured, since
numerical packages are slow to import. A kind that reads an encoder names its texts in its settings: `corpora` maps each corpus
to its tokenisation, and `dictionaries` lists bilingual dictionaries.
"""

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

Source = Literal["predictions", "samples", "states", "encoder"]


@dataclass(frozen=True)
class Kind:
    """A kind of measure.

    source: what is measured. "predictions": predictions and history of a recipe's training runs. "samples": words and texts
    that are sampled for states; no model is needed. "states": stored hidden states. "encoder": an encoder that the measure
    runs, trained or only pretrained.
    tokens: whether it also reads the tokenised texts.
    typology: whether it also reads the typological corpus that its setting `typology` names.
    records: whether its rows are records; if not, the module defines their columns as SCHEMA.
    """

    source: Source
    tokens: bool = False
    typology: bool = False
    records: bool = True

    @property
    def by_seed(self) -> bool:
        """Whether each seed is measured by itself, rather than all seeds of a recipe together."""
        return self.source in ("states", "encoder")


KINDS: Mapping[str, Kind] = {  # name of the module in crosslens/measures -> kind
    "adversary": Kind("predictions"),
    "attachment": Kind("predictions", tokens=True),
    "classification": Kind("predictions", tokens=True),
    "spans": Kind("predictions", tokens=True),
    "spelling": Kind("samples"),
    "alignment": Kind("states", tokens=True),
    "clusters": Kind("states"),
    "language_geometry": Kind("states"),
    "language_groups": Kind("states"),
    "language_identification": Kind("states"),
    "language_similarity": Kind("states"),
    "probes": Kind("states"),
    "projection": Kind("states", records=False),
    "sentence_probes": Kind("states"),
    "similarity": Kind("states", tokens=True),
    "subspaces": Kind("states", records=False),
    "topic_transfer": Kind("states"),
    "typology": Kind("states", typology=True),
    "change": Kind("encoder"),
    "language_after_shift": Kind("encoder"),
    "language_of_subwords": Kind("encoder"),
    "masked": Kind("encoder"),
    "retrieval": Kind("encoder"),
    "example_translations": Kind("encoder", records=False),
    "transfer": Kind("encoder"),
    "translation": Kind("encoder"),
    "units": Kind("encoder"),
}


def kind_of(measure: str) -> Kind:
    """Return the kind of a measure from the measure's name, KIND or KIND@ASKER."""
    return KINDS[measure.partition("@")[0]]


def named_corpora(settings: Mapping[str, Any]) -> list[str]:
    """Return the corpora that a kind's settings name, in addition to those of the training runs."""
    typology = [settings["typology"]] if "typology" in settings else []
    return [*settings.get("corpora", {}), *settings.get("dictionaries", ()), *typology]


def read_corpora(settings: Mapping[str, Any], corpora: Collection[str]) -> dict[str, str]:
    """Return corpus -> setting that names it, for each corpus whose states or samples a kind reads.

    All values of the settings `corpus` and `corpora` count, configured or not. Values of other settings count if they are among
    `corpora`, the configured ones. `typology` and `dictionaries` are left out, since they name files other than states.
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
def expected_settings(kind: str) -> dict[str, bool]:
    """Return setting -> whether it is required, for the settings of a kind.

    Settings are the keyword-only arguments of the module's function `measure`, which is read without being imported.
    """
    tree = ast.parse((Path(__file__).parent / f"{kind}.py").read_bytes())
    arguments = next(node.args for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "measure")
    return {argument.arg: default is None for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}
