"""Position of a training run, and the losses of its current pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from crosslens.config.recipes import Data, Stage, Term
from crosslens.encoding.texts import Texts
from crosslens.training.batches import Place


@dataclass
class Position:
    """Position of a training run: the next step to take, and what it has measured so far."""

    stage: int = 0
    epoch: int = 0  # number of the pass: an epoch, or `Stage.interval` updates
    phase: int = 0
    step: int = 0
    updates: int = 0  # number of updates in the stage
    best_score: float = -1.0  # best score in the stage
    best_epoch: int = 0
    losses: dict[str, float] = field(default_factory=dict)  # losses in the epoch, by column of the history
    watched: dict[str, float] = field(default_factory=dict)  # accuracies and distances in the epoch, by column of the history
    subwords: int = 0  # number of subwords trained on in the epoch
    seconds: float = 0.0  # duration of the epoch's steps
    history: list[dict[str, Any]] = field(default_factory=list)


class Losses:
    """Losses of the updates of one pass over a phase's data; their means are added to `sums` when they are read.

    They stay on the device until then: reading makes the host wait, so with a GPU those of many updates are read together.

    sums: losses of the epoch, by column of the history. number: number of the phase in its stage. updates: number of updates in
    the pass. at_once: number of updates whose losses are read together. name: name of the training run, for errors.
    """

    def __init__(
        self, sums: dict[str, float], stage: Stage, number: int, updates: int, texts: Mapping[Data, Texts],
        *, at_once: int = 1, name: str = "",
    ):  # fmt: skip
        self.sums, self.updates, self.texts, self.at_once, self.name = sums, updates, texts, at_once, name
        self.columns, self.terms = stage.loss_columns(number), stage.phases[number].terms
        self.pending: list[tuple[Place, Sequence[np.ndarray], torch.Tensor]] = []

    def add(self, place: Place, chosen: Sequence[np.ndarray], losses: torch.Tensor) -> None:
        """Add the losses of an update, (n_losses,) on the device; read all pending losses once there are `at_once` of them.

        chosen: numbers of the texts of each term.
        """
        self.pending.append((place, chosen, losses))
        if len(self.pending) >= self.at_once:
            self.read()

    def read(self) -> None:
        """Add all pending losses to `sums`. Raises FloatingPointError for the first that is not finite."""
        if not self.pending:
            return
        owners = [number for number, term in enumerate(self.terms) for _ in range(2 if term.penalty else 1)]
        rows = torch.stack([losses for *_, losses in self.pending]).tolist()
        for (place, chosen, _), row in zip(self.pending, rows, strict=True):
            for column, owner, loss in zip(self.columns, owners, row, strict=True):
                if not np.isfinite(loss):
                    raise self._not_finite(place, chosen[owner], self.terms[owner], loss)
                self.sums[column] = self.sums.get(column, 0.0) + loss / self.updates
        self.pending.clear()

    def _not_finite(self, place: Place, chosen: np.ndarray, term: Term, loss: float) -> FloatingPointError:
        """Return the error for a term whose loss is not finite. chosen: numbers of its texts."""
        ids = ", ".join(self.texts[term.data].ids[text] for text in chosen[:5])
        return FloatingPointError(
            f"{self.name}: loss of {term.head} is {loss} in stage {place.stage}, epoch {place.epoch}, step {place.step} "
            f"(texts {ids}, ...): lower the learning rate"
        )
