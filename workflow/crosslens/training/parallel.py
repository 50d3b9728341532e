"""One training in several processes, one a GPU: each computes some parts of every batch, and their gradients add up.

A recipe says in how many parts a batch is computed, each with dropout of a stream of its own. So the weights do not depend on
how many processes share the parts, but for the order in which more than two of them are added.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from crosslens.runs import signals
from crosslens.runs.errors import DataError


def rank() -> int:
    """Number of this process; 0 writes."""
    return torch.distributed.get_rank() if torch.distributed.is_initialized() else 0


def size() -> int:
    """Number of processes."""
    return torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1


def processes(parts: int) -> int:
    """How many share the parts of a batch: the largest divisor of their number for which there are GPUs, else 1."""
    return max((number for number in range(1, torch.cuda.device_count() + 1) if parts % number == 0), default=1)


def add_up(model: nn.Module, losses: Sequence[float]) -> list[float]:
    """Sum gradients, in place, and losses over all processes."""
    if size() == 1:
        return list(losses)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients = [torch.zeros_like(each) if each.grad is None else each.grad for each in trained]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    torch.distributed.all_reduce(flat)
    for parameter, gradient in zip(trained, torch.split_with_sizes(flat, [each.numel() for each in trained]), strict=True):
        parameter.grad = gradient.view_as(parameter)
    total = torch.tensor(losses, dtype=torch.float64, device=flat.device)
    torch.distributed.all_reduce(total)
    return [float(loss) for loss in total]


def agreed(wish: bool, device: torch.device) -> bool:
    """Whether any process wishes something."""
    if size() == 1:
        return wish
    wishes = torch.tensor(float(wish), device=device)
    torch.distributed.all_reduce(wishes)
    return bool(wishes)


def launch(arguments: dict[str, Any], number: int) -> None:
    """Call `crosslens.training.run.run` in so many processes; arguments: of `process.work`, ready for JSON.

    A signal is handed on, so that the training stops with a checkpoint. Raises what a process failed with: DataError, or
    RuntimeError with its traceback.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arguments.json"
        file.write_text(json.dumps(arguments | {"place": folder}), encoding="utf-8")
        command = [sys.executable, "-m", "crosslens.training.process", os.fspath(file)]
        library = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
        environment = os.environ | {"OMP_NUM_THREADS": str(arguments["threads"]), "PYTHONPATH": library}
        started: list[subprocess.Popen[bytes]] = []
        try:
            for place in range(number):
                started.append(subprocess.Popen(command, env=environment | {"RANK": str(place), "WORLD_SIZE": str(number)}))
            while (codes := [process.poll() for process in started]).count(0) < number:
                if failed := next(filter(None, codes), None):
                    raise _failure(Path(folder), failed)
                time.sleep(0.1)
        except signals.Stopped:
            with signals.held():
                for process in started:
                    process.terminate()
                _wait(started, 60)
            raise
        finally:  # one alone would wait for the others for ever
            for process in started:
                process.kill()
                process.wait()


def _wait(processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
    end = time.monotonic() + seconds
    while any(process.poll() is None for process in processes) and time.monotonic() < end:
        time.sleep(0.1)


def _failure(place: Path, status: int) -> Exception:
    """What ended a training: bad input before anything else, since the other processes fail by being left alone."""
    files = sorted(place.glob("*.failed"), key=lambda file: file.stat().st_mtime_ns)
    said = [json.loads(file.read_text("utf-8")) for file in files]
    if line := next((line for line, _ in said if line), None):
        return DataError(line)
    return RuntimeError(next((traceback for _, traceback in said), f"a process of the training ended with status {status}"))
