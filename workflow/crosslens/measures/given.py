"""What a kind of measure is given to read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Given:
    """Results of one recipe with one seed."""

    folder: Path  # of its model (predictions.parquet, history.csv), its states or draws (CORPUS/LANGUAGE.parquet)
    seed: int
    tokens: Mapping[str, Path]  # corpus -> folder of its tokens, for kinds that read them
    typology: Path | None = None  # features of languages, for kinds that read them
    threads: int = 1
