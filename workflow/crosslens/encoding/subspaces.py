"""Subspaces of hidden states on disk: measures/subspaces/RECIPE/seedN.parquet, one row per layer and method."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from crosslens.jobs import parquet
from crosslens.numerics.subspace import Subspace

COLUMNS = pa.list_(pa.list_(pa.float32()))  # columns of a matrix with d rows
SCHEMA = pa.schema([
    ("recipe", pa.string()), ("seed", pa.int64()),  # training run whose states the subspace is fitted on
    ("layer", pa.int64()),  # 0 is the embedding output
    ("method", pa.string()),  # a key of measures.subspaces.METHODS
    ("languages", pa.list_(pa.string())), ("n", pa.list_(pa.int64())),  # the languages, and their numbers of states
    ("eigenvalues", pa.list_(pa.float64())),  # one for each direction up to the rank
    ("centre", pa.list_(pa.float32())),
    ("basis", COLUMNS), ("filters", COLUMNS),
])  # fmt: skip
"""The fields of a Subspace and where it is from; files of earlier versions have two more columns."""


def row(subspace: Subspace) -> dict[str, Any]:
    """Fields of a subspace as columns of SCHEMA: languages, eigenvalues, centre, basis and filters."""
    matrices = {name: list(getattr(subspace, name).T) for name in ("basis", "filters")}
    vectors = {name: getattr(subspace, name) for name in ("eigenvalues", "centre")}
    return {"languages": list(subspace.languages)} | vectors | matrices


def read(path: Path) -> dict[tuple[str, int], Subspace]:
    """Subspaces of a file, (method, layer) -> subspace, in the order of the file."""
    subspaces = {}
    for batch in parquet.read(path).to_batches(max_chunksize=1):
        method, layer = batch["method"][0].as_py(), batch["layer"][0].as_py()
        vectors = {name: np.array(batch[name].flatten()) for name in ("eigenvalues", "centre")}
        matrices = {name: _matrix(batch[name].flatten(), len(vectors["centre"])) for name in ("basis", "filters")}
        subspaces[method, layer] = Subspace(method=method, languages=tuple(batch["languages"][0].as_py()), **vectors, **matrices)
    return subspaces


def _matrix(columns: pa.ListArray, size: int) -> np.ndarray:
    """Matrix (size, k) from its k columns."""
    return np.array(columns.flatten()).reshape(-1, size).T
