"""Runs workflow/scripts/train.py in processes forked from this one, which has imported what takes seconds.

Reads one JSON object a line from stdin, writes the number of the process and, once it has ended, its exit status to stdout.
"""

import json
import os
import runpy
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

WORKFLOW = Path(__file__).parents[2] / "workflow"


def named(values: dict[str, Any]) -> Any:
    """An object that has attributes, and of lists those of Snakemake."""
    return SimpleNamespace(**values)


def snakemake(asked: dict[str, Any]) -> Any:
    """What the script gets from Snakemake."""
    folder = Path(asked["folder"])
    return named({
        "params": named({"recipe": asked["settings"], "code": "1", "environment": "1", "leaves_states": True}),
        "wildcards": named({"seed": "0"}),
        "input": named({"encoder": asked["encoder"], "tokens": asked["tokens"], "artefact": [], "pretrained": []}),
        "output": Output(str(folder / name) for name in ("predictions.parquet", "record.json")),
        "log": [asked["log"]],
        "resources": {},
        "threads": 1,
    })  # fmt: skip


class Output(list):
    @property
    def record(self) -> str:
        return self[-1]


def spoil(asked: dict[str, Any]) -> None:
    """Write each step that is taken to a file, save as often as is asked, and send a signal to oneself at a place.

    at: module, attribute of it (or Class.attribute), how many calls before, whether after the call instead of before.
    """
    from crosslens.training import loop, step

    steps = os.open(asked["steps"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    loop.Loop.__init__.__kwdefaults__["checkpoint_seconds"] = asked["seconds"]
    update = step.Step.update

    def counted(self: Any, phase: Any, place: Any, *arguments: Any) -> None:
        update(self, phase, place, *arguments)
        os.write(steps, f"{' '.join(map(str, place))}\n".encode())

    step.Step.update = counted
    if asked["at"]:
        module, name, before, after = asked["at"]
        owner: Any = sys.modules[module]
        *owners, attribute = name.split(".")
        for each in owners:
            owner = getattr(owner, each)
        original, calls = getattr(owner, attribute), []

        def signalled(*arguments: Any, **options: Any) -> Any:
            calls.append(1)
            now = len(calls) == before + 1
            if now and not after:
                os.kill(os.getpid(), asked["signal"])
            found = original(*arguments, **options)
            if now and after:
                os.kill(os.getpid(), asked["signal"])
            return found

        setattr(owner, attribute, signalled)


def main() -> dict[str, Any]:
    """Fork until there is nothing more to do; returns in each child, what it is to do."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as of a command in a terminal
    import crosslens.training.run
    import pyarrow.parquet
    import torch
    from transformers.models.bert import modeling_bert  # noqa: F401

    assert crosslens.training.run and pyarrow.parquet
    torch.set_num_threads(1)
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        child = os.fork()
        if child == 0:
            said = os.open(asked["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            spoil(asked)
            return asked
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.exit()


if __name__ == "__main__":
    found = main()
    runpy.run_path(str(WORKFLOW / "scripts/train.py"), init_globals={"snakemake": snakemake(found)}, run_name="__main__")
