"""Hidden states of labelled words under an encoder that does not change, computed once for all steps, heads and trials."""

from collections.abc import Iterable, Mapping, Sequence

import torch

from crosslens.encoding.texts import Texts
from crosslens.recipes import Data
from crosslens.training.model import EncoderWithHeads, Layer
from crosslens.training.predict import hidden_states

BYTES = 2**34
"""Most that the states of a stage's texts may take. A constant, so that a training does not depend on the machine's memory."""


class Features:
    """Texts and layer -> states (n_words, width), float32 on the CPU.

    Filled and read by trainings with the same encoder and texts.
    """

    def __init__(self) -> None:
        self.states: dict[tuple[Data, Layer], torch.Tensor] = {}

    def clear(self) -> None:
        """Forget them: the encoder changes."""
        self.states.clear()

    def of(self, model: EncoderWithHeads, data: Data, texts: Texts, layer: Layer, layers: Iterable[Layer]) -> torch.Tensor:
        """States at a layer; where they are computed, those at `layers` in the same pass, since heads read these too."""
        if (data, layer) not in self.states:
            missing = [each for each in dict.fromkeys([layer, *layers]) if (data, each) not in self.states]
            found = hidden_states(model, texts, missing)
            self.states.update({(data, each): states for each, states in zip(missing, found, strict=True)})
        return self.states[data, layer]

    def room(self, model: EncoderWithHeads, texts: Mapping[Data, Texts], layers: Sequence[Layer]) -> bool:
        """Whether states at layers of all labelled words of some texts take at most BYTES, with those that there are."""
        needed = {(data, layer): len(each.positions) * model.width(layer) for data, each in texts.items() for layer in layers}
        return 4 * sum((needed | {key: states.numel() for key, states in self.states.items()}).values()) <= BYTES
