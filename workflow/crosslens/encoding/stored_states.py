"""Hidden states on disk: one Parquet file per language, one row per labelled word or text, one fixed-size list per layer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crosslens.encoding.samples import SCHEMA, SampledWords
from crosslens.jobs import parquet
from crosslens.jobs.checksums import verified

NAMES = [name for name in SCHEMA.names if name != "row"]


@dataclass(frozen=True)
class States(SampledWords):
    """n sampled words, or whole texts, with their hidden states at one layer."""

    vectors: np.ndarray  # (n, d) float32


def write(
    table: pa.Table, states: Mapping[str, np.ndarray], path: Path, dtype: str, metadata: Mapping[str, Any] | None = None
) -> None:
    """Write sampled words and their states.

    states: column name (`layer_12`, `pooler`) -> (n, d). dtype: of the stored states, float16 or float32.
    """
    for name, values in states.items():
        flat = pa.array(np.ascontiguousarray(values, dtype).reshape(-1))
        table = table.append_column(name, pa.FixedSizeListArray.from_arrays(flat, values.shape[1]))
    # States do not compress; plain pages read fastest.
    parquet.write(table, path, metadata, compression="none", use_dictionary=["language", "split", "label"])


def read(folder: str | Path, layer: int | None = None) -> States:
    """Words of all languages of a corpus, in alphabetical order of languages, with their states at a layer.

    folder: folder of the corpus. layer: None for the states that heads read.
    """
    paths = list(by_language(Path(folder)).values())
    layer_column = read_by_heads(parquet.schema(paths[0]).names) if layer is None else f"layer_{layer}"
    table = pa.concat_tables([parquet.read(path, columns=[*NAMES, layer_column]) for path in paths]).combine_chunks()
    column = table[layer_column].combine_chunks()
    return States.of(table, vectors=column.flatten().to_numpy().astype(np.float32).reshape(-1, column.type.list_size))


def by_language(folder: Path) -> dict[str, Path]:
    """Language -> its file in a corpus's folder, in alphabetical order."""
    return {path.stem: path for path in sorted(verified(folder).glob("*.parquet"))}


def layers(folder: Path) -> list[int]:
    """Layers at which the states of a corpus are stored, ascending."""
    names = parquet.schema(next(iter(by_language(folder).values()))).names
    return sorted(int(name.removeprefix("layer_")) for name in names if name.startswith("layer_"))


def width(path: Path, layer: int) -> int:
    """Number of dimensions of a file's states at a layer."""
    return int(parquet.schema(path).field(f"layer_{layer}").type.list_size)


def read_random(path: Path, layer: int, split: str) -> np.ndarray:
    """States at a layer of the evenly sampled words of a split in a language's file, (n, d) float32."""
    name = f"layer_{layer}"
    chosen = (pc.field("split") == split) & pc.field("random")
    column = parquet.read(path, columns=[name], filters=chosen)[name].combine_chunks()
    vectors: np.ndarray = column.flatten().to_numpy().astype(np.float32).reshape(-1, column.type.list_size)
    return vectors


def read_random_texts(path: Path, split: str) -> np.ndarray:
    """Ids of the texts of the words whose states `read_random` returns, (n,)."""
    chosen = (pc.field("split") == split) & pc.field("random")
    return np.array(parquet.read(path, columns=["id"], filters=chosen)["id"].to_pylist())


def read_by_heads(names: Sequence[str]) -> str:
    """Column of the states that heads read, which is always stored: the pooler if there is one, else the last layer."""
    layers = [int(name.removeprefix("layer_")) for name in names if name.startswith("layer_")]
    return "pooler" if "pooler" in names else f"layer_{max(layers)}"


def read_layers(path: Path) -> tuple[list[str], list[np.ndarray]]:
    """Ids of a file's texts, and their states at each stored layer in ascending order, (n, d) float32 each."""
    names = [name for name in parquet.schema(path).names if name.startswith("layer_")]
    table = parquet.read(path, columns=["id", *names])
    columns = [table[name].combine_chunks() for name in names]
    states = [column.flatten().to_numpy().astype(np.float32).reshape(-1, column.type.list_size) for column in columns]
    return table["id"].to_pylist(), states
