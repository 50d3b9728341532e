"""States that a training computed with its final weights, left beside these for the job that stores states of drawn words.

That job would encode the same texts with the same weights once more. The file is no output: what reads it checks that it is of
these weights and tokens, and does without it where it is missing, too large to be written, damaged, or of others.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from crosslens.config.units import Units
from crosslens.encoders.folder import WEIGHTS
from crosslens.runs.errors import DataError
from crosslens.storage.files import remove
from crosslens.storage.seals import digest, sealed, verified

FILE = "states.safetensors"
BYTES = 2**30  # largest size of the file


class Leftover(NamedTuple):
    """States of all labelled units of one file of tokens, (n, d) float32, at the layer that heads read."""

    tokens: Path
    states: np.ndarray


def write(encoder: Path, weights: Path, column: str, units: Units, parts: Sequence[Leftover]) -> None:
    """Leave states beside the file of a training's weights, where they take at most BYTES.

    encoder: folder of the encoder from which it started. column: name of the layer.
    """
    arrays = {_name(tokens): np.ascontiguousarray(states, np.float32) for tokens, states in parts}
    if sum(states.nbytes for states in arrays.values()) <= BYTES:
        sums = {_name(tokens): digest(tokens) for tokens, _ in parts}
        with sealed(weights.with_name(FILE)) as temporary:
            save_file(arrays, temporary, metadata=_key(encoder, weights, units) | {"column": column} | sums)


def read(encoder: Path, weights: Path, units: Units, tokens: Path, number: int) -> dict[str, np.ndarray]:
    """Return states of all labelled units of a file of tokens, column name -> (n, d); {} where there are none of these weights.

    number: n, of the units that the caller reads from that file.
    """
    file, name = weights.with_name(FILE), _name(tokens)
    if not file.is_file():
        return {}
    try:
        with safe_open(verified(file), "np") as tensors:
            metadata = tensors.metadata() or {}
            expected = _key(encoder, weights, units) | {name: digest(tokens)}
            if expected.items() <= metadata.items() and tensors.get_slice(name).get_shape()[0] == number:
                return {metadata["column"]: tensors.get_tensor(name)}
    except (DataError, SafetensorError, OSError):  # the texts are encoded again
        pass
    return {}


def discard(weights: Path) -> None:
    """Delete the states that were left beside a file of weights, with their seal."""
    file = weights.with_name(FILE)
    for path in (file, file.with_name(f".{FILE}.sha256")):
        remove(path)


def _key(encoder: Path, weights: Path, units: Units) -> dict[str, str]:
    return {"encoder": digest(encoder / WEIGHTS), "weights": digest(weights), "units": units.model_dump_json()}


def _name(tokens: Path) -> str:
    return f"{tokens.parent.name}/{tokens.stem}"
