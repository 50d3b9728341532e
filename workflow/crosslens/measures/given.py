"""What a kind of measure is given to read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Given:
    """Results of one recipe with one seed."""

    # Of its model (predictions.parquet, history.csv), its states or draws (CORPUS/LANGUAGE.parquet), or its encoder.
    folder: Path
    seed: int
    tokens: Mapping[str, Path]  # corpus -> folder of its tokens, for kinds that read them
    typology: Path | None = None  # features of languages, for kinds that read them
    threads: int = 1
    weights: Sequence[Path] = ()  # model files of trainings, which replace those of the encoder in this order
    dictionaries: Mapping[str, Path] = field(default_factory=dict)  # corpus -> its folder, for kinds that read them
