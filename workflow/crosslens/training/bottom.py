"""Frozen bottom blocks, whose states of a text are the same in every step and therefore computed once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from crosslens.encoding.batches import Batch, for_each_batch
from crosslens.encoding.blocks import KNOWN, blocks, handing_on, starting_from
from crosslens.encoding.texts import Texts
from crosslens.recipes import ENCODER, Data, Recipe, Stage
from crosslens.training.model import EncoderWithHeads

BYTES = 2**32
"""Largest size of the states of a training's texts. A constant, so that results do not depend on the machine's memory."""


class Bottom:
    """Output of an encoder's frozen bottom blocks for all pieces of a training's texts.

    Within `in_place` the embeddings look these states up and the frozen blocks pass them on, whatever the kind of encoder.
    """

    def __init__(
        self, encoder: nn.Module, number: int, texts: Mapping[Data, Texts], segments: bool,
        autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ):  # fmt: skip
        """Compute the states; the encoder must be in eval mode. number: of frozen blocks; the embeddings are frozen too."""
        self.encoder, self.number = encoder, number
        self.tables: dict[Data, torch.Tensor] = {}
        self.texts: dict[Data, Texts] = {}
        for data, part in texts.items():
            with autocast():
                self.tables[data] = self._states(part, segments)
            self.texts[data] = replace(part, pieces=np.arange(len(part.pieces)))

    def _states(self, texts: Texts, segments: bool) -> torch.Tensor:
        """Return the states of all pieces of texts, (n_pieces, d), on the CPU."""
        parts: list[torch.Tensor] = []
        rows: list[np.ndarray] = []
        device = next(self.encoder.parameters()).device
        numbered = replace(texts, pieces=np.arange(len(texts.pieces)))

        def step(batch: Batch) -> None:
            inside = batch.attention_mask.bool() if batch.attention_mask is not None else torch.ones_like(batch.input_ids).bool()
            places = batch.input_ids[inside]
            options = {"attention_mask": batch.attention_mask, "token_type_ids": batch.token_types}
            options = {name: value.to(device) for name, value in options.items() if value is not None}
            pieces = torch.from_numpy(texts.pieces.astype(np.int64))[batch.input_ids].masked_fill(~inside, self._padding)
            output = self.encoder(input_ids=pieces.to(device), **options)
            parts.append(output.last_hidden_state[inside.to(device)].cpu())
            rows.append(places.numpy())

        with handing_on(blocks(self.encoder)[self.number :]):
            for_each_batch(numbered, self.encoder, segments, step)
        states = torch.cat(parts)
        return torch.empty_like(states).index_copy_(0, torch.from_numpy(np.concatenate(rows)), states)

    @property
    def _padding(self) -> int:
        return int(self.encoder.config.pad_token_id or 0)  # type: ignore[union-attr, arg-type]

    @contextmanager
    def in_place(self, data: Data) -> Iterator[Texts]:
        """Yield the texts to feed to the encoder meanwhile, whose pieces are rows of the table of states."""
        table = self.tables[data]

        def look_up(input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
            return table[input_ids.cpu()].to(input_ids.device)

        with starting_from(self.encoder, self.number, look_up):
            yield self.texts[data]


def below(
    model: EncoderWithHeads, recipe: Recipe, stage: Stage, texts: Mapping[Data, Texts],
    autocast: Callable[[], AbstractContextManager[Any]],
) -> Bottom | None:  # fmt: skip
    """Return the output of a stage's frozen blocks for its texts; None if they must run in each step, or it is too large.

    They must run if their dropout is on, if a head or penalty reads a layer other than the last, or if a layer norm may follow
    the last block, as in kinds of encoders other than BERT and XLM-R. It is too large above BYTES.
    """
    numbers = {phase.frozen_blocks for phase in stage.phases if ENCODER in phase.update}
    terms = [term for phase in stage.phases for term in phase.terms]
    is_supported = str(model.encoder.config.model_type) in KNOWN  # type: ignore[union-attr]
    reads_other_layers = [term.penalty or term.layer is not None or recipe.heads[term.head].reads() is not None for term in terms]
    number = numbers.pop() if len(numbers) == 1 else None
    if (
        number is None
        or not is_supported
        or recipe.encoder_dropout_when_frozen
        or any(reads_other_layers)
        or recipe.units.state == "mean"
    ):
        return None
    stage_texts = {term.data: texts[term.data] for term in terms}
    if sum(len(part.pieces) for part in stage_texts.values()) * model.hidden_size * 4 > BYTES:
        return None
    model.eval()
    return Bottom(model.encoder, number, stage_texts, recipe.units.segments, autocast)
