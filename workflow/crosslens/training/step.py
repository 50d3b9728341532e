"""One update of a training run: the inputs of its terms, their gradients, and the optimiser's step."""

import logging
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import nn

from crosslens.config.heads import ALL, LanguageModelHead
from crosslens.config.recipes import Data, Phase, Recipe, Term
from crosslens.encoding.batches import collate, device_copy
from crosslens.encoding.texts import IGNORED, Texts
from crosslens.numerics.streams import stream
from crosslens.training import optimiser, parallel
from crosslens.training.batches import Inputs, MicroBatch, Place
from crosslens.training.head_inputs import HeadInputs
from crosslens.training.model import EncoderWithHeads
from crosslens.training.objectives import reverse_gradient, shared_dropout
from crosslens.training.state import Losses


class Step:
    """The update that a phase makes of a model, the same on a processor and on a GPU.

    masked: masks running text anew, with a seed. scaler: of float16's losses.
    """

    def __init__(
        self,
        model: EncoderWithHeads,
        recipe: Recipe,
        texts: Mapping[Data, Texts],
        head_inputs: HeadInputs,
        *,
        seed: int,
        masked: Callable[[Texts, int], Texts],
        scaler: torch.amp.GradScaler,
        device: torch.device,
        log: logging.Logger,
    ):
        self.model, self.recipe, self.texts, self.head_inputs, self.seed = model, recipe, texts, head_inputs, seed
        self.masked, self.scaler, self.device, self.log = masked, scaler, device, log
        self.largest = 10**9  # largest number of texts in a micro-batch, halved when memory runs out

    def update(self, phase: Phase, inputs: Inputs, adam: torch.optim.Optimizer, losses: Losses) -> None:
        """Make one update and add its losses.

        Raises FloatingPointError if a loss is not finite: where losses are read one by one, without the update.
        """
        losses.add(inputs, self.gradients(phase, inputs))
        self.scaler.unscale_(adam)
        if self.recipe.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        self.scaler.step(adam)
        self.scaler.update()

    def gradients(self, phase: Phase, inputs: Inputs) -> torch.Tensor:
        """Compute the gradients of the parameters that a phase updates, and return the terms' mean losses, (n_losses,) float64.

        Losses are in nats a labelled unit; that of a term with a penalty is followed by the mean distance from the anchor. If
        memory runs out, micro-batches are halved.
        """
        while True:
            if inputs.largest != self.largest:
                inputs = self.inputs(phase, inputs.place, inputs.chosen)
            try:
                optimiser.ready(self.model, self.recipe, phase)
                losses = [self._backward(*pair) for pair in zip(phase.terms, inputs.terms, strict=True)]
                return parallel.add_up(self.model, torch.cat(losses))
            except torch.OutOfMemoryError:
                size = min(self.largest, max(map(len, inputs.chosen)))
                if size == 1 or parallel.size() > 1:  # other processes would not take part in a second attempt
                    raise
                self.largest = size // 2
                torch.cuda.empty_cache()
                self.log.warning("out of memory: continuing with micro-batches of %d texts", self.largest)

    def inputs(self, phase: Phase, place: Place, chosen: Sequence[np.ndarray]) -> Inputs:
        """Return the inputs of an update. A thread may call it, since it changes nothing of the training run.

        chosen: numbers of the texts of each term.
        """
        largest = self.largest
        terms = [self._micro_batches(*pair, place, largest) for pair in zip(phase.terms, chosen, strict=True)]
        return Inputs(place, chosen, largest, terms)

    def _micro_batches(self, term: Term, chosen: np.ndarray, place: Place, largest: int) -> list[MicroBatch]:
        """Return the parts of a term's batch that this process computes: several if memory is short or the recipe says so."""
        texts, counts, bottom = self.texts[term.data], self.model.head(term.head).counts, self.head_inputs.bottom
        inputs = bottom.texts[term.data] if bottom else texts
        if isinstance(self.recipe.heads[term.head], LanguageModelHead):
            texts = inputs = self.masked(texts.take(chosen), stream(self.seed, "mask", *place))
            chosen = np.arange(len(chosen))
        words = max(int((texts.labels[counts][texts.word_rows(chosen)] != IGNORED).sum()), 1)
        micro_batches = []
        for number, part in enumerate(np.array_split(chosen, max(self.recipe.parts, -(-len(chosen) // largest)))):
            if number % parallel.size() == parallel.rank() and len(part):
                rows = texts.word_rows(part)
                labels = {kind: torch.from_numpy(values[rows]) for kind, values in texts.labels.items()}
                is_cached, segments = self.head_inputs.cached, self.recipe.units.segments
                micro_batches.append(
                    MicroBatch(
                        seed=stream(self.seed, "dropout", *place, number) if self.recipe.parts > 1 else None,
                        batch=None if is_cached else collate(inputs, part, self.model.padding, segments),
                        rows=rows,
                        labels=labels,
                        counted=(labels[counts] != IGNORED).nonzero()[:, 0],
                        sizes=torch.from_numpy(np.diff(texts.word_offsets)[part]),
                        words=words,
                        sentences=len(chosen),
                    )
                )
        return micro_batches

    def _backward(self, term: Term, micro_batches: Sequence[MicroBatch]) -> torch.Tensor:
        """Add a term's gradient and return its mean loss, and its penalty if it has one, (1,) or (2,) float64."""
        losses = torch.zeros(2 if term.penalty else 1, dtype=torch.float64, device=self.device)
        for micro_batch in micro_batches:
            if micro_batch.seed is not None:
                torch.manual_seed(micro_batch.seed)
            losses += self._backward_part(term, micro_batch)
        return losses

    def _backward_part(self, term: Term, micro_batch: MicroBatch) -> torch.Tensor:
        """Add the gradient of a micro-batch and return its share of the mean loss, and of the penalty if there is one."""
        states, distances = self.head_inputs.of_term(term, micro_batch)
        sizes, words = micro_batch.sizes, micro_batch.words
        if term.reversal is not None:
            states = reverse_gradient(states, term.reversal)
        labels = {kind: device_copy(values, self.device) for kind, values in micro_batch.labels.items()}
        layers = self.model.top + 1 if self.recipe.reads(term) == ALL else 1
        states = shared_dropout(states, sizes, self.recipe.input_dropout, layers)
        head = self.model.head(term.head)
        loss = head.term_loss(term, states, sizes, labels, words=words, sentences=micro_batch.sentences)
        total, losses = term.weight * loss, [loss.detach()]
        if term.penalty and distances is not None:
            penalty = distances[device_copy(micro_batch.counted, self.device)].sum() / words
            total, losses = total + term.penalty.weight * penalty, [*losses, penalty.detach()]
        torch.autograd.backward(self.scaler.scale(total))
        return torch.stack(losses).double()
