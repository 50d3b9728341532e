"""The training loop for all objectives, which are composed of stages, phases and terms (crosslens.recipes)."""

import logging
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from crosslens.config.heads import ALL, LanguageModelHead
from crosslens.encoders.load import default_device
from crosslens.encoding.batches import collate, device_copy
from crosslens.encoding.texts import IGNORED, Texts
from crosslens.numerics.streams import stream
from crosslens.numerics.subspace import Subspace
from crosslens.recipes import Data, Drift, Phase, Recipe, Stage, Term
from crosslens.runs import signals
from crosslens.runs.machine import processor_clock
from crosslens.runs.progress import Progress
from crosslens.training import bottom, card, checkpoint, cpu, edit, optimiser, parallel, watch
from crosslens.training.anchor import Anchor
from crosslens.training.batches import Inputs, MicroBatch, phase_batches, rehearsed
from crosslens.training.bottom import Bottom
from crosslens.training.checkpoint import Checkpoint, CheckpointFile, Position
from crosslens.training.features import Features
from crosslens.training.masking import HELD_OUT, masked
from crosslens.training.model import EncoderWithHeads, Layer, Trained
from crosslens.training.objectives import reverse_gradient, shared_dropout
from crosslens.training.predict import predict, predict_from, selection_score


class Loop:
    """One training of an encoder and heads.

    texts: the data of `recipe.data()`.
    encoder: the encoder with its initial weights.
    version: versions of what decides the results; a checkpoint of another version is not resumed.
    subspaces: by method and layer, those that the recipe's penalties and projections name.
    shared: cache of states, for trainings with the same fixed encoder and the same texts.
    mask: number of the mask piece, for a recipe that trains a language model.
    checkpoints: file of the checkpoint; None: no checkpoints. checkpoint_seconds: time between two checkpoints.
    after_step: called with the position after each update.
    """

    def __init__(
        self,
        recipe: Recipe,
        texts: Mapping[Data, Texts],
        encoder: nn.Module,
        *,
        seed: int,
        log: logging.Logger,
        version: Sequence[str] = (),
        subspaces: Mapping[tuple[str, int], Subspace] | None = None,
        shared: Features | None = None,
        mask: int | None = None,
        checkpoints: Path | None = None,
        checkpoint_seconds: float = 300.0,
        device: torch.device | None = None,
        after_step: Callable[[Position], None] | None = None,
    ):
        self.rehearse: int | None = getattr(encoder.config, "rehearse", None)
        self.recipe, self.texts, self.seed, self.log, self.version = recipe, texts, seed, log, list(version)
        self.sizes = {data: len(part) for data, part in texts.items()}
        self.checkpoints, self.checkpoint_seconds, self.after_step, self.mask = checkpoints, checkpoint_seconds, after_step, mask
        self.device = device or default_device()
        self.precision = cpu.resolve_precision(recipe.precision, self.device)
        self.autocast = partial(cpu.autocast, self.precision, self.device)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.precision == "float16" and self.device.type == "cuda")
        self.largest = 10**9  # largest number of texts in a micro-batch, halved when memory runs out
        edit.check_layers(recipe, encoder)
        edit.apply(encoder, recipe.edit, seed)
        cpu.prepare(encoder, self.device)
        self.subspaces = subspaces or {}
        options = recipe.model_dump(include={"dropout", "init_sd"})
        self.model = EncoderWithHeads(encoder, recipe.heads, recipe.units, self.subspaces, **options).to(self.device)
        self.texts = {data: self._masked(part, HELD_OUT) if data.masked else part for data, part in texts.items()}
        self.anchors = {penalty: Anchor(encoder, penalty, recipe.units, self.subspaces, seed) for penalty in recipe.anchored()}
        self.position = Position()
        self.optimiser = torch.optim.AdamW(self.model.parameters())  # each stage builds its own
        self.best: dict[str, torch.Tensor] = {}  # trained weights of the stage's best epoch
        self.cached = False  # whether hidden states are read from `features`
        self.features = Features() if shared is None else shared  # states under an encoder that no longer changes
        self.layers: list[Layer] = list(
            dict.fromkeys(head.reads() for head in recipe.heads.values())
        )  # layers whose states `features` caches
        self.bottom: Bottom | None = None  # output of the stage's frozen blocks
        on_gpu = self.device.type == "cuda"
        self.pipeline_depth = card.DEPTH if on_gpu else 0  # steps whose inputs a thread makes while one is computed
        self.losses_at_once = card.LOSSES_AT_ONCE if on_gpu else 1  # updates whose losses are read together
        self.losses: list[tuple[int, Sequence[np.ndarray], torch.Tensor]] = []  # step, its texts, its losses on the device
        # The times of a rehearsal are compared with those of `make cost`, whatever else a processor has to do.
        self.clock = processor_clock(torch.get_num_threads()) if self.rehearse and not on_gpu else time.monotonic
        self.steps = 1  # updates in the current pass over a phase's data
        self.inputs: Inputs | None = None  # of the current step

    def run(self) -> Trained:
        """Train all stages and return the model, its history and predictions; resume a checkpoint of the same settings and data.

        The checkpoint is not removed, because the result is not on disk yet. After a signal the training writes a checkpoint and
        stops, after a step or within an evaluation.
        """
        if self.device.type == "cuda":
            torch.set_float32_matmul_precision("high" if self.precision == "tf32" else "highest")
        resumed = checkpoint.load(self.checkpoint_file) if self.checkpoint_file else None
        resumed = None if parallel.agreed(resumed is None, self.device) else resumed  # all processes resume, or none
        for number in range(resumed.position.stage if resumed else 0, len(self.recipe.stages)):
            with signals.held():
                self.train_stage(number, resumed)
            resumed = None
        # Texts on which several heads are scored are encoded once.
        self.bottom, self.cached = None, self._fits([score.data for score in self.recipe.scores])
        predictions = [self.predict(score.data, score.head) for score in self.recipe.scores]
        changed = self.recipe.edit.changes() or self.recipe.trains_encoder()
        # On a GPU a batch may have been halved, or products rounded to TF32: the weights, loaded anew, would give other states.
        exact = self.cached and self.device.type == "cpu"
        states = {data: states for (data, layer), states in self.features.states.items() if exact and layer is None}
        return Trained(self.model, changed, self.position.history, predictions, states)

    def train_stage(self, number: int, resumed: Checkpoint | None = None) -> None:
        """Train a stage, or the rest of it after a checkpoint, and set the weights to those of its best (or last) pass."""
        stage = self.recipe.stages[number]
        self._begin(number, stage, resumed)
        at = self.position
        total, name = stage.updates(self.sizes), f"{self.recipe.name} seed {self.seed}, {stage.name}: steps"
        with Progress(total, name, self.log) as progress:
            progress.advance(at.updates)
            try:
                while at.epoch < stage.passes(self.sizes) and not optimiser.too_low(stage, at.history):
                    while at.phase < len(stage.phases):
                        self.train_phase(stage, progress)
                    score = self.score(stage)  # may be ended by a signal, so the position changes only afterwards
                    at.epoch, at.phase = at.epoch + 1, 0
                    self._end_epoch(stage, score)
            except signals.Stopped:
                self._save()
                raise
        self.model.load_state_dict(self.best, strict=False)
        self.model.eval()
        self.best = {}
        later = self.recipe.stages[number + 1 :]
        self._save(moments=bool(later and later[0].carries))

    def _begin(self, number: int, stage: Stage, resumed: Checkpoint | None) -> None:
        """Initialise heads and score the initial weights, which may remain the best; or restore a checkpoint."""
        self.cached = self.recipe.keeps_states(stage)
        self.cached &= self._fits([stage.select_data, *(term.data for phase in stage.phases for term in phase.terms)])
        if stage.trains_encoder():
            self.features.clear()
        self.model.initialise_heads(stage.new_heads, stream(self.seed, "heads", stage.name))
        self.optimiser = optimiser.build(self.model, self.recipe, stage, self.optimiser)
        if resumed:
            self.position, self.best = resumed.position, resumed.best
            self.model.load_state_dict(resumed.weights, strict=False)  # without the encoder if no stage trains it
            self.optimiser.load_state_dict(resumed.optimiser)
            if resumed.scaler:
                self.scaler.load_state_dict(resumed.scaler)
            resumed.set_random_state()
            self.log.info("resumed stage %s at epoch %d, phase %d, step %d",
                          stage.name, self.position.epoch, self.position.phase, self.position.step)  # fmt: skip
        else:
            self.position = Position(stage=number, watched=self.watched(stage), history=self.position.history)
            self._end_epoch(stage, self.score(stage))
            torch.manual_seed(stream(self.seed, "dropout", stage.name))
        if self.position.epoch < stage.passes(self.sizes):
            with self._released():
                self.bottom = bottom.below(self.model, self.recipe, stage, self.texts, self.autocast)

    def train_phase(self, stage: Stage, progress: Progress) -> None:
        """Train the current phase of `position` from its current step to the end of the pass over its data."""
        at, phase = self.position, stage.phases[self.position.phase]
        batches = phase_batches(self.recipe, stage, at.phase, at.epoch, self.texts, self.seed)
        if self.rehearse:
            lengths = [self.texts[term.data].lengths for term in phase.terms]
            batches = [rehearsed(*pair, self.rehearse) for pair in zip(batches, lengths, strict=True)]
        self.steps = len(batches[0])
        if self.cached:
            for term in phase.terms:
                self._features(term.data, self.recipe.reads(term))
        began = self.clock()
        remaining = list(zip(*batches, strict=True))[at.step :]
        steps = enumerate(remaining, at.step)
        for inputs in card.pipeline(lambda step: self._inputs(phase, *step), steps, self.pipeline_depth):
            self.inputs, chosen = inputs, inputs.chosen
            optimiser.set_rates(self.optimiser, self.recipe, at.updates, progress.total, optimiser.share(stage, at.history))
            self.step(phase, chosen)
            if self.rehearse and not at.step:  # the longest texts: not a batch of the study, whose updates are to be timed
                self._read_losses()
                began = self.clock()
            else:
                pairs = zip(phase.terms, chosen, strict=True)
                at.pieces += sum(int(self.texts[term.data].lengths[texts].sum()) for term, texts in pairs)
            at.step, at.updates = at.step + 1, at.updates + 1
            at.seconds, began = at.seconds + self.clock() - began, self.clock()
            progress.advance(1)
            self._save_if_due()
            if self.after_step:
                self.after_step(at)
        self._read_losses()
        at.seconds += self.clock() - began
        if parallel.size() > 1:  # else an interrupted evaluation would lose these steps; see `_released`
            self._save()
        last = at.phase == len(stage.phases) - 1
        at.watched |= self.watched(stage, "" if last else f", after phase {at.phase + 1}")
        at.phase, at.step = at.phase + 1, 0

    def step(self, phase: Phase, chosen: Sequence[np.ndarray]) -> None:
        """Make one update; its losses are added to those of the epoch when they are read.

        chosen: numbers of the texts of each term. Raises FloatingPointError if a loss is not finite: on a CPU without the update,
        on a GPU at most `losses_at_once` updates later, and before weights are kept or written.
        """
        self.losses.append((self.position.step, chosen, self.gradients(phase, chosen)))
        if len(self.losses) >= self.losses_at_once:
            self._read_losses()
        self.scaler.unscale_(self.optimiser)
        if self.recipe.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        self.scaler.step(self.optimiser)
        self.scaler.update()

    def _read_losses(self) -> None:
        """Add the losses of updates that are not read yet to those of the epoch, which waits for the device.

        Raises FloatingPointError for the first that is not finite.
        """
        if not self.losses:
            return
        at, stage = self.position, self.recipe.stages[self.position.stage]
        terms = stage.phases[at.phase].terms
        owners = [place for place, term in enumerate(terms) for _ in range(2 if term.penalty else 1)]
        rows = torch.stack([losses for *_, losses in self.losses]).tolist()
        for (step, chosen, _), row in zip(self.losses, rows, strict=True):
            for column, place, loss in zip(stage.loss_columns(at.phase), owners, row, strict=True):
                if not np.isfinite(loss):
                    term = terms[place]
                    ids = ", ".join(self.texts[term.data].ids[text] for text in chosen[place][:5])
                    raise FloatingPointError(
                        f"{self.recipe.name} seed {self.seed}: loss of {term.head} is {loss} in stage {stage.name}, "
                        f"epoch {at.epoch}, step {step} (texts {ids}, ...): lower the learning rate"
                    )
                at.losses[column] = at.losses.get(column, 0.0) + loss / self.steps
        self.losses.clear()

    def gradients(self, phase: Phase, chosen: Sequence[np.ndarray]) -> torch.Tensor:
        """Compute the gradients of the parameters that a phase updates, and return the terms' mean losses, (n_losses,) float64.

        chosen: numbers of the texts of each term. Losses are in nats a labelled unit; that of a term with a penalty is followed
        by the mean distance from the anchor. If memory runs out, micro-batches are halved.
        """
        inputs = self.inputs
        while True:
            if inputs is None or inputs.chosen is not chosen or inputs.largest != self.largest:
                inputs = self._inputs(phase, self.position.step, chosen)
            try:
                optimiser.ready(self.model, self.recipe, phase)
                losses = [self._backward(*pair) for pair in zip(phase.terms, inputs.terms, strict=True)]
                return parallel.add_up(self.model, torch.cat(losses))
            except torch.OutOfMemoryError:
                size = min(self.largest, max(map(len, chosen)))
                if size == 1 or parallel.size() > 1:  # other processes would not take part in a second attempt
                    raise
                self.largest = size // 2
                torch.cuda.empty_cache()
                self.log.warning("out of memory: continuing with micro-batches of %d texts", self.largest)

    def _inputs(self, phase: Phase, step: int, chosen: Sequence[np.ndarray]) -> Inputs:
        """Return the inputs of a step of the current pass. A thread may call it, since it changes nothing of the training."""
        largest = self.largest
        terms = [self._micro_batches(*pair, step, largest) for pair in zip(phase.terms, chosen, strict=True)]
        return Inputs(chosen, largest, terms)

    def _micro_batches(self, term: Term, chosen: np.ndarray, step: int, largest: int) -> list[MicroBatch]:
        """Return the parts of a term's batch that this process computes: several if memory is short or the recipe says so."""
        texts, counts, at = self.texts[term.data], self.model.head(term.head).counts, self.position
        place = (self.recipe.stages[at.stage].name, at.epoch, at.phase, step)
        inputs = self.bottom.texts[term.data] if self.bottom else texts
        if isinstance(self.recipe.heads[term.head], LanguageModelHead):
            texts = inputs = self._masked(texts.take(chosen), stream(self.seed, "mask", *place))
            chosen = np.arange(len(chosen))
        words = max(int((texts.labels[counts][texts.word_rows(chosen)] != IGNORED).sum()), 1)
        micro_batches = []
        for number, part in enumerate(np.array_split(chosen, max(self.recipe.parts, -(-len(chosen) // largest)))):
            if number % parallel.size() == parallel.rank() and len(part):
                rows = texts.word_rows(part)
                labels = {kind: torch.from_numpy(values[rows]) for kind, values in texts.labels.items()}
                micro_batches.append(
                    MicroBatch(
                        seed=stream(self.seed, "dropout", *place, number) if self.recipe.parts > 1 else None,
                        batch=None if self.cached else collate(inputs, part, self.model.padding, self.recipe.units.segments),
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

    def _masked(self, texts: Texts, seed: int) -> Texts:
        assert self.mask is not None
        return masked(texts, seed, self.recipe.masking, self.mask, self.model.vocabulary)

    def _backward_part(self, term: Term, micro_batch: MicroBatch) -> torch.Tensor:
        """Add the gradient of a micro-batch and return its share of the mean loss, and of the penalty if there is one."""
        states, distances = self._states(term, micro_batch)
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

    def _states(self, term: Term, micro_batch: MicroBatch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the states that a term's head reads, (n_words, d) float32, and distances (n_words,) if it has a penalty."""
        layer, batch = self.recipe.reads(term), micro_batch.batch
        if batch is None:
            return device_copy(self._features(term.data, layer)[torch.from_numpy(micro_batch.rows)], self.device), None
        with self.autocast(), self.bottom.in_place(term.data) if self.bottom else nullcontext():
            if not term.penalty:
                return self.model.hidden_states(batch, [layer])[0].float(), None
            anchor = self.anchors[term.penalty]
            moved = self.model.states(batch, [*anchor.layers, *([layer] if isinstance(layer, int) else [])])
            features = list(moved.values())[-1] if layer is None else moved[f"layer_{layer}"]
            return features.float(), anchor(moved, batch)

    def _fits(self, data: Iterable[Data]) -> bool:
        return self.features.room(self.model, {part: self.texts[part] for part in data}, self.layers)

    def _features(self, data: Data, layer: Layer) -> torch.Tensor:
        """Return the states of all labelled words, which are computed once while the encoder does not change."""
        with self._released():
            return self.features.of(self.model, data, self.texts[data], layer, self.layers)

    def predict(self, data: Data, head: str) -> dict[str, np.ndarray]:
        """Return a head's predictions for all labelled words, kind of label -> (n_words,)."""
        with self._released():
            if not self.cached:
                return predict(self.model, self.texts[data], head)
            states = self._features(data, self.recipe.heads[head].reads())
            return predict_from(states, self.texts[data], self.model.head(head).eval())

    def _released(self) -> AbstractContextManager[None]:
        """Return a context that a signal may interrupt; not with several processes, which must stop together, after a step."""
        return signals.released() if parallel.size() == 1 else nullcontext()

    def score(self, stage: Stage) -> float:
        """Return the score that selects a stage's best epoch, a fraction."""
        head = self.recipe.heads[stage.select_head]
        texts, predicted = self.texts[stage.select_data], self.predict(stage.select_data, stage.select_head)
        return selection_score(texts, predicted, head.learns, head.labels, self.recipe.select_by, self.recipe.units.unit)

    def watched(self, stage: Stage, when: str = "") -> dict[str, float]:
        """Return the accuracies and distances that a stage monitors on held-out texts, by column of the history.

        when: suffix of the columns' names.
        """
        columns: dict[str, float] = {}
        for item in stage.watch:
            texts, head = self.texts[item.data], self.model.head(item.head)
            if isinstance(item, Drift):
                with self._released():
                    columns |= watch.distances(self.model, self.anchors[item.penalty], texts, texts.labels[head.counts], when)
            else:
                columns |= watch.accuracy(item.head, texts, self.predict(item.data, item.head), head.learns, when)
        return columns

    def _end_epoch(self, stage: Stage, score: float) -> None:
        """Keep the weights if they are the best so far and add the epoch to the history."""
        at = self.position
        if (
            stage.keep == "last" or score > at.best_score
        ):  # strictly greater: the first of equal scores wins, as in tanti2021's code
            at.best_score, at.best_epoch = score, at.epoch
            weights = self.model.weights(with_encoder=stage.trains_encoder())
            self.best = {name: value.clone() for name, value in weights.items()}
        row: dict[str, Any] = {"stage": stage.name, "epoch": at.epoch, "score": score, **at.losses, **at.watched}
        row |= {"best_epoch": at.best_epoch, "seconds": round(at.seconds, 3)}
        row |= {"pieces_a_second": round(at.pieces / at.seconds) if at.seconds else 0}
        at.history.append(row)
        at.losses, at.watched, at.pieces, at.seconds = {}, {}, 0, 0.0
        fields = (f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items())
        self.log.info("%s", ", ".join(fields))

    def _save_if_due(self) -> None:
        """Write a checkpoint if one is due. Raises Stopped, whose handler writes one, after a signal to any of the processes."""
        if parallel.agreed(signals.asked() is not None, self.device):
            raise signals.Stopped(signals.asked() or signal.SIGTERM)
        if self.checkpoint_file and self.checkpoint_file.due:
            self._save()

    def _save(self, *, moments: bool = True) -> None:
        self._read_losses()
        if self.checkpoint_file and parallel.rank() == 0:
            weights = self.model.weights(with_encoder=self.recipe.trains_encoder())
            state = self.optimiser.state_dict() | ({} if moments else {"state": {}})
            checkpoint.save(self.checkpoint_file, self.position, weights, self.best, state, self.scaler.state_dict())

    @cached_property
    def checkpoint_file(self) -> CheckpointFile | None:
        """Its checkpoint, where one is asked for."""
        return CheckpointFile(self.checkpoints, self.key, self.log, self.checkpoint_seconds) if self.checkpoints else None

    @cached_property
    def key(self) -> str:
        """Return the digest that identifies checkpoints of this training; must be computed before the first step."""
        settings = [self.recipe.settings(), self.precision, self.seed, self.version, *filter(None, [self.rehearse])]
        arrays = [array for subspace in self.subspaces.values() for array in (subspace.basis, subspace.eigenvalues)]
        tensors = {f"subspace {i}": torch.from_numpy(array) for i, array in enumerate(arrays)}
        return checkpoint.digest(settings, self.texts.values(), self.model.encoder.state_dict() | tensors)
