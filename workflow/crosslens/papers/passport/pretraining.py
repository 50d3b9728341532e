"""Pretraining of encoders: their languages, and whether parallel text was among their data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from crosslens.config.presets import read_yaml


@dataclass(frozen=True)
class Pretraining:
    """Lists of languages by name, and the facts of encoders by their id on the hub: resources/pretraining.yaml."""

    lists: Mapping[str, Mapping[str, Any]]
    encoders: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> Self:
        """The table in a file."""
        return cls(**read_yaml(path))

    def covered(self, encoder: str | None, languages: Sequence[str]) -> list[str] | None:
        """The languages among these that an encoder was pretrained on; None where that is unknown."""
        name = self.encoders.get(encoder or "", {}).get("languages")
        return None if name is None else [language for language in languages if language in self.lists[name]["languages"].split()]

    def parallel(self, encoder: str | None) -> str:
        """Whether an encoder was trained on parallel text: yes, no or unknown."""
        parallel = self.encoders.get(encoder or "", {}).get("parallel")
        return {True: "yes", False: "no", None: "unknown"}[parallel]
