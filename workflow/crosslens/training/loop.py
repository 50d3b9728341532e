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
from crosslens.encoding.batches import collate
from crosslens.encoding.texts import IGNORED, Texts
from crosslens.numerics.streams import stream
from crosslens.numerics.subspace import Subspace
from crosslens.recipes import Data, Drift, Phase, Recipe, Stage, Term
from crosslens.runs import signals
from crosslens.runs.progress import Progress
from crosslens.training import bottom, checkpoint, cpu, edit, optimiser, parallel, watch
from crosslens.training.anchor import Anchor
from crosslens.training.batches import phase_batches
from crosslens.training.bottom import Bottom
from crosslens.training.checkpoint import Checkpoint, CheckpointFile, Position
from crosslens.training.features import Drawn, Features
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
        if self.device.type == "cpu":
            cpu.prepare(encoder)
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
        self.drawn: dict[tuple[Data, Layer], Drawn] = {}  # states of the texts of a pass that leaves an encoder as it is

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
        states = {data: states for (data, layer), states in self.features.states.items() if self.cached and layer is None}
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
        keeps_states = self.recipe.keeps_states(stage)
        terms = [term.data for phase in stage.phases for term in phase.terms] if keeps_states else []
        self.cached = self._fits([stage.select_data, *(item.data for item in stage.watch), *terms])
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
        self.cached &= keeps_states
        if stage.trains_encoder():
            self.features.clear()
        if self.position.epoch < stage.passes(self.sizes):
            with self._released():
                self.bottom = bottom.below(self.model, self.recipe, stage, self.texts, self.autocast)

    def train_phase(self, stage: Stage, progress: Progress) -> None:
        """Train the current phase of `position` from its current step to the end of the pass over its data."""
        at, phase = self.position, stage.phases[self.position.phase]
        columns = stage.loss_columns(at.phase)
        batches = phase_batches(self.recipe, stage, at.phase, at.epoch, self.texts, self.seed)
        steps = len(batches[0])
        if self.cached:
            for term in phase.terms:
                self._features(term.data, self.recipe.reads(term))
        elif self.recipe.fixes_encoder(phase):
            self._draw(phase, batches)
        began = time.monotonic()
        for chosen in list(zip(*batches, strict=True))[at.step :]:
            optimiser.set_rates(self.optimiser, self.recipe, at.updates, progress.total, optimiser.share(stage, at.history))
            losses = self.step(phase, chosen)
            for column, loss in zip(columns, losses, strict=True):
                at.losses[column] = at.losses.get(column, 0.0) + loss / steps
            pairs = zip(phase.terms, chosen, strict=True)
            at.pieces += sum(int(self.texts[term.data].lengths[texts].sum()) for term, texts in pairs)
            at.step, at.updates = at.step + 1, at.updates + 1
            at.seconds, began = at.seconds + time.monotonic() - began, time.monotonic()
            progress.advance(1)
            self._save_if_due()
            if self.after_step:
                self.after_step(at)
        self.drawn.clear()
        if parallel.size() > 1:  # else an interrupted evaluation would lose these steps; see `_released`
            self._save()
        last = at.phase == len(stage.phases) - 1
        at.watched |= self.watched(stage, "" if last else f", after phase {at.phase + 1}")
        at.phase, at.step = at.phase + 1, 0

    def step(self, phase: Phase, chosen: Sequence[np.ndarray]) -> list[float]:
        """Make one update and return the terms' mean losses, in nats a labelled unit, and penalties.

        chosen: numbers of the texts of each term. Raises FloatingPointError, without an update, if a loss is not finite.
        """
        losses = self.gradients(phase, chosen)
        owners = [pair for pair in zip(phase.terms, chosen, strict=True) for _ in range(2 if pair[0].penalty else 1)]
        for (term, texts), loss in zip(owners, losses, strict=True):
            if not np.isfinite(loss):
                ids = ", ".join(self.texts[term.data].ids[text] for text in texts[:5])
                stage, at = self.recipe.stages[self.position.stage], self.position
                raise FloatingPointError(
                    f"{self.recipe.name} seed {self.seed}: loss of {term.head} is {loss} in stage {stage.name}, "
                    f"epoch {at.epoch}, step {at.step} (texts {ids}, ...): lower the learning rate"
                )
        self.scaler.unscale_(self.optimiser)
        if self.recipe.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return losses

    def gradients(self, phase: Phase, chosen: Sequence[np.ndarray]) -> list[float]:
        """Compute the gradients of the parameters that a phase updates, and return the terms' mean losses.

        chosen: numbers of the texts of each term. The loss of a term with a penalty is followed by the mean distance from the
        anchor. If memory runs out, micro-batches are halved.
        """
        while True:
            try:
                optimiser.ready(self.model, self.recipe, phase)
                losses = [loss for pair in zip(phase.terms, chosen, strict=True) for loss in self._backward(*pair)]
                return parallel.add_up(self.model, losses)
            except torch.OutOfMemoryError:
                size = min(self.largest, max(map(len, chosen)))
                if size == 1 or parallel.size() > 1:  # other processes would not take part in a second attempt
                    raise
                self.largest = size // 2
                torch.cuda.empty_cache()
                self.log.warning("out of memory: continuing with micro-batches of %d texts", self.largest)

    def _backward(self, term: Term, chosen: np.ndarray) -> list[float]:
        """Add a term's gradient, in micro-batches if memory is short; return its mean loss, and its penalty if it has one."""
        texts, head, at = self.texts[term.data], self.model.head(term.head), self.position
        place = (self.recipe.stages[at.stage].name, at.epoch, at.phase, at.step)
        if isinstance(self.recipe.heads[term.head], LanguageModelHead):
            texts, chosen = self._masked(texts.take(chosen), stream(self.seed, "mask", *place)), np.arange(len(chosen))
        words = max(int((texts.labels[head.counts][texts.word_rows(chosen)] != IGNORED).sum()), 1)
        losses = []
        for number, part in enumerate(np.array_split(chosen, max(self.recipe.parts, -(-len(chosen) // self.largest)))):
            if number % parallel.size() == parallel.rank() and len(part):
                if self.recipe.parts > 1:
                    torch.manual_seed(stream(self.seed, "dropout", *place, number))
                losses.append(self._backward_part(term, texts, part, words, len(chosen)))
        return [sum(parts) for parts in zip(*losses, strict=True)] or [0.0] * (2 if term.penalty else 1)

    def _masked(self, texts: Texts, seed: int) -> Texts:
        assert self.mask is not None
        return masked(texts, seed, self.recipe.masking, self.mask, self.model.vocabulary)

    def _backward_part(self, term: Term, texts: Texts, chosen: np.ndarray, words: int, sentences: int) -> list[float]:
        """Add the gradient of a micro-batch and return its share of the mean loss, and of the penalty if there is one.

        words, sentences: numbers of words that count and of sentences in the whole batch.
        """
        head = self.model.head(term.head)
        states, distances = self._states(term, texts, chosen)
        if term.reversal is not None:
            states = reverse_gradient(states, term.reversal)
        rows = texts.word_rows(chosen)
        labels = {kind: torch.from_numpy(values[rows]).to(self.device) for kind, values in texts.labels.items()}
        sizes = torch.from_numpy(np.diff(texts.word_offsets)[chosen])
        layers = self.model.top + 1 if self.recipe.reads(term) == ALL else 1
        states = shared_dropout(states, sizes, self.recipe.input_dropout, layers)
        loss = head.term_loss(term, states, sizes, labels, words=words, sentences=sentences)
        total, losses = term.weight * loss, [float(loss.detach())]
        if term.penalty and distances is not None:
            penalty = distances[labels[head.counts] != IGNORED].sum() / words
            total, losses = total + term.penalty.weight * penalty, [*losses, float(penalty.detach())]
        torch.autograd.backward(self.scaler.scale(total))
        return losses

    def _states(self, term: Term, texts: Texts, chosen: np.ndarray) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the states that a term's head reads, (n_words, d) float32, and distances (n_words,) if it has a penalty."""
        layer = self.recipe.reads(term)
        if self.cached:
            return self._features(term.data, layer)[torch.from_numpy(texts.word_rows(chosen))].to(self.device), None
        if sample := self.drawn.get((term.data, layer)):
            return sample.of(chosen).to(self.device), None
        with self.autocast(), self.bottom.in_place(term.data) if self.bottom else nullcontext(texts) as inputs:
            batch = collate(inputs, chosen, self.model.padding, self.recipe.units.segments)
            if not term.penalty:
                return self.model.hidden_states(batch, [layer])[0].float(), None
            anchor = self.anchors[term.penalty]
            moved = self.model.states(batch, [*anchor.layers, *([layer] if isinstance(layer, int) else [])])
            features = list(moved.values())[-1] if layer is None else moved[f"layer_{layer}"]
            return features.float(), anchor(moved, batch)

    def _fits(self, data: Iterable[Data]) -> bool:
        return self.features.room(self.model, {part: self.texts[part] for part in data}, self.layers)

    def _draw(self, phase: Phase, batches: Sequence[Sequence[np.ndarray]]) -> None:
        """Encode the texts of a pass once, where their states do not change in it, are not masked anew and have room."""
        numbers_by_states: dict[tuple[Data, Layer], list[np.ndarray]] = {}
        for term, chosen in zip(phase.terms, batches, strict=True):
            if not isinstance(self.recipe.heads[term.head], LanguageModelHead):
                numbers_by_states.setdefault((term.data, self.recipe.reads(term)), []).extend(chosen)
        for (data, layer), chosen in numbers_by_states.items():
            numbers = np.unique(np.concatenate(chosen))
            texts = self.texts[data].take(numbers)
            if self.features.room(self.model, {data: texts}, [layer]):
                with self._released():
                    self.drawn[data, layer] = Drawn(self.model, numbers, texts, layer)

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
        settings = [self.recipe.settings(), self.precision, self.seed, self.version]
        arrays = [array for subspace in self.subspaces.values() for array in (subspace.basis, subspace.eigenvalues)]
        tensors = {f"subspace {i}": torch.from_numpy(array) for i, array in enumerate(arrays)}
        return checkpoint.digest(settings, self.texts.values(), self.model.encoder.state_dict() | tensors)
