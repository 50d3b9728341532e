"""Everything that a killed training needs to go on as if nothing had happened, in one safetensors file with JSON in it."""

import hashlib
import json
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from crosslens.encoding.texts import Texts
from crosslens.files import written


@dataclass
class Position:
    """Where a training stands: the next step to take, and what has been seen so far."""

    stage: int = 0
    epoch: int = 0
    phase: int = 0
    step: int = 0
    updates: int = 0  # of the stage
    best_score: float = -1.0  # of the stage
    best_epoch: int = 0
    losses: dict[str, float] = field(default_factory=dict)  # of the epoch, by column of the history
    accuracies: dict[str, float] = field(default_factory=dict)  # likewise
    pieces: int = 0  # of the epoch
    seconds: float = 0.0  # of the epoch's steps
    history: list[dict[str, Any]] = field(default_factory=list)


def digest(settings: Any, texts: Iterable[Texts], encoder: Mapping[str, torch.Tensor]) -> str:
    """What a checkpoint is known by: settings, ready for JSON, data and the encoder's first weights."""
    found = hashlib.sha256(json.dumps(settings).encode())
    for each in texts:
        for values in (each.pieces, each.piece_offsets, each.positions, each.word_offsets, each.second, *each.labels.values()):
            found.update(values.tobytes())
    for value in encoder.values():
        found.update(value.cpu().contiguous().view(torch.uint8).numpy().data)
    return found.hexdigest()


def _flat(optimiser: dict[str, Any]) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Split an optimiser's state into tensors and plain values."""
    tensors, values = {}, {}
    for number, state in optimiser["state"].items():
        for name, value in state.items():
            if isinstance(value, torch.Tensor):
                tensors[f"optimiser.{number}.{name}"] = value
            else:
                values[f"{number}.{name}"] = value
    return tensors, {"values": values, "groups": optimiser["param_groups"]}


def save(
    path: Path,
    key: str,
    position: Position,
    weights: dict[str, torch.Tensor],
    best: dict[str, torch.Tensor],
    optimiser: dict[str, Any],
) -> None:
    """Write a checkpoint whole or not at all. `key` identifies settings and data: a checkpoint of others is not resumed."""
    tensors, plain = _flat(optimiser)
    tensors |= {f"weights.{name}": value for name, value in weights.items()}
    tensors |= {f"best.{name}": value for name, value in best.items()}
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    # One file, so that a kill at any moment leaves the last checkpoint or this one.
    with written(path) as temporary:
        save_file(
            {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()},
            temporary,
            {"state": json.dumps({"key": key, "position": asdict(position), "optimiser": plain})},
        )


@dataclass
class Checkpoint:
    """A checkpoint read back."""

    position: Position
    weights: dict[str, torch.Tensor]
    best: dict[str, torch.Tensor]
    optimiser: dict[str, Any]
    random: dict[str, torch.Tensor]

    def set_random_state(self) -> None:
        """Let torch draw what it would have drawn next."""
        torch.set_rng_state(self.random["cpu"])
        if "cuda" in self.random and torch.cuda.is_available():
            torch.cuda.set_rng_state(self.random["cuda"])


def load(path: Path, key: str) -> Checkpoint | None:
    """The checkpoint of these settings and data, or None."""
    parts: dict[str, dict[str, torch.Tensor]] = {"weights": {}, "best": {}, "optimiser": {}, "random": {}}
    try:
        with safe_open(path, "pt") as stored:
            state = json.loads(stored.metadata()["state"])
            if state["key"] != key:
                return None
            for name in stored.keys():
                kind, _, rest = name.partition(".")
                parts[kind][rest] = stored.get_tensor(name)
    except (OSError, SafetensorError):
        return None
    states: dict[int, dict[str, Any]] = {}
    for name, value in (parts["optimiser"] | state["optimiser"]["values"]).items():
        number, _, field_name = name.partition(".")
        states.setdefault(int(number), {})[field_name] = value
    optimiser = {"state": states, "param_groups": state["optimiser"]["groups"]}
    return Checkpoint(Position(**state["position"]), parts["weights"], parts["best"], optimiser, parts["random"])


@contextmanager
def sigterm_handled(stop: Callable[..., None]) -> Iterator[None]:
    """SIGTERM calls `stop`, and what it did before at the end."""
    try:
        previous = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        previous = None
    try:
        yield
    finally:
        if previous is not None:
            signal.signal(signal.SIGTERM, previous)


def remove(path: Path) -> None:
    """Delete a checkpoint that is no longer needed, and what a kill left of one half written."""
    for leftover in (path, *path.parent.glob(f".{path.name}.part-*")):
        leftover.unlink(missing_ok=True)
