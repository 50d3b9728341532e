"""States that a training run has computed with its final weights, left beside these for the job that stores states of sampled
words.

That job would encode the same texts with the same weights in the same batches, so that what it stores is the same byte for byte
whether it reads this file or not. The file is no output: where it is missing, damaged, or made by other weights or on another
machine, the texts are encoded.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from crosslens.config.units import Units
from crosslens.encoding.extract import WHOLE_BYTES
from crosslens.jobs.checksums import checksum_file_beside, checksummed, digest, verified
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import remove


class FinalStates:
    """The file of states that a training leaves, of all labelled units of files of tokens, at the layer that heads read.

    models: files of weights in the order of loading, the training run's own last. machine: facts that can move a number, as in
    records.
    """

    def __init__(self, models: Sequence[Path], units: Units, machine: Mapping[str, Any]) -> None:
        self.file = models[-1].with_name("states.safetensors")
        self.origin = {
            "models": json.dumps([digest(path) for path in models]),
            "units": units.model_dump_json(),
            "machine": json.dumps(machine),
        }

    def write(self, column: str, states: Mapping[Path, np.ndarray]) -> None:
        """Write the states of those files of tokens that `extract` encodes whole.

        column: name of the layer, `layer_12` or `pooler`. states: file of tokens -> (n, d) float32.
        """
        arrays = {digest(tokens): values for tokens, values in states.items() if values.nbytes <= WHOLE_BYTES}
        if arrays:
            with checksummed(self.file) as temporary:
                save_file(arrays, temporary, metadata=self.origin | {"column": column})

    def read(self, tokens: Path) -> dict[str, np.ndarray]:
        """Return the states of all labelled units of a file of tokens, column name -> (n, d) float32; {} where none were left."""
        try:
            file = verified(self.file)
        except DataError:
            return {}
        with safe_open(file, "np") as tensors:
            metadata, name = tensors.metadata(), digest(tokens)
            if self.origin.items() <= metadata.items() and name in tensors.keys():
                return {metadata["column"]: tensors.get_tensor(name)}
        return {}

    def discard(self) -> None:
        """Delete the file and its checksum file."""
        for path in (self.file, checksum_file_beside(self.file)):
            remove(path)
