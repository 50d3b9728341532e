"""Checkpoints: everything that a killed training run needs to continue as if nothing had happened, in one safetensors file.

The file's metadata holds plain values as JSON and a digest of the content. Nothing is used from a file that was altered.
"""

import hashlib
import json
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from crosslens.encoding.texts import Texts
from crosslens.jobs.files import written
from crosslens.training import parallel
from crosslens.training.state import Position


def digest(settings: Any, texts: Iterable[Texts], encoder: Mapping[str, torch.Tensor]) -> str:
    """Return the digest that identifies a checkpoint: of settings (JSON values), texts and the encoder's initial weights."""
    digester = hashlib.sha256(json.dumps(settings).encode())
    for part in texts:
        for values in (
            part.subwords,
            part.subword_offsets,
            part.positions,
            part.word_offsets,
            part.second,
            *part.labels.values(),
        ):
            digester.update(values.tobytes())
    for value in encoder.values():
        digester.update(value.cpu().contiguous().view(torch.uint8).numpy().data)
    return digester.hexdigest()


def _content(state: str, tensors: Mapping[str, torch.Tensor]) -> str:
    """Return the digest of a checkpoint's content. state: its plain values as JSON."""
    digester = hashlib.sha256(state.encode())
    for name in sorted(tensors):
        value = tensors[name]
        digester.update(f"\n{name} {value.dtype} {list(value.shape)}\n".encode())
        digester.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digester.hexdigest()


@dataclass
class CheckpointFile:
    """The file of a training run's checkpoint.

    key: digest of settings, texts and initial weights (`digest`); a checkpoint with another key is not resumed.
    """

    path: Path
    key: str
    log: logging.Logger
    seconds: float = 300.0  # time between two checkpoints
    at: float = field(default_factory=time.monotonic)  # time of the last checkpoint, or of the start

    def read(self) -> tuple[Any, dict[str, torch.Tensor]] | None:
        """Return the values and tensors of the checkpoint; None if there is none with this key.

        A damaged file is renamed and ignored. Raises OSError if the file cannot be read now; it then stays in place.
        """
        try:
            with safe_open(self.path, "pt") as stream:
                header, tensors = stream.metadata(), {name: stream.get_tensor(name) for name in stream.keys()}
            if _content(header["state"], tensors) != header["content"]:
                raise ValueError("its content is not what was written")
        except FileNotFoundError:
            return None
        except (OSError, MemoryError):
            raise
        except Exception as error:  # an altered file may cause any error
            aside = self.path.with_name(f"{self.path.name}.damaged")
            if parallel.rank() == 0:
                self.path.replace(aside)
            self.log.warning(
                "%s: expected a checkpoint, found a damaged one (%s): starting again, the file is kept as %s",
                self.path, " ".join(str(error).split()), aside,
            )  # fmt: skip
            return None
        state = json.loads(header["state"])
        return (state["values"], tensors) if state["key"] == self.key else None

    def write(self, values: Any, tensors: Mapping[str, torch.Tensor]) -> None:
        """Replace the checkpoint with these values, which JSON can encode, and tensors: whole or not at all."""
        state = json.dumps({"key": self.key, "values": values})
        contiguous = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
        # One file, so that a kill at any moment leaves the last checkpoint or this one.
        with written(self.path) as temporary:
            save_file(contiguous, temporary, {"state": state, "content": _content(state, contiguous)})
        self.at = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether the last checkpoint is at least `seconds` old."""
        return time.monotonic() - self.at >= self.seconds


def save(
    file: CheckpointFile,
    position: Position,
    weights: dict[str, torch.Tensor],
    best: dict[str, torch.Tensor],
    optimiser: dict[str, Any],
    scaler: dict[str, Any],
) -> None:
    """Write the state of a training run, and of torch's random generators, to its checkpoint.

    optimiser: state of AdamW, all of it tensors; its settings are not written, since the stage determines them.
    """
    tensors = {
        f"optimiser.{number}.{name}": value for number, state in optimiser["state"].items() for name, value in state.items()
    }
    tensors |= {f"weights.{name}": value for name, value in weights.items()}
    tensors |= {f"best.{name}": value for name, value in best.items()}
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    file.write({"position": asdict(position), "scaler": scaler}, tensors)


@dataclass
class Checkpoint:
    """State of a training run as read from its checkpoint."""

    position: Position
    weights: dict[str, torch.Tensor]
    best: dict[str, torch.Tensor]
    optimiser: dict[str, Any]
    scaler: dict[str, Any]  # state of the loss scaler for float16
    random: dict[str, torch.Tensor]

    def set_random_state(self) -> None:
        """Set torch's random generators to their state at the checkpoint."""
        torch.set_rng_state(self.random["cpu"])
        if "cuda" in self.random and torch.cuda.is_available():
            torch.cuda.set_rng_state(self.random["cuda"])


def load(file: CheckpointFile) -> Checkpoint | None:
    """Return the state that `save` wrote; None if there is no checkpoint to resume."""
    if not (content := file.read()):
        return None
    values, tensors = content
    parts: dict[str, dict[str, torch.Tensor]] = {"weights": {}, "best": {}, "optimiser": {}, "random": {}}
    for name, value in tensors.items():
        kind, _, rest = name.partition(".")
        parts[kind][rest] = value
    states: dict[int, dict[str, Any]] = {}
    for name, value in parts["optimiser"].items():
        number, _, field_name = name.partition(".")
        states.setdefault(int(number), {})[field_name] = value
    position = Position(**values["position"])
    return Checkpoint(position, parts["weights"], parts["best"], {"state": states}, values["scaler"], parts["random"])
