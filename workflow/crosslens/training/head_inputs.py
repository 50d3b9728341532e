"""Hidden states that heads read: computed in each step, from the output of frozen layers, or once for all steps."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

from crosslens.config.recipes import Data, Penalty, Recipe, Stage, Term
from crosslens.encoding.texts import Texts
from crosslens.training import bottom
from crosslens.training.anchor import Anchor
from crosslens.training.batches import MicroBatch
from crosslens.training.bottom import Bottom
from crosslens.training.features import Features
from crosslens.training.model import EncoderWithHeads, Layer
from crosslens.training.parallel import interruptible
from crosslens.training.predict import predict, predict_from


class HeadInputs:
    """Hidden states that the heads of a training run read from its texts.

    anchors: anchor of each penalty of the recipe. features: cache of states under an encoder that does not change. autocast:
    context that sets the precision of the encoder's passes.
    """

    def __init__(
        self,
        model: EncoderWithHeads,
        recipe: Recipe,
        texts: Mapping[Data, Texts],
        anchors: Mapping[Penalty, Anchor],
        features: Features,
        autocast: Callable[[], AbstractContextManager[Any]],
    ):
        self.model, self.recipe, self.texts, self.anchors, self.features = model, recipe, texts, anchors, features
        self.autocast = autocast
        self.layers: list[Layer] = list(dict.fromkeys(head.reads() for head in recipe.heads.values()))  # that are cached
        self.cached = False  # whether states are read from `features`
        self.bottom: Bottom | None = None  # output of the stage's frozen layers

    def begin(self, stage: Stage) -> None:
        """Choose where the states of a stage come from; clear the cache if the encoder is about to change."""
        data = [stage.select_data, *(term.data for phase in stage.phases for term in phase.terms)]
        self.cached = self.recipe.keeps_states(stage) and self._fit(data)
        if stage.trains_encoder():
            self.features.clear()

    def pass_frozen_layers(self, stage: Stage) -> None:
        """Compute the output of a stage's frozen layers if it can be kept for all steps."""
        with interruptible():
            self.bottom = bottom.below(self.model, self.recipe, stage, self.texts, self.autocast)

    def end(self, data: Iterable[Data]) -> None:
        """Prepare for scores on `data` under the final weights: cache states if they fit, as several heads may read them."""
        self.bottom, self.cached = None, self._fit(data)

    def of_data(self, data: Data, layer: Layer) -> torch.Tensor:
        """Return the cached states of all labelled words of data, (n_words, width) float32 on the CPU."""
        with interruptible():
            return self.features.of(self.model, data, self.texts[data], layer, self.layers)

    def cached_states(self, term: Term, rows: np.ndarray) -> torch.Tensor:
        """Return the cached states that a term's head reads, (n_words, width) float32 on the CPU. rows: labelled words."""
        return self.of_data(term.data, self.recipe.reads(term))[torch.from_numpy(rows)]

    def of_term(self, term: Term, micro_batch: MicroBatch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the states that a term's head reads, (n_words, d) float32, and their distances from the anchor, (n_words,).

        The distances are None if the term has no penalty.
        """
        layer, batch = self.recipe.reads(term), micro_batch.batch
        if micro_batch.states is not None:
            return micro_batch.states, None
        assert batch is not None
        with self.autocast(), self.bottom.in_place(term.data) if self.bottom else nullcontext():
            if not term.penalty:
                return self.model.hidden_states(batch, [layer])[0].float(), None
            anchor = self.anchors[term.penalty]
            moved = self.model.states(batch, [*anchor.layers, *([layer] if isinstance(layer, int) else [])])
            features = list(moved.values())[-1] if layer is None else moved[f"layer_{layer}"]
            return features.float(), anchor(moved, batch)

    def predict(self, data: Data, head: str) -> dict[str, np.ndarray]:
        """Return a head's predictions for all labelled words, kind of label -> (n_words,)."""
        with interruptible():
            if not self.cached:
                return predict(self.model, self.texts[data], head)
            states = self.of_data(data, self.recipe.heads[head].reads())
            return predict_from(states, self.texts[data], self.model.eval().head(head))

    def _fit(self, data: Iterable[Data]) -> bool:
        return self.features.room(self.model, {part: self.texts[part] for part in data}, self.layers)
