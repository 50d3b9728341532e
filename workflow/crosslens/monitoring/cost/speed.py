"""Speed of encoders: measured on this machine by a short probe with random weights, or worked out for a named card.

A card and this machine have in common: `factor`, true times lie between the likely ones over it and times it; `about`, a
sentence; `gpus`, how many a job holds that requests some; `seconds` of the work of a training, or of passes alone.
"""

import json
import platform
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crosslens.monitoring.cost.sizes import Shape
from crosslens.monitoring.cost.work import Batch, Setup, Work
from crosslens.runs.errors import DataError
from crosslens.storage.bounded import read_json

BEGIN = 1.7  # seconds to read texts and weights, and to write what is left
HEAD_STEP, MIXED_STEP = 0.0015, 0.015  # of a step of heads alone on a processor, of one with an LSTM
WORDS = 40_000  # predicted words that are scored and written in a second
STATIC = 6e7  # numbers of vectors a second of a static embedding: pieces times dimensions, an epoch
MINUTE = 60.0  # a probe's seconds in all; further kinds of batches then take the rate of the nearest one


@dataclass
class Card:
    """A GPU by name. A step takes its FLOPs over the peak times the utilisation, and at least its launches.

    Nothing was measured on it. PEAKS: dense FLOPs a second of data sheets; float32 without tensor cores.
    """

    name: str
    factor: float = 2.0

    # float32, tf32, bfloat16 or float16
    PEAKS = {
        "v100": (15.7e12, 15.7e12, 125e12), "t4": (8.1e12, 8.1e12, 65e12), "a100": (19.5e12, 156e12, 312e12),
        "a40": (37.4e12, 74.8e12, 149.7e12), "l4": (30.3e12, 60e12, 121e12), "l40s": (91.6e12, 183e12, 362e12),
        "h100": (67e12, 494e12, 989e12), "h200": (67e12, 494e12, 989e12), "rtx3090": (35.6e12, 35.6e12, 71e12),
        "rtx4090": (82.6e12, 82.6e12, 165e12),
    }  # fmt: skip
    UTILISATION = (0.6, 0.35, 0.3)
    PRECISIONS = {"float32": 0, "tf32": 1, "bfloat16": 2, "float16": 2, "auto": 2}
    FLOAT32 = {"v100", "t4"}  # these multiply no bfloat16: `auto` is float32, and bfloat16 is no faster
    BLOCK = (2e-3, 6e-4)  # seconds a block to launch a step's kernels, or a pass's

    def __post_init__(self) -> None:
        if self.name not in self.PEAKS:
            raise DataError(f"card {self.name}: expected one of {', '.join(self.PEAKS)}")

    @property
    def about(self) -> str:
        """Sentence on the card, or the machine, for the bill."""
        full, tensor, half = (f"{share:.0%}" for share in self.UTILISATION)
        return (
            f"{self.name}: of the data sheet's peak {full} are assumed to be reached in float32, {tensor} in tf32, {half} in "
            "half precision; nothing was measured on it"
        )

    def rate(self, precision: str) -> float:
        """Reached FLOPs a second."""
        slow = self.name in self.FLOAT32 and precision in ("auto", "bfloat16")
        place = self.PRECISIONS["float32" if slow else precision]
        return self.PEAKS[self.name][place] * self.UTILISATION[place]

    def gpus(self, requested: int) -> int:
        """Number of GPUs that a job holds, at least one: as many as it requests, since jobs are priced for such cards."""
        return max(1, requested)

    def seconds(self, work: Work, shape: Shape, setup: Setup) -> float:
        """Seconds of a training's work."""
        launched, passed = (share * shape.layers for share in self.BLOCK)
        rate = self.rate(setup.precision) * setup.gpus
        steps = sum(max(work.trained[kind] / rate, number * launched) for kind, number in work.steps.items())
        passes = max(work.passed / self.rate("float32"), work.forward_steps * passed)
        return steps + passes + _rest(work, shape)


def _rest(work: Work, shape: Shape) -> float:
    """Seconds of work that no card makes faster."""
    heads = (work.head_steps - work.mixed_steps) * HEAD_STEP + work.mixed_steps * MIXED_STEP
    return BEGIN + heads + work.words / WORDS + work.pieces * shape.hidden / STATIC


def _over(amount: float, rate: float) -> float:
    """Seconds of some FLOPs; 0 for an encoder without blocks, whose rate is zero."""
    return amount / rate if rate else 0.0


@dataclass
class Measured:
    """This machine, as a probe measures it. file: of its rates, so that nothing is measured twice."""

    file: Path
    factor: float = 1.25
    spent: float = 0.0
    rates: dict[str, dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file.is_file():
            self.rates = read_json(self.file)

    @classmethod
    def here(cls, root: Path = Path()) -> "Measured":
        """Rates of this host, in build/speed/HOST.json."""
        return cls(root / "build" / "speed" / f"{socket.gethostname()}.json")

    @property
    def about(self) -> str:
        """Sentence on the card, or the machine, for the bill."""
        return (
            f"this machine ({socket.gethostname()}, {platform.processor() or platform.machine()}): steps and passes measured "
            f"with random weights, kept in {self.file}; remove it to measure again"
        )

    def gpus(self, requested: int) -> int:
        """Number of GPUs that a job holds: the probe measures one device."""
        return 1

    def seconds(self, work: Work, shape: Shape, setup: Setup) -> float:
        """Seconds of a training's work; the parts of a batch run one after the other."""
        total, length = _rest(work, shape), 32
        for kind, trained in work.trained.items():
            total += _over(trained, self._rates(shape, setup, kind)["trained"])
            length = kind[1]
        nearest = max(work.trained, key=lambda kind: work.trained[kind], default=(16, length))
        return total + (_over(work.passed, self._rates(shape, setup, nearest)["passed"]) if work.passed else 0.0)

    def _rates(self, shape: Shape, setup: Setup, kind: Batch) -> Mapping[str, float]:
        machine = f"{shape.layers}x{shape.hidden}x{shape.inner}, {shape.vocabulary} subwords, {setup}"
        kind = max(1, kind[0]), min(max(8, 4 * round(kind[1] / 4)), 510)
        key = f"{machine}, batches of {kind[0]} x {kind[1]}"
        if key not in self.rates:
            alike = {name: rates for name, rates in self.rates.items() if name.startswith(machine)}
            if self.spent > MINUTE and alike:
                pieces = kind[0] * kind[1]
                return min(alike.values(), key=lambda rates: abs(rates["pieces"] - pieces))
            from crosslens.monitoring.cost.probe import probe  # late: it imports torch

            began = time.monotonic()
            self.rates[key] = probe(shape, setup, *kind)
            self.spent += time.monotonic() - began
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(json.dumps(self.rates, indent=1) + "\n", encoding="utf-8")
        return self.rates[key]


Speed = Card | Measured


def speed(card: str | None) -> Speed:
    """Speed of a card by name; None: of this machine."""
    return Card(card.lower().replace(" ", "").replace("-", "")) if card else Measured.here()
