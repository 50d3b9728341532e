"""The training loop for all objectives, which are composed of stages, phases and terms (crosslens.config.recipes)."""

import logging
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from crosslens.config.recipes import Data, Drift, Recipe, Stage
from crosslens.encoding.encoders.load import default_device
from crosslens.encoding.texts import Texts
from crosslens.jobs import signals
from crosslens.jobs.machine import processor_clock
from crosslens.jobs.progress import Progress
from crosslens.numerics.streams import stream
from crosslens.numerics.subspace import Subspace
from crosslens.training import checkpoint, cpu, edit, gpu, optimiser, parallel, watch
from crosslens.training.anchor import Anchor
from crosslens.training.batches import Place, phase_batches, rehearsed
from crosslens.training.checkpoint import Checkpoint, CheckpointFile
from crosslens.training.features import Features
from crosslens.training.head_inputs import HeadInputs
from crosslens.training.masking import HELD_OUT, masked
from crosslens.training.model import EncoderWithHeads, Trained
from crosslens.training.predict import selection_score
from crosslens.training.state import Losses, Position
from crosslens.training.step import Step


class Loop:
    """One training run of an encoder and heads.

    texts: texts of each Data in `recipe.data()`.
    encoder: the encoder with its initial weights.
    version: versions of everything that decides the results; a checkpoint of another version is not resumed.
    subspaces: (method, layer) -> subspace, for the recipe's penalties and projections.
    shared: cache of states, shared by training runs with the same fixed encoder and the same texts; None: a new cache.
    mask: number of the mask subword; needed only by a recipe that trains a language model.
    checkpoints: file of the checkpoint; None: no checkpoints. checkpoint_seconds: time between two checkpoints, in seconds.
    after_step: function called with the position after each update.
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
        edit.check_layers(recipe, encoder)
        edit.apply(encoder, recipe.edit, seed)
        cpu.prepare(encoder, self.device)
        self.subspaces = subspaces or {}
        options = recipe.model_dump(include={"dropout", "init_sd"})
        self.model = EncoderWithHeads(encoder, recipe.heads, recipe.units, self.subspaces, **options).to(self.device)
        self.texts = {data: self._masked(part, HELD_OUT) if data.masked else part for data, part in texts.items()}
        self.anchors = {penalty: Anchor(encoder, penalty, recipe.units, self.subspaces, seed) for penalty in recipe.anchored()}
        features = Features() if shared is None else shared
        autocast = partial(cpu.autocast, self.precision, self.device)
        self.head_inputs = HeadInputs(self.model, recipe, self.texts, self.anchors, features, autocast)
        scaler = torch.amp.GradScaler(self.device.type, enabled=self.precision == "float16" and self.device.type == "cuda")
        self.step = Step(
            self.model, recipe, self.texts, self.head_inputs,
            seed=seed, masked=self._masked, scaler=scaler, device=self.device, log=log,
        )  # fmt: skip
        self.position = Position()
        self.optimiser = torch.optim.AdamW(self.model.parameters())  # each stage builds its own
        self.best: dict[str, torch.Tensor] = {}  # trained weights of the stage's best epoch
        self.losses: Losses | None = None  # losses of the current pass over a phase's data
        on_gpu = self.device.type == "cuda"
        self.losses_at_once = gpu.LOSSES_AT_ONCE if on_gpu else 1  # updates whose losses are read together
        self.paths: dict[str, str] = {}  # how the updates of each stage are computed on a GPU
        # Rehearsed times are compared with those of `make cost`, so other work of the processor must not count.
        self.clock = processor_clock(torch.get_num_threads()) if self.rehearse and not on_gpu else time.monotonic

    def run(self) -> Trained:
        """Train all stages and return the model, its history and predictions; resume a checkpoint of the same settings and data.

        The checkpoint is not removed, because the result is not on disk yet. After a signal the run writes a checkpoint and
        stops, at the end of a step or during an evaluation.
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
        self.head_inputs.end(score.data for score in self.recipe.scores)
        predictions = [self.predict(score.data, score.head) for score in self.recipe.scores]
        changed = self.recipe.edit.changes() or self.recipe.trains_encoder()
        # On a GPU a batch may have been halved, or products rounded to TF32, so reloaded weights might give other states.
        exact = self.head_inputs.cached and self.device.type == "cpu"
        states = {data: states for (data, layer), states in self.head_inputs.features.states.items() if exact and layer is None}
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
                    score = self.score(stage)  # a signal may interrupt scoring, so the position changes only afterwards
                    at.epoch, at.phase = at.epoch + 1, 0
                    self._end_epoch(stage, score)
            except signals.Stopped:
                self._save()
                raise
        if self.device.type == "cuda":
            self.paths[stage.name] = self.step.path.description
        self.step.path.clear()
        self.model.load_state_dict(self.best, strict=False)
        self.model.eval()
        self.best = {}
        later = self.recipe.stages[number + 1 :]
        self._save(moments=bool(later and later[0].carries))

    def _begin(self, number: int, stage: Stage, resumed: Checkpoint | None) -> None:
        """Initialise heads and score the initial weights, which may remain the best; or restore a checkpoint."""
        self.head_inputs.begin(stage)
        self.model.initialise_heads(stage.new_heads, stream(self.seed, "heads", stage.name))
        self.optimiser = optimiser.build(self.model, self.recipe, stage, self.optimiser)
        if resumed:
            self.position, self.best = resumed.position, resumed.best
            self.model.load_state_dict(resumed.weights, strict=False)  # a checkpoint lacks the encoder if no stage trains it
            optimiser.restore(self.optimiser, resumed.optimiser)
            if resumed.scaler:
                self.step.scaler.load_state_dict(resumed.scaler)
            resumed.set_random_state()
            self.log.info("resumed stage %s at epoch %d, phase %d, step %d",
                          stage.name, self.position.epoch, self.position.phase, self.position.step)  # fmt: skip
        else:
            self.position = Position(stage=number, watched=self.watched(stage), history=self.position.history)
            self._end_epoch(stage, self.score(stage))
            torch.manual_seed(stream(self.seed, "dropout", stage.name))
        if self.position.epoch < stage.passes(self.sizes):
            self.head_inputs.pass_frozen_layers(stage)
        self.step.path = gpu.path(
            self.recipe, stage, self.model.encoder, self.precision, self.device, self.log,
            updates=stage.updates(self.sizes), cached=self.head_inputs.cached,
        )  # fmt: skip
        if self.device.type == "cuda":
            self.log.info("updates of stage %s: %s", stage.name, self.step.path.description)

    def train_phase(self, stage: Stage, progress: Progress) -> None:
        """Train the current phase of `position` from its current step to the end of the pass over its data."""
        at, phase = self.position, stage.phases[self.position.phase]
        batches = phase_batches(self.recipe, stage, at.phase, at.epoch, self.texts, self.seed)
        if self.rehearse:
            lengths = [self.texts[term.data].lengths for term in phase.terms]
            batches = [rehearsed(*pair, self.rehearse) for pair in zip(batches, lengths, strict=True)]
        self.losses = losses = Losses(
            at.losses, stage, at.phase, len(batches[0]), self.texts,
            at_once=self.losses_at_once, name=f"{self.recipe.name} seed {self.seed}",
        )  # fmt: skip
        if self.head_inputs.cached:
            for term in phase.terms:
                self.head_inputs.of_data(term.data, self.recipe.reads(term))
        began = self.clock()
        for chosen in list(zip(*batches, strict=True))[at.step :]:
            place = Place(stage.name, at.epoch, at.phase, at.step)
            optimiser.set_rates(self.optimiser, self.recipe, at.updates, progress.total, optimiser.share(stage, at.history))
            self.step.update(phase, place, chosen, self.optimiser, losses)
            if self.rehearse and not at.step:  # not timed: the first batch has the longest texts and is not typical
                losses.read()
                began = self.clock()
            else:
                pairs = zip(phase.terms, chosen, strict=True)
                at.subwords += sum(int(self.texts[term.data].lengths_of(texts).sum()) for term, texts in pairs)
            at.step, at.updates = at.step + 1, at.updates + 1
            at.seconds, began = at.seconds + self.clock() - began, self.clock()
            progress.advance(1)
            self._save_if_due()
            if self.after_step:
                self.after_step(at)
        losses.read()
        at.seconds += self.clock() - began
        if parallel.size() > 1:  # else a kill during the evaluation, which then cannot be interrupted, would lose these steps
            self._save()
        last = at.phase == len(stage.phases) - 1
        at.watched |= self.watched(stage, "" if last else f", after phase {at.phase + 1}")
        at.phase, at.step = at.phase + 1, 0

    def _masked(self, texts: Texts, seed: int) -> Texts:
        assert self.mask is not None
        return masked(texts, seed, self.recipe.masking, self.mask, self.model.vocabulary)

    def predict(self, data: Data, head: str) -> dict[str, np.ndarray]:
        """Return a head's predictions for all labelled words, kind of label -> (n_words,)."""
        return self.head_inputs.predict(data, head)

    def score(self, stage: Stage) -> float:
        """Return the score that selects a stage's best epoch, a fraction."""
        head = self.recipe.heads[stage.select_head]
        texts, predicted = self.texts[stage.select_data], self.predict(stage.select_data, stage.select_head)
        return selection_score(texts, predicted, head.learns, head.labels, self.recipe.select_by, self.recipe.units.unit)

    def watched(self, stage: Stage, when: str = "") -> dict[str, float]:
        """Return the accuracies and distances that a stage monitors on held-out texts, by column of the history.

        when: suffix of the column names.
        """
        columns: dict[str, float] = {}
        for item in stage.watch:
            texts, head = self.texts[item.data], self.model.head(item.head)
            if isinstance(item, Drift):
                with parallel.interruptible():
                    columns |= watch.distances(self.model, self.anchors[item.penalty], texts, texts.labels[head.counts], when)
            else:
                columns |= watch.accuracy(item.head, texts, self.predict(item.data, item.head), head.learns, when)
        return columns

    def _end_epoch(self, stage: Stage, score: float) -> None:
        """Keep the weights if they are the best so far, or if the stage keeps the last; add the pass to the history."""
        at = self.position
        if (
            stage.keep == "last" or score > at.best_score
        ):  # strictly greater: the first of equal scores wins, as in tanti2021's code
            at.best_score, at.best_epoch = score, at.epoch
            weights = self.model.weights(with_encoder=stage.trains_encoder())
            self.best = {name: value.clone() for name, value in weights.items()}
        row: dict[str, Any] = {"stage": stage.name, "epoch": at.epoch, "score": score, **at.losses, **at.watched}
        row |= {"best_epoch": at.best_epoch, "seconds": round(at.seconds, 3)}
        row |= {"subwords_a_second": round(at.subwords / at.seconds) if at.seconds else 0}
        at.history.append(row)
        at.losses, at.watched, at.subwords, at.seconds = {}, {}, 0, 0.0
        fields = (f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items())
        self.log.info("%s", ", ".join(fields))

    def _save_if_due(self) -> None:
        """Write a checkpoint if one is due. After a signal to any process, raise Stopped, whose handler writes one."""
        if parallel.agreed(signals.asked() is not None, self.device):
            raise signals.Stopped(signals.asked() or signal.SIGTERM)
        if self.checkpoint_file and self.checkpoint_file.due:
            self._save()

    def _save(self, *, moments: bool = True) -> None:
        if self.losses:
            self.losses.read()
        if self.checkpoint_file and parallel.rank() == 0:
            weights = self.model.weights(with_encoder=self.recipe.trains_encoder())
            state = self.optimiser.state_dict() | ({} if moments else {"state": {}})
            checkpoint.save(self.checkpoint_file, self.position, weights, self.best, state, self.step.scaler.state_dict())

    @cached_property
    def checkpoint_file(self) -> CheckpointFile | None:
        """File of the run's checkpoint; None if checkpoints are off."""
        return CheckpointFile(self.checkpoints, self.key, self.log, self.checkpoint_seconds) if self.checkpoints else None

    @cached_property
    def key(self) -> str:
        """Digest that identifies checkpoints of this training run; must be computed before the first step."""
        settings = [self.recipe.settings(), self.precision, self.seed, self.version, *filter(None, [self.rehearse])]
        arrays = [array for subspace in self.subspaces.values() for array in (subspace.basis, subspace.eigenvalues)]
        tensors = {f"subspace {i}": torch.from_numpy(array) for i, array in enumerate(arrays)}
        return checkpoint.digest(settings, self.texts.values(), self.model.encoder.state_dict() | tensors)
