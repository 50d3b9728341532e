"""Frozen bottom blocks: what they compute of a text is the same in every step, and so computed once."""

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
"""Most that the states of a training's texts may take. A constant, so that a training does not depend on the machine's memory."""


class Bottom:
    """States that leave an encoder's frozen bottom blocks, of all pieces of a training's texts.

    In its place (`in_place`) the embeddings look states up and the blocks hand them on, whatever the encoder is.
    """

    def __init__(
        self, encoder: nn.Module, number: int, texts: Mapping[Data, Texts], segments: bool,
        autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ):  # fmt: skip
        """number: of frozen blocks, below which the embeddings are frozen too; the encoder is in eval mode."""
        self.encoder, self.number = encoder, number
        self.tables: dict[Data, torch.Tensor] = {}
        self.texts: dict[Data, Texts] = {}
        for data, each in texts.items():
            with autocast():
                self.tables[data] = self._states(each, segments)
            self.texts[data] = replace(each, pieces=np.arange(len(each.pieces)))

    def _states(self, texts: Texts, segments: bool) -> torch.Tensor:
        """Of all pieces of some texts, (n_pieces, d), on the CPU."""
        parts: list[torch.Tensor] = []
        rows: list[np.ndarray] = []
        device = next(self.encoder.parameters()).device
        numbered = replace(texts, pieces=np.arange(len(texts.pieces)))

        def step(batch: Batch) -> None:
            inside = batch.attention_mask.bool() if batch.attention_mask is not None else torch.ones_like(batch.input_ids).bool()
            places = batch.input_ids[inside]
            given = {"attention_mask": batch.attention_mask, "token_type_ids": batch.token_types}
            given = {name: value.to(device) for name, value in given.items() if value is not None}
            pieces = torch.from_numpy(texts.pieces.astype(np.int64))[batch.input_ids].masked_fill(~inside, self._padding)
            output = self.encoder(input_ids=pieces.to(device), **given)
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
        """The texts as the encoder is to be given them meanwhile: their pieces are rows of the table."""
        table = self.tables[data]

        def look_up(input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
            return table[input_ids.cpu()].to(input_ids.device)

        with starting_from(self.encoder, self.number, look_up):
            yield self.texts[data]


def below(
    model: EncoderWithHeads, recipe: Recipe, stage: Stage, texts: Mapping[Data, Texts],
    autocast: Callable[[], AbstractContextManager[Any]],
) -> Bottom | None:  # fmt: skip
    """What a stage's frozen blocks compute of its texts; None where they have to run in each step, or it is too large.

    They have to where their dropout is on, a head or penalty reads other layers than the last, or a layer norm may follow the
    last block, as in kinds of encoders other than BERT and XLM-R.
    """
    numbers = {phase.frozen_blocks for phase in stage.phases if ENCODER in phase.update}
    terms = [term for phase in stage.phases for term in phase.terms]
    known = str(model.encoder.config.model_type) in KNOWN  # type: ignore[union-attr]
    others = [term.penalty or term.layer is not None or recipe.heads[term.head].reads() is not None for term in terms]
    number = numbers.pop() if len(numbers) == 1 else None
    if number is None or not known or recipe.encoder_dropout_when_frozen or any(others) or recipe.units.state == "mean":
        return None
    read = {term.data: texts[term.data] for term in terms}
    if sum(len(each.pieces) for each in read.values()) * model.hidden_size * 4 > BYTES:
        return None
    model.eval()
    return Bottom(model.encoder, number, read, recipe.units.segments, autocast)
