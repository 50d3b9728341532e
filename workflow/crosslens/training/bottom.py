"""States above frozen bottom layers, which are the same in every step and therefore computed once."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from crosslens.config.recipes import BOTTOM_BYTES as BYTES
from crosslens.config.recipes import Data, Recipe, Stage
from crosslens.encoding.batches import Batch, device_of, for_each_batch
from crosslens.encoding.layers import KNOWN, handing_on, starting_from, transformer_layers
from crosslens.encoding.texts import Texts
from crosslens.training.model import EncoderWithHeads


class Bottom:
    """Output of an encoder's frozen bottom layers for all subwords of a training run's texts.

    In the context `in_place` the embeddings look up these states, and the frozen layers pass them on.
    """

    def __init__(
        self, encoder: nn.Module, number: int, texts: Mapping[Data, Texts], segments: bool,
        autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ):  # fmt: skip
        """Compute the states; the encoder must be in eval mode.

        number: number of frozen layers; the embeddings are frozen too. segments: whether the second text of a pair has token
        type 1. autocast: context of the encoder's passes.
        """
        self.encoder, self.number = encoder, number
        self.tables: dict[Data, torch.Tensor] = {}
        self.texts: dict[Data, Texts] = {}
        for data, part in texts.items():
            with autocast():
                self.tables[data] = self._states(part, segments).to(device_of(encoder))
            self.texts[data] = replace(part, subwords=np.arange(len(part.subwords)))

    def _states(self, texts: Texts, segments: bool) -> torch.Tensor:
        """Return the states of all subwords of texts, (n_subwords, d), on the CPU."""
        parts: list[torch.Tensor] = []
        rows: list[np.ndarray] = []
        device = device_of(self.encoder)
        numbered = replace(texts, subwords=np.arange(len(texts.subwords)))

        def step(batch: Batch) -> None:
            inside = batch.attention_mask.bool() if batch.attention_mask is not None else torch.ones_like(batch.input_ids).bool()
            places = batch.input_ids[inside]
            options = {"attention_mask": batch.attention_mask, "token_type_ids": batch.token_types}
            options = {name: value.to(device) for name, value in options.items() if value is not None}
            subwords = torch.from_numpy(texts.subwords.astype(np.int64))[batch.input_ids].masked_fill(~inside, self._padding)
            output = self.encoder(input_ids=subwords.to(device), **options)
            parts.append(output.last_hidden_state[inside.to(device)].cpu())
            rows.append(places.numpy())

        with handing_on(transformer_layers(self.encoder)[self.number :]):
            for_each_batch(numbered, self.encoder, segments, step)
        states = torch.cat(parts)
        return torch.empty_like(states).index_copy_(0, torch.from_numpy(np.concatenate(rows)), states)

    @property
    def _padding(self) -> int:
        return int(self.encoder.config.pad_token_id or 0)  # type: ignore[union-attr, arg-type]

    def in_place(self, data: Data) -> AbstractContextManager[None]:
        """Return a context in which the encoder reads `texts`, where each subword is a row number of the table of states."""
        table = self.tables[data]

        def look_up(input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
            return table[input_ids]

        return starting_from(self.encoder, self.number, look_up)


def below(
    model: EncoderWithHeads, recipe: Recipe, stage: Stage, texts: Mapping[Data, Texts],
    autocast: Callable[[], AbstractContextManager[Any]],
) -> Bottom | None:  # fmt: skip
    """Return the output of a stage's frozen layers for its texts; None if they must run in each step, or it is too large.

    They must run if the recipe says so (`frozen_bottom`), or if a layer norm may follow the last layer, as it may in encoders
    other than BERT and XLM-R. The output is too large if it takes more than BYTES.
    """
    number = recipe.frozen_bottom(stage)
    if number is None or str(model.encoder.config.model_type) not in KNOWN:  # type: ignore[union-attr]
        return None
    stage_texts = {term.data: texts[term.data] for phase in stage.phases for term in phase.terms}
    if sum(len(part.subwords) for part in stage_texts.values()) * model.hidden_size * 4 > BYTES:
        return None
    model.eval()
    return Bottom(model.encoder, number, stage_texts, recipe.units.segments, autocast)
