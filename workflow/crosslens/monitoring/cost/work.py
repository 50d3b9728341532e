"""How much a training computes, counted as crosslens.training.loop goes about it: what it computes once is counted once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from crosslens.config.heads import ALL, LanguageModelHead, Mix
from crosslens.monitoring.cost.sizes import Shape, Size
from crosslens.recipes import ENCODER, Data, Drift, Phase, Recipe, Stage, Term

FEATURES, BOTTOM = 2**34, 2**32
"""BYTES of crosslens.training.features and .bottom, which import torch."""
GLOVE = 0.2  # of Word2Vec's time for a piece; it depends on how often pairs occur
NAMED = 0.15  # pieces that a masked language model is asked for


Batch = tuple[int, int]


@dataclass(frozen=True)
class Way:
    """How a training computes, apart from what."""

    precision: str = "float32"
    threads: int = 1
    gpus: int = 1  # that share a batch
    dropout: bool = True

    def __str__(self) -> str:
        """What decides the speed on one device."""
        return f"{self.precision}{'' if self.dropout else ', no dropout'}, {self.threads} threads"


@dataclass
class Work:
    """What is computed. trained, steps: of each term, by kind of batch: (texts, their mean length)."""

    trained: dict[Batch, float] = field(default_factory=dict)  # FLOPs of steps that update the encoder, backward and all
    steps: dict[Batch, float] = field(default_factory=dict)  # their number
    passed: float = 0.0  # FLOPs of passes without gradients
    forward_steps: float = 0.0  # steps whose encoder runs but is not updated
    head_steps: float = 0.0  # steps on states that were computed before
    mixed_steps: float = 0.0  # of these, such that have an LSTM
    words: float = 0.0  # that predictions are of
    pieces: float = 0.0  # of a static embedding, over all epochs
    counted: bool = True  # whether all sizes are

    def add(self, other: "Work") -> None:
        """Put another's beside it."""
        for name in ("passed", "forward_steps", "head_steps", "mixed_steps", "words", "pieces"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, others in ((self.trained, other.trained), (self.steps, other.steps)):
            for kind, amount in others.items():
                mine[kind] = mine.get(kind, 0.0) + amount
        self.counted &= other.counted


def of(recipe: Recipe, shape: Shape, size: Callable[[Data], Size], computed: set[Data] | None = None) -> Work:
    """Work of a training. computed: of trials that share the states of an encoder that stays as it is, what they have of them."""
    return _Training(recipe, shape, size, set() if computed is None else computed).work


class _Training:
    def __init__(self, recipe: Recipe, shape: Shape, size: Callable[[Data], Size], computed: set[Data]) -> None:
        self.recipe, self.shape, self.size, self.computed = recipe, shape, size, computed
        self.work = Work(counted=all(size(data).counted for data in recipe.data()))
        if recipe.static:
            learnt = recipe.static.embeddings
            share = GLOVE if learnt.kind == "glove" else 1.0
            self.work.pieces = size(recipe.static.data).pieces * learnt.epochs * share
        for stage in recipe.stages:
            self._stage(stage)
        scored = [score.data for score in recipe.scores]
        self._evaluate(scored, self._kept(scored))
        self.work.words = sum(self._units(size(data)) for data in scored)

    def _units(self, size: Size) -> float:
        return size.words if self.recipe.units.unit == "word" else size.texts

    def _kept(self, data: Sequence[Data]) -> bool:
        """Whether there is room for the states of all these texts: crosslens.training.features."""
        heads = self.recipe.heads.values()
        layers = {head.reads() for head in heads}
        columns = sum(self.shape.layers + 1 if layer == ALL else 1 for layer in layers)
        units = sum(self._units(self.size(each)) for each in {*data, *self.computed})
        return 4 * units * self.shape.hidden * columns <= FEATURES

    def _pass(self, size: Size) -> float:
        """FLOPs of a pass of the encoder over some texts; of a language model, with the pieces that it names."""
        named = any(isinstance(head, LanguageModelHead) for head in self.recipe.heads.values())
        vocabulary = NAMED * 2 * self.shape.hidden * (self.shape.vocabulary + self.shape.hidden) * named
        return size.pieces * (self.shape.products(size.length) + vocabulary)

    def _evaluate(self, data: Sequence[Data], cached: bool) -> None:
        """Predict on texts: by states that are kept, each computed once, or by a pass for each."""
        for each in data:
            if cached and each in self.computed:
                continue
            self.work.passed += self._pass(self.size(each))
            if cached:
                self.computed.add(each)

    def _stage(self, stage: Stage) -> None:
        trains, recipe = stage.trains_encoder(), self.recipe
        terms = [term for phase in stage.phases for term in phase.terms]
        cached = not trains and not recipe.encoder_dropout_when_frozen
        cached = cached and self._kept([stage.select_data, *(term.data for term in terms)])
        if trains:
            self.computed.clear()
        once = self._bottom(stage, terms)
        if cached:
            self._evaluate([term.data for term in terms], True)
        for phase in stage.phases:
            self._phase(stage, phase, cached, once)
        sizes = {data: round(self.size(data).texts) for data in self.recipe.data()}
        for number in range(stage.passes(sizes) + 1):  # before the first too
            self._evaluate([stage.select_data], cached)
            for _ in range(len(stage.phases) if number else 1):
                for score in stage.watch:
                    self._evaluate([score.data] * (2 if isinstance(score, Drift) else 1), cached)  # by the anchor too
        if trains:
            self.computed.clear()

    def _bottom(self, stage: Stage, terms: Sequence[Term]) -> int:
        """Number of frozen blocks that run once for all steps; counts that pass. See crosslens.training.bottom."""
        numbers = {phase.frozen_blocks for phase in stage.phases if ENCODER in phase.update}
        number = next(iter(numbers)) if len(numbers) == 1 else None
        others = any(term.penalty or self.recipe.reads(term) is not None for term in terms)
        read = Size.total(self.size(data) for data in {term.data for term in terms})
        if number is None or self.recipe.encoder_dropout_when_frozen or others or self.recipe.units.state == "mean":
            return 0
        if read.pieces * self.shape.hidden * 4 > BOTTOM:
            return 0
        self.work.passed += self._pass(read) * number / max(self.shape.layers, 1)
        return number

    def _lstm(self, mix: Mix) -> float:
        """FLOPs of a word in a bidirectional LSTM, backwards too."""
        size, read = mix.lstm_size, self.shape.hidden
        return sum(3 * 16 * size * (size + (2 * size if layer else read)) for layer in range(mix.lstm_layers))

    def _phase(self, stage: Stage, phase: Phase, cached: bool, once: int) -> None:
        sizes: Mapping[Data, int] = {data: round(self.size(data).texts) for term in phase.terms for data in [term.data]}
        if phase.at_most:
            sizes = {**sizes, phase.at_most: round(self.size(phase.at_most).texts)}
        batch = stage.texts_a_step(self.size(phase.terms[0].data).length)
        steps = phase.steps(batch, sizes) * stage.epochs
        items = steps * batch if phase.updates else phase.items(sizes) * stage.epochs
        blocks = max(self.shape.layers, 1)
        updates = ENCODER in phase.update
        if cached:
            self.work.head_steps += steps
            for term in phase.terms:
                if mix := self.recipe.heads[term.head].mix:
                    size = self.size(term.data)
                    self.work.mixed_steps += steps * bool(mix.lstm_layers)
                    self.work.passed += self._lstm(mix) * self._units(size) / max(size.texts, 1) * items
        elif not updates:
            self.work.forward_steps += steps * len(phase.terms)
        for term in phase.terms if not cached else ():
            size = self.size(term.data)
            passes = self._pass(size) * items / max(size.texts, 1)
            frozen = phase.frozen_blocks or 0
            if updates:
                kind = (batch, round(size.length))
                backward_too = passes * ((blocks - once) + 2 * (blocks - frozen)) / blocks
                self.work.add(Work(trained={kind: backward_too}, steps={kind: steps}))
            else:
                self.work.passed += passes
            if term.penalty:
                self.work.passed += passes
