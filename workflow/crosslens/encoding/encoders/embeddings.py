"""Static embeddings (GloVe, Word2Vec) as an encoder without layers: a subword has the same state wherever it occurs."""

from types import SimpleNamespace
from typing import Any, Self

import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutput

from crosslens.encoding.encoders.weights import WORD_EMBEDDINGS

MODEL_TYPE = "static"


class StaticEncoder(nn.Module):
    """Word embeddings with the interface of transformers' encoders; the only layer is 0, the embedding output."""

    def __init__(self, config: dict[str, Any]) -> None:
        """Make an encoder whose weights are 0.

        config: content of config.json: vocab_size, hidden_size and optionally pad_token_id.
        """
        super().__init__()
        self.config = SimpleNamespace(_attn_implementation=None, **({"pad_token_id": None} | config))
        weight = torch.zeros(config["vocab_size"], config["hidden_size"])
        self.embeddings = nn.ModuleDict({"word_embeddings": nn.Embedding(weight.shape[0], weight.shape[1], _weight=weight)})

    def draw(self) -> Self:
        """Sample weights from a normal distribution with mean 0 and standard deviation 0.02, and return the encoder."""
        nn.init.normal_(self.get_parameter(WORD_EMBEDDINGS), std=0.02)
        return self

    def get_input_embeddings(self) -> nn.Embedding:
        """The word embeddings, as in transformers' encoders."""
        embeddings: nn.Embedding = self.embeddings["word_embeddings"]  # type: ignore[assignment]
        return embeddings

    def forward(self, input_ids: torch.Tensor, output_hidden_states: bool = False, **_: Any) -> BaseModelOutput:
        """States (B, T, d) of subwords (B, T); attention masks and token types are ignored."""
        states = self.embeddings["word_embeddings"](input_ids)
        return BaseModelOutput(last_hidden_state=states, hidden_states=(states,) if output_hidden_states else None)
