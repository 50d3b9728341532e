"""States that a training run computed with its final weights and left for the job that stores states of sampled words.

They are in a file next to the weights. The job would encode the same texts with the same weights in the same batches. What it
stores is therefore the same byte for byte, whether or not it reads this file. The file is not an output: if it is missing,
damaged, or from other weights or another machine, the texts are encoded.
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
    """The file of states that a training run leaves: all labelled units of token files, at the layer that heads read.

    models: files of weights in the order of loading, the training run's own last. units: which states were computed. machine:
    facts that can change a number, as in records.
    """

    def __init__(self, models: Sequence[Path], units: Units, machine: Mapping[str, Any]) -> None:
        self.file = models[-1].with_name("states.safetensors")
        self.origin = {
            "models": json.dumps([digest(path) for path in models]),
            "units": units.model_dump_json(),
            "machine": json.dumps(machine),
        }

    def write(self, column: str, states: Mapping[Path, np.ndarray]) -> None:
        """Write the states of those token files that `extract` encodes whole.

        column: name of the layer, `layer_12`, or `pooler`. states: token file -> (n, d) float32.
        """
        arrays = {digest(tokens): values for tokens, values in states.items() if values.nbytes <= WHOLE_BYTES}
        if arrays:
            with checksummed(self.file) as temporary:
                save_file(arrays, temporary, metadata=self.origin | {"column": column})

    def read(self, tokens: Path) -> dict[str, np.ndarray]:
        """States of all labelled units of a token file, column name -> (n, d) float32; {} if none were left."""
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
