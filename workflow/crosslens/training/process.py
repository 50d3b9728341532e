"""Entry point of the processes that `parallel.launch` starts for one training run."""

import json
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import torch

from crosslens.config.recipes import Recipe
from crosslens.jobs import logs, signals
from crosslens.jobs.files import written
from crosslens.training.run import run


def work(
    recipe: dict[str, Any], seed: int, encoder: str, tokens: dict[str, str], folder: str, log: str, place: str, **options: Any
) -> None:  # fmt: skip
    """Take part in a training run.

    place: folder through which the processes connect, and to which they write the errors that ended them. log: path of the
    log file, to which process 0 appends. The other arguments are those of `run`.
    """
    signals.handle()
    rank, number = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    logger = logging.getLogger("crosslens")
    logger.propagate = False
    try:
        if rank == 0:
            logger.addHandler(logs.in_file(log, "a"))
            logger.setLevel(logging.INFO)
        if torch.cuda.is_available():
            torch.cuda.set_device(rank)
        backend = "nccl" if torch.cuda.is_available() else "gloo"
        torch.distributed.init_process_group(backend, init_method=f"file://{place}/meeting", rank=rank, world_size=number)
        paths = {name: None if options[name] is None else Path(options[name]) for name in ("artefact", "pretrained")}
        run(
            Recipe.model_validate(recipe), seed, Path(encoder), {name: Path(path) for name, path in tokens.items()},
            Path(folder), log=logger, **{**options, **paths},
        )  # fmt: skip
    except signals.Stopped as stopped:
        signals.ignore()
        sys.exit(stopped.status)  # the parent process reports why
    except Exception as error:
        reason = logs.in_one_line(error, folder), traceback.format_exc()
        with written(Path(place, f"{rank}.failed")) as file:
            file.write_text(json.dumps(reason), encoding="utf-8")
        sys.exit(1)
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


if __name__ == "__main__":
    work(**json.loads(Path(sys.argv[1]).read_text("utf-8")))
