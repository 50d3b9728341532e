"""Hidden states of labelled words under a fixed encoder, computed once for all steps, heads and trials."""

from collections.abc import Iterable, Mapping, Sequence

import torch

from crosslens.config.recipes import STATES_BYTES as BYTES
from crosslens.config.recipes import Data
from crosslens.encoding.texts import Texts
from crosslens.training.model import EncoderWithHeads, Layer
from crosslens.training.predict import hidden_states


class Features:
    """Cache of states by texts and layer, (n_words, width) float32 on the CPU.

    It may be shared by training runs with the same encoder and texts.
    """

    def __init__(self) -> None:
        self.states: dict[tuple[Data, Layer], torch.Tensor] = {}

    def clear(self) -> None:
        """Forget all states, because the encoder is about to change."""
        self.states.clear()

    def of(self, model: EncoderWithHeads, data: Data, texts: Texts, layer: Layer, layers: Iterable[Layer]) -> torch.Tensor:
        """Return the states at a layer, (n_words, width).

        layers: layers whose states are cached in the same pass if those at `layer` must be computed.
        """
        if (data, layer) not in self.states:
            missing = [number for number in dict.fromkeys([layer, *layers]) if (data, number) not in self.states]
            arrays = hidden_states(model, texts, missing)
            self.states.update({(data, number): states for number, states in zip(missing, arrays, strict=True)})
        return self.states[data, layer]

    def room(self, model: EncoderWithHeads, texts: Mapping[Data, Texts], layers: Sequence[Layer]) -> bool:
        """Return whether the texts' states at layers, together with those already cached, take at most BYTES."""
        needed = {(data, layer): len(part.positions) * model.width(layer) for data, part in texts.items() for layer in layers}
        return 4 * sum((needed | {key: states.numel() for key, states in self.states.items()}).values()) <= BYTES
