"""Everything that a killed training needs to go on as if nothing had happened: tensors in safetensors, the rest in JSON."""

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

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
    sums: list[float] = field(default_factory=list)  # loss sums of the epoch, by term
    history: list[dict[str, Any]] = field(default_factory=list)


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
    folder: Path,
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
    with written(folder) as temporary:
        temporary.mkdir()
        save_file(
            {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()},
            temporary / "tensors.safetensors",
        )
        (temporary / "state.json").write_text(json.dumps({"key": key, "position": asdict(position), "optimiser": plain}))


@dataclass
class Checkpoint:
    """A checkpoint read back."""

    position: Position
    weights: dict[str, torch.Tensor]
    best: dict[str, torch.Tensor]
    optimiser: dict[str, Any]
    random: dict[str, torch.Tensor]


def load(folder: Path, key: str) -> Checkpoint | None:
    """The checkpoint of these settings and data, or None."""
    try:
        state = json.loads((folder / "state.json").read_text())
    except (OSError, ValueError):
        return None
    if state["key"] != key:
        return None
    parts: dict[str, dict[str, torch.Tensor]] = {"weights": {}, "best": {}, "optimiser": {}, "random": {}}
    for name, value in load_file(folder / "tensors.safetensors").items():
        kind, _, rest = name.partition(".")
        parts[kind][rest] = value
    states: dict[int, dict[str, Any]] = {}
    for name, value in (parts["optimiser"] | state["optimiser"]["values"]).items():
        number, _, field_name = name.partition(".")
        states.setdefault(int(number), {})[field_name] = value
    optimiser = {"state": states, "param_groups": state["optimiser"]["groups"]}
    return Checkpoint(Position(**state["position"]), parts["weights"], parts["best"], optimiser, parts["random"])


def remove(folder: Path) -> None:
    """Delete a checkpoint that is no longer needed."""
    shutil.rmtree(folder, ignore_errors=True)
