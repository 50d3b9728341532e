"""One training run in several processes, one per GPU: each computes some parts of every batch, and the gradients are added.

A recipe says in how many parts a batch is computed, each with its own random stream for dropout. So the weights do not depend
on how many processes share the parts, except through the order of addition if there are more than two.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

from crosslens.jobs import signals
from crosslens.jobs.errors import DataError


def rank() -> int:
    """Return the number of this process; process 0 writes the results."""
    return torch.distributed.get_rank() if torch.distributed.is_initialized() else 0


def size() -> int:
    """Return the number of processes."""
    return torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1


def processes(parts: int) -> int:
    """Return the number of processes for a batch: the largest divisor of `parts` up to the number of GPUs, or 1."""
    return max((number for number in range(1, torch.cuda.device_count() + 1) if parts % number == 0), default=1)


def add_up(model: nn.Module, losses: torch.Tensor) -> torch.Tensor:
    """Sum gradients over all processes, in place, and return the summed losses."""
    if size() == 1:
        return losses
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients = [torch.zeros_like(weights) if weights.grad is None else weights.grad for weights in trained]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    torch.distributed.all_reduce(flat)
    sizes = [parameter.numel() for parameter in trained]
    for parameter, gradient, summed in zip(trained, gradients, torch.split_with_sizes(flat, sizes), strict=True):
        parameter.grad = gradient.copy_(summed.view_as(gradient))  # in place, where captured steps read it
    torch.distributed.all_reduce(losses)
    return losses


def agreed(wish: bool, device: torch.device) -> bool:
    """Return whether `wish` is true in at least one process; all processes get the same answer."""
    if size() == 1:
        return wish
    wishes = torch.tensor(float(wish), device=device)
    torch.distributed.all_reduce(wishes)
    return bool(wishes)


def interruptible() -> AbstractContextManager[None]:
    """Return a context that a signal may interrupt, unless there are several processes, which must stop together."""
    return signals.released() if size() == 1 else nullcontext()


def launch(arguments: dict[str, Any], number: int) -> None:
    """Call `crosslens.training.run.run` in `number` processes.

    arguments: arguments of `process.work`, as JSON values. A signal is passed on, so that the training run stops with a
    checkpoint. Raises the error of a process that failed: DataError, or RuntimeError with its traceback.
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
        finally:  # a process whose partners have ended would wait for ever
            for process in started:
                process.kill()
                process.wait()


def _wait(processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
    end = time.monotonic() + seconds
    while any(process.poll() is None for process in processes) and time.monotonic() < end:
        time.sleep(0.1)


def _failure(place: Path, status: int) -> Exception:
    """Return the error that ended a training run; bad input takes precedence, since other errors may follow from it."""
    files = sorted(place.glob("*.failed"), key=lambda file: file.stat().st_mtime_ns)
    errors = [json.loads(file.read_text("utf-8")) for file in files]
    if line := next((line for line, _ in errors if line), None):
        return DataError(line)
    return RuntimeError(next((traceback for _, traceback in errors), f"a process of the training run ended with status {status}"))
