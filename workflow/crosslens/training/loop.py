"""The training loop: one for every objective, composed of stages, phases and terms (crosslens.recipes)."""

import hashlib
import json
import logging
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from crosslens.encoding.batches import collate
from crosslens.encoding.texts import IGNORED, Texts
from crosslens.logs import Progress
from crosslens.recipes import ENCODER, Data, Phase, Recipe, Stage, Term, label_kind
from crosslens.streams import stream
from crosslens.training import checkpoint, cpu, edit, heads
from crosslens.training.batches import random_batches
from crosslens.training.checkpoint import Position
from crosslens.training.model import EncoderWithHeads
from crosslens.training.objectives import reverse_gradient
from crosslens.training.predict import hidden_states, predict, predict_from, selection_score

HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Interrupted(RuntimeError):
    """The training was asked to stop (SIGTERM, as a cluster sends at the time limit) and has written a checkpoint."""


@dataclass
class Trained:
    """What a training leaves."""

    model: EncoderWithHeads
    encoder_changed: bool
    history: list[dict[str, Any]]  # a row an epoch, 0 before the first: stage, epoch, score, losses, accuracies, ...
    predictions: list[dict[str, np.ndarray]]  # kind of label -> classes, for each Score of the recipe


class Loop:
    """One training. `texts` holds the data of `recipe.data()`; weights come from `encoder`."""

    def __init__(
        self,
        recipe: Recipe,
        texts: Mapping[Data, Texts],
        encoder: nn.Module,
        *,
        seed: int,
        log: logging.Logger,
        checkpoints: Path | None = None,
        checkpoint_seconds: float = 300.0,
        device: torch.device | None = None,
        after_step: Callable[[Position], None] | None = None,
    ):
        self.recipe, self.texts, self.seed, self.log = recipe, texts, seed, log
        self.checkpoints, self.checkpoint_seconds = checkpoints, checkpoint_seconds
        self.device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.precision = cpu.resolve_precision(recipe.precision, self.device)
        self.after_step = after_step
        edit.apply(encoder, recipe.edit, seed)
        if self.device.type == "cpu":
            cpu.prepare(encoder)
        self.model = EncoderWithHeads(encoder, recipe.labels, recipe.dropout, recipe.reading, recipe.parser).to(self.device)
        self.sizes = {data: len(of) for data, of in texts.items()}
        self.optimiser: torch.optim.Optimizer | None = None  # of the stage
        self.cached = False  # whether the stage reads hidden states from `features`
        self.features: dict[Data, torch.Tensor] = {}  # hidden states under an encoder that no longer changes
        self.position = Position()
        self.best: dict[str, torch.Tensor] = {}
        self.stopping = False
        self.saved_at = time.monotonic()
        self.largest = 10**9  # texts of a micro-batch, halved when memory runs out
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.precision == "float16" and self.device.type == "cuda")

    # --- the whole ----------------------------------------------------------------------------------------------------

    def run(self) -> Trained:
        """Train all stages and predict all targets. Resumes from a checkpoint of the same settings and data, if there is one."""
        if self.device.type == "cuda":
            torch.set_float32_matmul_precision("high" if self.precision == "tf32" else "highest")
        previous = self._catch_sigterm() if self.checkpoints else None
        try:
            resumed = checkpoint.load(self.checkpoints, self.key) if self.checkpoints else None
            for number, stage in enumerate(self.recipe.stages):
                if resumed and number < resumed.position.stage:
                    continue
                self._stage(number, stage, resumed if resumed and number == resumed.position.stage else None)
            predictions = self._predictions()
        finally:
            if previous is not None:
                signal.signal(signal.SIGTERM, previous)
        if self.checkpoints:
            checkpoint.remove(self.checkpoints)
        changed = self.recipe.edit.changes() or any(stage.trains_encoder() for stage in self.recipe.stages)
        return Trained(self.model, changed, self.position.history, predictions)

    @cached_property
    def key(self) -> str:
        """Digest of settings, seed, data and the encoder's weights; asked for before the first step."""
        digest = hashlib.sha256(json.dumps([self.recipe.model_dump(mode="json"), self.precision, self.seed]).encode())
        for texts in self.texts.values():
            for values in (texts.pieces, texts.piece_offsets, texts.positions, texts.word_offsets, texts.second):
                digest.update(values.tobytes())
            for values in texts.labels.values():
                digest.update(values.tobytes())
        for value in self.model.encoder.state_dict().values():
            digest.update(value.cpu().contiguous().view(torch.uint8).numpy())
        return digest.hexdigest()

    def _catch_sigterm(self) -> Any:
        def stop(*_: Any) -> None:
            self.stopping = True

        try:
            return signal.signal(signal.SIGTERM, stop)
        except ValueError:  # not in the main thread
            return None

    # --- a stage ------------------------------------------------------------------------------------------------------

    def _stage(self, number: int, stage: Stage, resumed: checkpoint.Checkpoint | None) -> None:
        frozen = not stage.trains_encoder()
        names = [*self.recipe.labels] if frozen else [ENCODER, *self.recipe.labels]
        self.cached = frozen and not self.recipe.encoder_dropout_when_frozen
        torch.manual_seed(stream(self.seed, "dropout", stage.name))
        self.model.initialise_heads(stage.new_heads, self.recipe.init_sd, stream(self.seed, "heads", stage.name))
        if not frozen:
            self.features.clear()
        optimiser = self.optimiser = self._optimiser(stage, self.optimiser)
        if resumed:
            self.position, self.best = resumed.position, resumed.best
            self._load_weights(resumed.weights)
            optimiser.load_state_dict(resumed.optimiser)
            self.log.info("resumed stage %s at epoch %d, phase %d, step %d",
                          stage.name, self.position.epoch, self.position.phase, self.position.step)  # fmt: skip
        else:
            self.position = Position(stage=number, history=self.position.history)
            score = self._keep_if_best(stage, names)  # the untrained epoch 0 is a candidate
            self._write_history(stage, score, self._accuracies(stage), {}, 0, 0.0)
        lengths = [phase.steps(stage.batch, self.sizes) for phase in stage.phases]
        total = stage.epochs * sum(lengths)
        if resumed:  # last, so that nothing draws a random number in between
            torch.set_rng_state(resumed.random["cpu"])
            if "cuda" in resumed.random and self.device.type == "cuda":
                torch.cuda.set_rng_state(resumed.random["cuda"])
        with Progress(total, f"{self.recipe.name} seed {self.seed}, {stage.name}: steps", self.log) as progress:
            progress.advance(self.position.updates)
            for epoch in range(self.position.epoch, stage.epochs):
                started, pieces = time.monotonic(), 0
                for phase_number in range(self.position.phase, len(stage.phases)):
                    phase = stage.phases[phase_number]
                    pieces += self._phase(stage, phase_number, phase, lengths[phase_number], total, optimiser, progress)
                    self.position.watched |= self._accuracies(stage, phase_number)
                    self.position.phase, self.position.step = phase_number + 1, 0
                self.position.epoch, self.position.phase = epoch + 1, 0
                self._end_epoch(stage, names, pieces, time.monotonic() - started)
        self._load_weights(self.best)
        self.model.eval()

    def _phase(
        self, stage: Stage, phase_number: int, phase: Phase, steps: int, total: int,
        optimiser: torch.optim.Optimizer, progress: Progress,
    ) -> int:  # fmt: skip
        """One pass; returns the number of pieces seen."""
        at, pieces = self.position, 0
        if self.cached:  # before a step: it leaves the model in eval mode
            for term in phase.terms:
                self._features(term.data)
        for name in (ENCODER, *self.recipe.labels):
            self.model.module(name).requires_grad_(name in phase.update)
        batches = [
            random_batches(
                self.texts[term.data].lengths, stage.batch, stream(self.seed, "batches", stage.name, at.epoch, phase_number, i),
                items=phase.items(self.sizes), pools=self.recipe.length_pools,
            )
            for i, term in enumerate(phase.terms)
        ]  # fmt: skip
        if not at.step and not phase_number:
            at.sums, at.watched = [0.0] * sum(len(each.terms) for each in stage.phases), {}
        first = sum(len(each.terms) for each in stage.phases[:phase_number])
        for step in range(at.step, steps):
            self._set_rates(optimiser, stage, at.updates, total)
            losses = self._gradients(phase, [each[step] for each in batches])
            for i, (term, loss) in enumerate(zip(phase.terms, losses, strict=True)):
                chosen = batches[i][step]
                if not np.isfinite(loss):
                    ids = ", ".join(self.texts[term.data].ids[text] for text in chosen[:5])
                    raise FloatingPointError(
                        f"{self.recipe.name} seed {self.seed}: loss of {term.head} is {loss} in stage {stage.name}, "
                        f"epoch {at.epoch}, step {step} (texts {ids}, ...): lower the learning rate"
                    )
                at.sums[first + i] += loss / steps
                pieces += int(self.texts[term.data].lengths[chosen].sum())
            self.scaler.unscale_(optimiser)
            if self.recipe.clip:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
            self.scaler.step(optimiser)
            self.scaler.update()
            at.step, at.updates = step + 1, at.updates + 1
            progress.advance(1)
            self._maybe_save(optimiser)
            if self.after_step:
                self.after_step(at)
        return pieces

    # --- a step -------------------------------------------------------------------------------------------------------

    def _gradients(self, phase: Phase, chosen: Sequence[np.ndarray]) -> list[float]:
        """Gradients of a phase's terms on their batches; returns each term's mean loss.

        When memory runs out the step starts again with micro-batches of half the size.
        """
        while True:
            try:
                self._set_mode(phase)
                self.model.zero_grad(set_to_none=True)  # an earlier stage's too: the clipped norm is over all
                return [self._backward(term, texts, phase) for term, texts in zip(phase.terms, chosen, strict=True)]
            except torch.OutOfMemoryError:
                size = min(self.largest, max(map(len, chosen)))
                if size == 1:
                    raise
                self.largest = size // 2
                torch.cuda.empty_cache()
                self.log.warning("out of memory: micro-batches of %d texts from now on", self.largest)

    def _backward(self, term: Term, chosen: np.ndarray, phase: Phase) -> float:
        """Add a term's gradient, in micro-batches where memory is short; returns its mean loss."""
        texts = self.texts[term.data]
        count = max(int((texts.labels[heads.learnt(term)][texts.word_rows(chosen)] != IGNORED).sum()), 1)
        parts = np.array_split(chosen, -(-len(chosen) // self.largest))
        return sum(self._backward_part(term, texts, part, phase, count, len(chosen)) for part in parts)

    def _backward_part(self, term: Term, texts: Texts, part: np.ndarray, phase: Phase, count: int, sentences: int) -> float:
        trains_encoder = ENCODER in phase.update
        half = HALVES.get(self.precision)
        words = texts.word_rows(part)
        with torch.autocast(self.device.type, half) if half else nullcontext():
            if self.cached:
                states = self._features(term.data)[torch.from_numpy(words)].to(self.device)
            else:
                with torch.set_grad_enabled(trains_encoder):
                    batch = collate(texts, part, self.model.padding, self.recipe.reading.segments)
                    states = self.model.hidden_states(batch)
        states = states.float()
        if term.reversal is not None:
            states = reverse_gradient(states, term.reversal)
        labels = {kind: torch.from_numpy(values[words]).to(self.device) for kind, values in texts.labels.items()}
        sizes = torch.from_numpy(np.diff(texts.word_offsets)[part])
        loss = heads.loss(self.model.heads[term.head], term, states, sizes, labels, words=count, sentences=sentences)
        torch.autograd.backward(self.scaler.scale(term.weight * loss))
        return float(loss.detach())

    def _set_mode(self, phase: Phase) -> None:
        """Dropout where something learns; the encoder's own only while it is trained, unless the recipe says otherwise.

        tanti2021's code leaves the frozen encoder's dropout on (common/model/model.py 185), so that its states cannot be
        computed once.
        """
        self.model.train()
        if ENCODER not in phase.update and not self.recipe.encoder_dropout_when_frozen:
            self.model.encoder.eval()

    def _optimiser(self, stage: Stage, previous: torch.optim.Optimizer | None) -> torch.optim.Optimizer:
        """AdamW (Adam where nothing decays), a rate for the encoder and one for each head."""
        for parameter in self.model.parameters():
            parameter.requires_grad_(True)
        rates = {name: stage.head_rates.get(name, stage.head_rate) for name in self.recipe.labels}
        groups = [
            {"params": list(self.model.heads[name].parameters()), "lr": rate, "rate": rate, "weight_decay": 0.0}
            for name, rate in rates.items()
        ]
        if stage.trains_encoder():
            groups.append(
                {"params": list(self.model.encoder.parameters()), "lr": stage.encoder_rate, "rate": stage.encoder_rate,
                 "weight_decay": self.recipe.weight_decay}
            )  # fmt: skip
        optimiser = torch.optim.AdamW(groups, eps=self.recipe.epsilon, fused=True)
        carried = [parameter for name in stage.carries for parameter in self.model.heads[name].parameters()]
        for parameter in carried:
            if previous and parameter in previous.state:
                optimiser.state[parameter] = previous.state[parameter]
        return optimiser

    def _set_rates(self, optimiser: torch.optim.Optimizer, stage: Stage, update: int, total: int) -> None:
        rising = self.recipe.warmup * total
        factor = min(1.0, (update + 1) / rising) if rising else 1.0
        if self.recipe.decay == "linear" and update >= rising:
            factor = (total - update) / max(total - rising, 1)
        for group in optimiser.param_groups:
            group["lr"] = group["rate"] * factor

    # --- the end of an epoch ------------------------------------------------------------------------------------------

    def _features(self, data: Data) -> torch.Tensor:
        """Hidden states of the labelled words, computed once while the encoder does not change."""
        if data not in self.features:
            self.features[data] = hidden_states(self.model, self.texts[data])
        return self.features[data]

    def _predict(self, data: Data, head: str) -> dict[str, np.ndarray]:
        self.model.eval()
        if self.cached:
            return predict_from(self._features(data), self.texts[data], head, self.model.heads[head])
        return predict(self.model, self.texts[data], [head])

    def _keep_if_best(self, stage: Stage, names: Sequence[str]) -> float:
        texts, head = self.texts[stage.select_data], stage.select_head
        predicted = self._predict(stage.select_data, head)
        score = selection_score(texts, predicted, head, self.recipe.labels[head], self.recipe.select_by, self.recipe.reading.unit)
        if stage.keep == "last" or score > self.position.best_score:  # strictly: the first best wins, as in tanti2021's code
            self.position.best_score, self.position.best_epoch = score, self.position.epoch
            self.best = {name: value.clone() for name, value in self._weights(names).items()}
        return score

    def _accuracies(self, stage: Stage, phase: int | None = None) -> dict[str, float]:
        """Accuracy of the watched heads on held-out texts after a phase, None: before the first; by column of the history."""
        last = phase is None or phase == len(stage.phases) - 1
        found: dict[str, float] = {}
        for score in stage.watch:
            gold, predicted = self.texts[score.data].labels[label_kind(score.head)], self._predict(score.data, score.head)
            name = f"accuracy {score.head}" if last else f"accuracy {score.head}, after phase {phase + 1}"  # type: ignore[operator]
            known = gold != IGNORED
            found |= {name: float((gold == predicted[score.head])[known].mean()), f"n {score.head}": int(known.sum())}
        return found

    def _end_epoch(self, stage: Stage, names: Sequence[str], pieces: int, seconds: float) -> None:
        score = self._keep_if_best(stage, names)
        terms = [term for phase in stage.phases for term in phase.terms]
        losses = {
            f"loss {i} {term.head} {term.loss}": value
            for i, (term, value) in enumerate(zip(terms, self.position.sums, strict=True))
        }
        self._write_history(stage, score, self.position.watched, losses, pieces, seconds)

    def _write_history(
        self, stage: Stage, score: float, accuracies: Mapping[str, float], losses: Mapping[str, float], pieces: int,
        seconds: float,
    ) -> None:  # fmt: skip
        row: dict[str, Any] = {"stage": stage.name, "epoch": self.position.epoch, "score": score, **losses, **accuracies}
        row |= {"best_epoch": self.position.best_epoch, "seconds": round(seconds, 3)}
        row |= {"pieces_a_second": round(pieces / seconds) if seconds else 0}
        self.position.history.append(row)
        self.log.info(
            "%s", ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items())
        )

    def _predictions(self) -> list[dict[str, np.ndarray]]:
        """Predictions of every score; texts scored by several heads pass the encoder once."""
        self.cached = True
        return [self._predict(score.data, score.head) for score in self.recipe.scores]

    # --- weights and checkpoints --------------------------------------------------------------------------------------

    def _weights(self, names: Sequence[str]) -> dict[str, torch.Tensor]:
        return {f"{module}.{name}": value for module in names for name, value in self.model.module(module).state_dict().items()}

    def _load_weights(self, weights: Mapping[str, torch.Tensor]) -> None:
        for module in (ENCODER, *self.recipe.labels):
            part = {name.removeprefix(f"{module}."): value for name, value in weights.items() if name.startswith(f"{module}.")}
            if part:
                self.model.module(module).load_state_dict(part)
        if any(name.startswith(f"{ENCODER}.") for name in weights):
            self.features.clear()

    def _maybe_save(self, optimiser: torch.optim.Optimizer) -> None:
        if self.checkpoints is None or not (self.stopping or time.monotonic() - self.saved_at >= self.checkpoint_seconds):
            return
        every = [ENCODER, *self.recipe.labels]  # a later stage resumes without its forerunners
        checkpoint.save(self.checkpoints, self.key, self.position, self._weights(every), self.best, optimiser.state_dict())
        self.saved_at = time.monotonic()
        if self.stopping:
            raise Interrupted(
                f"{self.recipe.name} seed {self.seed}: stopped on request; the next run resumes from {self.checkpoints}"
            )
