"""One update of a training run: the inputs of its terms, their gradients, and the optimiser's step."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import torch
from torch import nn

from crosslens.config.heads import ALL, LanguageModelHead
from crosslens.config.recipes import Data, Phase, Recipe, Term
from crosslens.encoding.batches import Batch, Padding, collate
from crosslens.encoding.texts import IGNORED, Texts
from crosslens.numerics.streams import stream
from crosslens.training import cpu, gpu, optimiser, parallel
from crosslens.training.batches import MicroBatch, Place, phase_batches
from crosslens.training.cpu import Concatenated
from crosslens.training.head_inputs import HeadInputs
from crosslens.training.model import EncoderWithHeads
from crosslens.training.objectives import reverse_gradient, shared_dropout
from crosslens.training.state import Losses


class Step:
    """Updates of a model by the phases of a training run, on a CPU or a GPU.

    masked: function that masks running text at random, given a seed. scaler: loss scaler for float16.
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
        self.path = gpu.Eager(device)  # how a stage's updates are computed
        self.prepared: int | None = None  # number of the phase for which the model is ready

    def update(
        self, phase: Phase, place: Place, chosen: Sequence[np.ndarray], adam: torch.optim.Optimizer, losses: Losses
    ) -> None:  # fmt: skip
        """Make one update and add its losses to `losses`. chosen: numbers of the texts of each term.

        Raises FloatingPointError if a loss is not finite; if losses are read after each update, the update is then not made.
        """
        losses.add(place, chosen, self.gradients(phase, place, chosen))
        self.path.update(place.phase, partial(self._apply, adam))

    def _apply(self, adam: torch.optim.Optimizer) -> None:
        """Clip the gradients and take the optimiser's step."""
        self.scaler.unscale_(adam)
        if self.recipe.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        self.scaler.step(adam)
        self.scaler.update()
        if self.path.gradients:
            adam.zero_grad(set_to_none=False)

    def gradients(self, phase: Phase, place: Place, chosen: Sequence[np.ndarray]) -> torch.Tensor:
        """Compute the gradients of the parameters that a phase updates, and return the terms' mean losses, (n_losses,) float64.

        Losses are in nats per labelled unit. The loss of a term with a penalty is followed by the mean distance from the
        anchor. If memory runs out, micro-batches are halved.
        """
        while True:
            try:
                self._prepare(phase, place.phase)
                losses = [self._backward(number, term, chosen[number], place) for number, term in enumerate(phase.terms)]
                summed = parallel.add_up(self.model, torch.cat(losses))
                self.path.keep(place.phase, self.model)
                return summed
            except torch.OutOfMemoryError:
                size = min(self.largest, max(map(len, chosen)))
                if size == 1 or parallel.size() > 1:  # other processes would not take part in a second attempt
                    raise
                self.largest = size // 2
                self.path.clear()
                torch.cuda.empty_cache()
                self.log.warning("out of memory: continuing with micro-batches of %d texts", self.largest)

    def _prepare(self, phase: Phase, number: int) -> None:
        """Prepare the model for a phase; captured updates need this once only, since they set their gradients to 0."""
        gradients = self.path.gradients.get(number, {})
        if not gradients or number != self.prepared or not self.model.training:
            optimiser.ready(self.model, self.recipe, phase, gradients)
            self.prepared = number

    def _parts(self, chosen: np.ndarray) -> list[np.ndarray]:
        """Return the numbers of the texts in each micro-batch: several parts if memory is short or the recipe says so."""
        return np.array_split(chosen, max(self.recipe.parts, -(-len(chosen) // self.largest)))

    def _shapes(self, number: int, term: Term, place: Place) -> list[gpu.Shape]:
        """Return the shapes to which a term's micro-batches are padded, chosen from the phase's first pass.

        number: number of the term in the phase.
        """
        stage = next(stage for stage in self.recipe.stages if stage.name == place.stage)
        batches = phase_batches(self.recipe, stage, place.phase, 0, self.texts, self.seed)[number][: gpu.BATCHES]
        texts, share = self.texts[term.data], 0.0
        if isinstance(self.recipe.heads[term.head], LanguageModelHead):
            share = self.recipe.masking.share
        parts = [part for chosen in batches for part in self._parts(chosen) if len(part)]
        sizes = [gpu.size_of_texts(texts, part, share, self.head_inputs.cached) for part in parts]
        shapes = gpu.shapes(sizes)
        subwords, filled = sum(size.subwords for size in sizes), sum(gpu.fitting(shapes, size).subwords for size in sizes)
        padding = 100 * (1 - subwords / max(filled, 1))
        self.log.info("%s, term %d: %d shapes of micro-batches, %.1f %% padding", place.stage, number, len(shapes), padding)
        return shapes

    def micro_batches(self, term: Term, chosen: np.ndarray, place: Place) -> list[MicroBatch]:
        """Return the parts of a term's batch that this process computes, on the CPU."""
        texts, counts, bottom = self.texts[term.data], self.model.head(term.head).counts, self.head_inputs.bottom
        inputs = bottom.texts[term.data] if bottom else texts
        if isinstance(self.recipe.heads[term.head], LanguageModelHead):
            texts = inputs = self.masked(texts.take(chosen), stream(self.seed, "mask", *place))
            chosen = np.arange(len(chosen))
        words = max(int((texts.labels[counts][texts.word_rows(chosen)] != IGNORED).sum()), 1)
        micro_batches = []
        for number, part in enumerate(self._parts(chosen)):
            if number % parallel.size() == parallel.rank() and len(part):
                rows = texts.word_rows(part)
                labels = {kind: torch.from_numpy(values[rows]) for kind, values in texts.labels.items()}
                micro_batches.append(
                    MicroBatch(
                        seed=stream(self.seed, "dropout", *place, number) if self.recipe.parts > 1 else None,
                        batch=None if self.head_inputs.cached else self._collate(inputs, part),
                        states=self.head_inputs.cached_states(term, rows) if self.head_inputs.cached else None,
                        labels=labels,
                        counted=(labels[counts] != IGNORED).nonzero()[:, 0],
                        padding=Padding.of(torch.from_numpy(texts.word_offsets[part + 1] - texts.word_offsets[part])),
                        words=words,
                        sentences=len(chosen),
                    )
                )
        return micro_batches

    def _collate(self, texts: Texts, chosen: np.ndarray) -> Batch | Concatenated:
        """Return a batch of texts, padded in attention to the longest of all on a GPU, or of a small group on a CPU."""
        batch, whole = collate(texts, chosen, self.model.padding, self.recipe.units.segments), self.path.whole
        if not cpu.concatenates(self.model.encoder, batch, self.recipe.units.state, whole=whole):
            return batch
        return cpu.concatenated(self.model.encoder, batch, len(chosen) if whole else cpu.GROUP)

    def _backward(self, number: int, term: Term, chosen: np.ndarray, place: Place) -> torch.Tensor:
        """Add a term's gradient and return its mean loss, and its penalty if it has one, (1,) or (2,) float64.

        number: number of the term in the phase.
        """
        losses = torch.zeros(2 if term.penalty else 1, dtype=torch.float64, device=self.device)
        for micro_batch in self.micro_batches(term, chosen, place):
            if micro_batch.seed is not None:
                torch.manual_seed(micro_batch.seed)
            shapes, work = partial(self._shapes, number, term, place), partial(self._backward_part, term)
            losses += self.path.backward((place.phase, number), micro_batch, shapes, work)
        return losses

    def _backward_part(self, term: Term, micro_batch: MicroBatch) -> torch.Tensor:
        """Add a micro-batch's gradient and return its share of the mean loss, and of the penalty if any, (1,) or (2,) float64.

        A GPU captures this as one graph: no size, and no number that Python reads, may depend on the values of a tensor.
        """
        states, distances = self.head_inputs.of_term(term, micro_batch)
        padding, words = micro_batch.padding, micro_batch.words
        if term.reversal is not None:
            states = reverse_gradient(states, term.reversal)
        layers = self.model.top + 1 if self.recipe.reads(term) == ALL else 1
        states = shared_dropout(states, padding, self.recipe.input_dropout, layers)
        head = self.model.head(term.head)
        loss = head.term_loss(term, states, padding, micro_batch.labels, words=words, sentences=micro_batch.sentences)
        total, losses = term.weight * loss, [loss.detach()]
        if term.penalty and distances is not None:
            penalty = nn.functional.pad(distances, (0, 1))[micro_batch.counted].sum() / words
            total, losses = total + term.penalty.weight * penalty, [*losses, penalty.detach()]
        torch.autograd.backward(self.scaler.scale(total))
        return torch.stack(losses).double()
