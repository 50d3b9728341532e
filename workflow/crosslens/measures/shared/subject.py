"""Files, seed and number of threads that a measure gets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Subject:
    """Results of one recipe with one seed, which a measure reads."""

    folder: Path  # model (predictions.parquet, history.csv), states or samples (CORPUS/LANGUAGE.parquet), or encoder
    seed: int
    tokens: Mapping[str, Path]  # corpus -> folder of its tokens, for kinds that read them
    typology: Path | None = None  # features of languages, for kinds that read them
    threads: int = 1
    weights: Sequence[Path] = ()  # model files of training runs, which replace those of the encoder in this order
    dictionaries: Mapping[str, Path] = field(default_factory=dict)  # corpus -> its folder, for kinds that read them
