"""Subspaces of hidden states on disk: measures/subspaces/RECIPE/seedN.parquet, a row a layer and method."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema([
    ("recipe", pa.string()), ("seed", pa.int64()),  # whose states they are of
    ("layer", pa.int64()),  # 0 is the embedding output
    ("method", pa.string()),  # how they were found: a key of measures.subspaces.METHODS
    ("languages", pa.list_(pa.string())), ("n", pa.list_(pa.int64())),  # that were told apart, and the states of each
    ("rank", pa.int64()),  # how many directions the states determine; those after it are an arbitrary basis of the rest
    ("mean", pa.list_(pa.float32())),  # (d,) of the states
    ("eigenvalues", pa.list_(pa.float64())),  # (k,), falling
    ("explained", pa.list_(pa.float64())),  # (k,), shares of the variance that they explain
    ("directions", pa.list_(pa.list_(pa.float32()))),  # k directions in this order, of d coordinates each
])  # fmt: skip


@dataclass(frozen=True)
class Subspace:
    """The directions of one layer that a method found."""

    languages: list[str]
    rank: int
    mean: np.ndarray  # (d,) float32
    eigenvalues: np.ndarray  # (k,) float64
    explained: np.ndarray  # (k,) float64
    directions: np.ndarray  # (d, k) float32, columns in order


def read(path: Path) -> dict[tuple[str, int], Subspace]:
    """The subspaces of a file by method and layer."""
    found = {}
    for row in pq.ParquetFile(path).iter_batches(batch_size=1):
        column = {name: row[name] for name in row.schema.names}
        flat = column["directions"].flatten()
        directions = np.array(flat.flatten()).reshape(len(flat), -1)
        found[column["method"][0].as_py(), column["layer"][0].as_py()] = Subspace(
            languages=column["languages"][0].as_py(),
            rank=column["rank"][0].as_py(),
            directions=directions.T,
            **{name: np.array(column[name].flatten()) for name in ("mean", "eigenvalues", "explained")},
        )
    return found
