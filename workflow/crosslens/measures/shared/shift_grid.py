"""Mean difference shifts between languages that token translation tries, and the shifts that these are compared with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from crosslens.encoding.shift import Shift, random_direction
from crosslens.measures.shared.shift_data import Mean
from crosslens.measures.shared.shift_terms import NO_SHIFT, RANDOM, SHIFT, THIRD
from crosslens.numerics.streams import stream


class Cell(NamedTuple):
    """A cell of the grid of shifts. target: target language; None: any. mean: name of the mean's definition."""

    target: str | None
    definition: str
    mean: str
    layer: int
    weight: float


@dataclass(frozen=True)
class Grid:
    """Shifts of each direction: all layers and weights under the first mean, and the shifts that these are compared with.

    states: definition of the mean -> language -> means at all layers, (L + 1, d); the first definition is the paper's.
    layer: the layer of the comparisons, except random directions, which are tried at all layers.
    """

    languages: Sequence[str]
    directions: Sequence[Sequence[str]]  # source, target
    states: Mapping[Mean, Mapping[str, torch.Tensor]]
    weights: Sequence[float]
    negative_weights: Sequence[float]
    layer: int
    seed: int

    @property
    def mean(self) -> Mean:
        """The first definition of the mean."""
        return next(iter(self.states))

    def targets(self, source: str) -> list[str]:
        """Return the languages into which a language is translated."""
        return [target for start, target in self.directions if start == source]

    def shifts(self, source: str, *, compared: bool) -> dict[Cell, Shift]:
        """Return the shifts of a source by cell. compared: whether to include those that the grid is compared with."""
        shifts = {Cell(None, NO_SHIFT, self.mean.name, 0, 0.0): Shift(0, 0.0, torch.zeros(0))}
        for target in self.targets(source):
            shifts |= self._tried(source, target)
            if compared:
                shifts |= self._compared(source, target)
        return shifts

    def is_judged(self, cell: Cell) -> bool:
        """Return whether a dictionary judges a cell's outputs, those of shifts by the first mean at `layer`.

        Negative weights and no shift are not judged.
        """
        return cell.weight > 0 and (cell.definition, cell.mean, cell.layer) == (SHIFT, self.mean.name, self.layer)

    def _tried(self, source: str, target: str) -> dict[Cell, Shift]:
        difference = self._difference(self.mean, source, target)
        return {
            Cell(target, SHIFT, self.mean.name, layer, weight): Shift(layer, weight, difference[layer])
            for layer in range(1, len(difference))
            for weight in self.weights
        }

    def _compared(self, source: str, target: str) -> dict[Cell, Shift]:
        """Return shifts by cell, in this order: negative weights, random directions, a third language, other means."""
        (mean, *other_means), layer = self.states, self.layer
        difference = self._difference(mean, source, target)
        shifts = [(SHIFT, mean, layer, weight, difference[layer]) for weight in self.negative_weights]
        seed = stream(self.seed, "random direction", source, target)
        for number in range(1, len(difference)):
            direction = random_direction(difference[number], stream(seed, number))
            weights = self.weights if number == layer else [max(self.weights)]
            shifts += [(RANDOM, mean, number, weight, direction) for weight in weights]
        if (language := third(self.languages, source, target)) is not None:
            away = self._difference(mean, source, language)[layer]
            shifts += [(THIRD, mean, layer, weight, away) for weight in self.weights]
        for other_mean in other_means:
            vector = self._difference(other_mean, source, target)[layer]
            shifts += [(SHIFT, other_mean, layer, weight, vector) for weight in self.weights]
        return {Cell(target, name, kind.name, at, weight): Shift(at, weight, vector) for name, kind, at, weight, vector in shifts}

    def _difference(self, mean: Mean, source: str, target: str) -> torch.Tensor:
        """Return the difference of two languages' means at all layers, (L + 1, d)."""
        return self.states[mean][target] - self.states[mean][source]


def third(languages: Sequence[str], source: str, target: str) -> str | None:
    """Return the next language after the target, in a circle, that is neither source nor target; None if there are only two."""
    place = languages.index(target) + 1
    return next((code for code in (*languages[place:], *languages) if code not in (source, target)), None)
