"""Facts about the pretraining of encoders: its languages, and whether it used parallel text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from crosslens.config.presets import read_yaml


@dataclass(frozen=True)
class Pretraining:
    """Content of resources/pretraining.yaml: lists of languages by name, and facts about encoders by their id on the hub."""

    lists: Mapping[str, Mapping[str, Any]]
    encoders: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the YAML file."""
        return cls(**read_yaml(path))

    def covered(self, encoder: str | None, languages: Sequence[str]) -> list[str] | None:
        """The members of `languages` on which an encoder was pretrained; None if unknown."""
        name = self.encoders.get(encoder or "", {}).get("languages")
        return None if name is None else [language for language in languages if language in self.lists[name]["languages"].split()]

    def parallel(self, encoder: str | None) -> str:
        """Whether an encoder was trained on parallel text: yes, no or unknown."""
        parallel = self.encoders.get(encoder or "", {}).get("parallel")
        return {True: "yes", False: "no", None: "unknown"}[parallel]
