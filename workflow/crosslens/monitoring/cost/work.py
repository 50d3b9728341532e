"""How much a training computes, counted as the training loop goes about it: what it computes once is counted once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from crosslens.config.heads import ALL, LanguageModelHead, Mix
from crosslens.monitoring.cost.sizes import Shape, Size
from crosslens.recipes import BOTTOM_BYTES, ENCODER, STATES_BYTES, Data, Drift, Phase, Recipe, Stage

GLOVE = 0.2  # share of Word2Vec's time for a piece; it depends on how often pairs occur
PREDICTED = 0.15  # share of pieces that a masked language model predicts

Batch = tuple[int, int]


@dataclass(frozen=True)
class Setup:
    """Settings of a training that decide how fast a device computes it."""

    precision: str = "float32"
    threads: int = 1
    gpus: int = 1  # that share a batch
    dropout: bool = True

    def __str__(self) -> str:
        """Text of all that decides the speed on one device."""
        return f"{self.precision}{'' if self.dropout else ', no dropout'}, {self.threads} threads"


@dataclass
class Work:
    """Operations and steps of a training. trained, steps: of all terms, by kind of batch: (texts, their mean length)."""

    trained: dict[Batch, float] = field(default_factory=dict)  # FLOPs of steps that update the encoder, backward too
    steps: dict[Batch, float] = field(default_factory=dict)  # number of these steps
    passed: float = 0.0  # FLOPs of passes without gradients
    forward_steps: float = 0.0  # steps whose encoder runs but is not updated
    head_steps: float = 0.0  # steps on states that were computed before
    mixed_steps: float = 0.0  # steps among these whose head has an LSTM
    words: float = 0.0  # predicted words
    pieces: float = 0.0  # pieces that a static embedding reads in all epochs
    counted: bool = True  # whether the sizes of all texts are counted

    def train(self, batch: Batch, operations: float, steps: float) -> None:
        """Add steps that update the encoder."""
        self.trained[batch] = self.trained.get(batch, 0.0) + operations
        self.steps[batch] = self.steps.get(batch, 0.0) + steps


def of(recipe: Recipe, shape: Shape, size: Callable[[Data], Size], computed: set[Data] | None = None) -> Work:
    """Work of a training. computed: texts whose states trials of the same fixed encoder have computed before."""
    return _Training(recipe, shape, size, set() if computed is None else computed).work


def of_update(recipe: Recipe, stage: Stage, shape: Shape, size: Callable[[Data], Size]) -> tuple[Work, Work]:
    """Work of a stage of a training with one update of each phase, and with two: the difference is that of an update of each."""

    def of_updates(number: int) -> Work:
        phases = tuple(phase.model_copy(update={"updates": number}) for phase in stage.phases)
        alone = stage.model_copy(update={"phases": phases, "epochs": 1, "interval": None})
        return of(recipe.model_copy(update={"stages": (alone,), "scores": ()}), shape, size)

    return of_updates(1), of_updates(2)


class _Training:
    def __init__(self, recipe: Recipe, shape: Shape, size: Callable[[Data], Size], computed: set[Data]) -> None:
        self.recipe, self.shape, self.size, self.computed = recipe, shape, size, computed
        self.work = Work(counted=all(size(data).counted for data in recipe.data()))
        if recipe.static:
            embeddings = recipe.static.embeddings
            share = GLOVE if embeddings.kind == "glove" else 1.0
            self.work.pieces = size(recipe.static.data).pieces * embeddings.epochs * share
        for stage in recipe.stages:
            self._stage(stage)
        scored = [score.data for score in recipe.scores]
        self._evaluate(scored, self._fit(scored))
        self.work.words = sum(self._units(size(data)) for data in scored)

    def _units(self, size: Size) -> float:
        return size.words if self.recipe.units.unit == "word" else size.texts

    def _fit(self, data: Sequence[Data]) -> bool:
        """Whether there is room for the states of all these texts and of those computed before."""
        layers = {head.reads() for head in self.recipe.heads.values()}
        columns = sum(self.shape.layers + 1 if layer == ALL else 1 for layer in layers)
        units = sum(self._units(self.size(part)) for part in {*data, *self.computed})
        return 4 * units * self.shape.hidden * columns <= STATES_BYTES

    def _pass(self, size: Size) -> float:
        """FLOPs of a pass of the encoder over texts, and of a language model's head over the pieces that it predicts."""
        operations = self.shape.products(size.length)
        if any(isinstance(head, LanguageModelHead) for head in self.recipe.heads.values()):
            operations += PREDICTED * 2 * self.shape.hidden * (self.shape.vocabulary + self.shape.hidden)
        return size.pieces * operations

    def _evaluate(self, data: Sequence[Data], cached: bool) -> None:
        """Predict on texts: from states that are computed once, or by a pass for each."""
        for part in data:
            if not cached:
                self.work.passed += self._pass(self.size(part))
            elif part not in self.computed:
                self.work.passed += self._pass(self.size(part))
                self.computed.add(part)

    def _stage(self, stage: Stage) -> None:
        data = [term.data for phase in stage.phases for term in phase.terms]
        cached = self.recipe.keeps_states(stage) and self._fit([stage.select_data, *data])
        if stage.trains_encoder():
            self.computed.clear()
        if cached:
            self._evaluate(data, True)
        bottom = self._bottom(stage, data)
        for phase in stage.phases:
            self._phase(stage, phase, cached, bottom)
        sizes = {data: round(self.size(data).texts) for data in self.recipe.data()}
        for number in range(stage.passes(sizes) + 1):  # before the first too
            self._evaluate([stage.select_data], cached)
            for _ in range(len(stage.phases) if number else 1):
                for score in stage.watch:
                    self._evaluate([score.data] * (2 if isinstance(score, Drift) else 1), cached)  # by the anchor too
        if stage.trains_encoder():
            self.computed.clear()

    def _bottom(self, stage: Stage, data: Sequence[Data]) -> int:
        """Number of frozen blocks that run once for all steps, in a pass that is counted here."""
        number = self.recipe.frozen_bottom(stage)
        size = Size.total(self.size(part) for part in set(data))
        if number is None or size.pieces * self.shape.hidden * 4 > BOTTOM_BYTES:
            return 0
        self.work.passed += self._pass(size) * number / max(self.shape.layers, 1)
        return number

    def _lstm(self, mix: Mix) -> float:
        """FLOPs of a word in a bidirectional LSTM, backwards too."""
        size, width = mix.lstm_size, self.shape.hidden
        return sum(3 * 16 * size * (size + (2 * size if layer else width)) for layer in range(mix.lstm_layers))

    def _phase(self, stage: Stage, phase: Phase, cached: bool, bottom: int) -> None:
        data = [*(term.data for term in phase.terms), *([phase.at_most] if phase.at_most else [])]
        sizes = {part: round(self.size(part).texts) for part in data}
        batch = stage.texts_a_step(self.size(phase.terms[0].data).length)
        steps = phase.steps(batch, sizes) * stage.epochs
        items = steps * batch if phase.updates else phase.items(sizes) * stage.epochs
        blocks, frozen = max(self.shape.layers, 1), phase.frozen_blocks or 0
        updates_encoder = ENCODER in phase.update
        self.work.head_steps += steps * cached
        self.work.forward_steps += steps * len(phase.terms) * (not cached and not updates_encoder)
        for term in phase.terms:
            size = self.size(term.data)
            mix = self.recipe.heads[term.head].mix
            if cached and mix:
                self.work.mixed_steps += steps * bool(mix.lstm_layers)
                self.work.passed += self._lstm(mix) * self._units(size) / max(size.texts, 1) * items
            if cached:
                continue
            passes = self._pass(size) * items / max(size.texts, 1)
            if updates_encoder:
                operations = passes * ((blocks - bottom) + 2 * (blocks - frozen)) / blocks
                self.work.train((batch, round(size.length)), operations, steps)
            else:
                self.work.passed += passes
            if term.penalty:
                self.work.passed += passes
