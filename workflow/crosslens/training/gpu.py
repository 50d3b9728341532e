"""Updates on a GPU: captured as CUDA graphs, one for each shape of inputs, and replayed.

An update is about a thousand small kernels. The host issues them one by one more slowly than the GPU computes them, whereas a
graph is issued at once. A graph reads and writes the same memory each time, so inputs are copied to buffers. A batch smaller
than its buffers is filled up with padding that changes neither losses nor gradients. There are few shapes, since each is
captured separately.

The first use of a shape runs kernel by kernel, which also prepares libraries and compiles layers. The second is captured and
replayed. In either case dropout takes its random numbers from torch's generator, so a resumed training run repeats them.
Source: https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
"""

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from crosslens.config.recipes import Recipe, Stage
from crosslens.encoding.batches import Padding, device_copy
from crosslens.encoding.layers import KNOWN, transformer_layers
from crosslens.encoding.texts import IGNORED, Texts
from crosslens.training.batches import MicroBatch
from crosslens.training.cpu import Concatenated

LOSSES_AT_ONCE = 100  # updates whose losses are read together, since reading makes the host wait for all queued work
SHAPES = 10  # largest number of shapes for the micro-batches of a term
BATCHES = 1000  # number of batches whose sizes determine the shapes
COMPILED_FROM = 5000  # updates of a stage from which compiling, which takes about 15 seconds, pays off


class Shape(NamedTuple):
    """Size of a micro-batch, or of the buffers that it is padded to.

    If states come from a cache, `subwords` and `longest` are 0.
    """

    texts: int
    subwords: int
    longest: int  # number of subwords in the longest text
    words: int  # number of labelled words
    most_words: int  # largest number of labelled words in one text


def shapes(sizes: Sequence[Shape]) -> list[Shape]:
    """Return at most SHAPES shapes for micro-batches, the smallest first.

    sizes: one per micro-batch. Sorted by size, they are split into groups of about equal total size, and each group into two by
    the length of the longest text. Each shape is large enough for all micro-batches of one half.
    """
    rows = np.array(sizes)
    rows = rows[np.lexsort((rows[:, 3], rows[:, 1]))]
    totals = rows[:, [1, 3]].sum(1).cumsum()
    parts = set()
    for group in np.split(rows, np.searchsorted(totals, totals[-1] * np.arange(1, SHAPES // 2) / (SHAPES // 2))):
        for half in np.array_split(group[np.argsort(group[:, 2], kind="stable")], 2):
            if len(half):
                _, subwords, longest, words, most_words = half.max(0).tolist()
                parts.add(Shape(int(rows[:, 0].max()), _up(subwords, 64), _up(longest, 16), _up(words, 8), most_words))
    return sorted(parts, key=lambda shape: (shape.subwords, shape.words, shape.longest))


def fitting(shapes: Sequence[Shape], size: Shape) -> Shape:
    """Return the first shape that is large enough for a micro-batch.

    If none is, return a new shape: each dimension of the largest ones, enlarged in steps of an eighth where it is too small.
    """
    for shape in shapes:
        if all(most >= number for most, number in zip(shape, size, strict=True)):
            return shape
    largest = np.max(shapes, 0).tolist()
    pairs = zip(largest, size, strict=True)
    return Shape(*(most if most >= number else _up(number, max(most // 8, 1)) for most, number in pairs))


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def size_of(part: MicroBatch) -> Shape:
    """Return the size of a micro-batch whose texts are concatenated, or whose states are cached."""
    texts, most_words = part.padding.inside.shape
    subwords, longest = 0, 0
    if isinstance(part.batch, Concatenated):
        subwords, longest = part.batch.input_ids.numel(), part.batch.paddings[0].inside.shape[1]
    return Shape(texts, subwords, longest, len(part.padding.places), most_words)


def size_of_texts(texts: Texts, chosen: np.ndarray, masked: float, cached: bool) -> Shape:
    """Return the size of a micro-batch before it is made.

    masked: share of subwords that will be masked and become the labelled words; six standard deviations are added to their
    expected number. 0: the labelled words are those of the texts. cached: whether states come from a cache.
    """
    lengths, words = texts.lengths_of(chosen), texts.word_offsets[chosen + 1] - texts.word_offsets[chosen]
    subwords, longest = int(lengths.sum()), int(lengths.max())
    if masked:
        return Shape(len(chosen), subwords, longest, int(masked * subwords + 6 * (masked * subwords) ** 0.5), longest)
    return Shape(len(chosen), *((0, 0) if cached else (subwords, longest)), int(words.sum()), int(words.max()))


def padded(part: MicroBatch, shape: Shape) -> MicroBatch:
    """Return a micro-batch padded to a shape, on the CPU.

    All added subwords and words belong to an extra last text. They have no label, and no other text attends to them.
    """
    words, subwords, batch = shape.words, shape.subwords, part.batch
    if isinstance(batch, Concatenated):
        padding = _padded(batch.paddings[0], shape.texts + 1, shape.longest, subwords)
        padding.inside[:, 0] = True  # a softmax over no position would be nan
        batch = Concatenated(
            _filled(batch.input_ids, subwords, 0),
            _filled(batch.position_ids, subwords, int(batch.position_ids.min())),
            None if batch.token_types is None else _filled(batch.token_types, subwords, 0),
            [padding],
            _filled(batch.words, words, 0),
        )
    return replace(
        part,
        batch=batch,
        states=None if part.states is None else nn.functional.pad(part.states, (0, 0, 0, words - len(part.states))),
        labels={kind: _filled(values, words, IGNORED) for kind, values in part.labels.items()},
        counted=_filled(part.counted, words, words),
        padding=_padded(part.padding, shape.texts + 1, max(shape.most_words, 1), words),
        words=torch.tensor(part.words),
        sentences=torch.tensor(part.sentences),
    )


def _filled(values: torch.Tensor, number: int, fill: int) -> torch.Tensor:
    """Return values (..., n) extended to (..., number) with `fill`."""
    return nn.functional.pad(values, (0, number - values.shape[-1]), value=fill)


def _padded(padding: Padding, texts: int, longest: int, items: int) -> Padding:
    """Return padding enlarged to `texts` texts of up to `longest` items, `items` in all; the last text has the added ones."""
    few, short = padding.inside.shape
    inside = torch.zeros(texts, longest, dtype=torch.bool)
    inside[:few, :short] = padding.inside
    places = padding.places // max(short, 1) * longest + padding.places % max(short, 1)
    return Padding(inside, torch.cat([places, (texts - 1) * longest + torch.arange(items - len(places)) % longest]))


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of a micro-batch, in a fixed order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from tensors(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from tensors(getattr(value, field.name))


def on_device(value: Any, device: torch.device) -> Any:
    """Return a micro-batch with its tensors on a device; a `Batch` is left alone, since `unit_states` copies it."""
    if isinstance(value, torch.Tensor):
        return device_copy(value, device)
    if isinstance(value, list):
        return [on_device(item, device) for item in value]
    if isinstance(value, dict):
        return {key: on_device(item, device) for key, item in value.items()}
    if not isinstance(value, MicroBatch | Concatenated | Padding):
        return value
    return replace(value, **{field.name: on_device(getattr(value, field.name), device) for field in fields(value)})


class Eager:
    """Computation of gradients and updates kernel by kernel, as on a CPU."""

    def __init__(self, device: torch.device, description: str = "eager"):
        self.device, self.description = device, description  # the description goes into the record
        self.whole = device.type != "cpu"  # whether attention pads texts to the longest of the batch, not of a small group
        self.gradients: dict[int, dict[nn.Parameter, torch.Tensor]] = {}  # phase -> gradients that must stay in place

    def backward(
        self, term: tuple[int, int], part: MicroBatch, shapes: Callable[[], Sequence[Shape]],
        work: Callable[[MicroBatch], torch.Tensor],
    ) -> torch.Tensor:  # fmt: skip
        """Add the gradient of a micro-batch and return its losses, (1,) or (2,).

        term: numbers of the phase and of the term. shapes: function that returns the shapes of the term's micro-batches.
        work: function that adds the gradient of a micro-batch on the device and returns its losses.
        """
        return work(on_device(part, self.device))

    def update(self, phase: int, work: Callable[[], None]) -> None:
        """Call `work`, which takes the optimiser's step. phase: number of the phase."""
        work()

    def keep(self, phase: int, model: nn.Module) -> None:
        """Do nothing; a subclass notes where the gradients of a phase, created by its first update, are in memory."""

    def clear(self) -> None:
        """Do nothing; a subclass forgets everything that depends on a stage or on the size of micro-batches."""


class Captured(Eager):
    """Computation of gradients and updates from captured graphs that a GPU replays.

    A CPU captures nothing, but computes on the same padded buffers. compiled: module -> compiled forward method, for the
    encoder's layers; None: layers are not compiled.
    """

    def __init__(
        self, device: torch.device, log: logging.Logger, compiled: Mapping[nn.Module, Callable[..., Any]] | None = None
    ):  # fmt: skip
        super().__init__(device, "captured, layers compiled" if compiled else "captured")
        self.whole = True
        self.log, self.compiled = log, compiled or {}
        self.captures = device.type == "cuda"  # whether to capture; False after a failure
        self.stream = torch.cuda.Stream(device) if self.captures else None  # type: ignore[no-untyped-call]
        self.clear()

    def clear(self) -> None:
        """Forget graphs, buffers, gradients and shapes."""
        self.graphs: dict[Hashable, tuple[torch.cuda.CUDAGraph, torch.Tensor | None]] = {}
        self.used: set[Hashable] = set()
        self.buffers: dict[Hashable, MicroBatch] = {}
        self.gradients = {}
        self.shapes: dict[tuple[int, int], Sequence[Shape]] = {}
        self.pool = torch.cuda.graph_pool_handle() if self.stream else None

    def backward(
        self, term: tuple[int, int], part: MicroBatch, shapes: Callable[[], Sequence[Shape]],
        work: Callable[[MicroBatch], torch.Tensor],
    ) -> torch.Tensor:  # fmt: skip
        """Copy a micro-batch to the buffers of its shape, add its gradient and return its losses, (1,) or (2,).

        The parameters are those of `Eager.backward`.
        """
        if term not in self.shapes:
            self.shapes[term] = shapes()
        shape = fitting(self.shapes[term], size_of(part))
        key, values = (*term, shape), padded(part, shape)
        if key in self.buffers:
            for buffer, value in zip(tensors(self.buffers[key]), tensors(values), strict=True):
                buffer.copy_(value.pin_memory() if self.stream else value, non_blocking=True)
        else:
            self.buffers[key] = on_device(values, self.device)
        losses = self._run(key, partial(work, self.buffers[key]))
        assert losses is not None
        return losses

    def update(self, phase: int, work: Callable[[], None]) -> None:
        """Call or replay `work`, which takes the optimiser's step and sets the gradients to 0."""
        self._run(phase, work)

    def keep(self, phase: int, model: nn.Module) -> None:
        """Note where the gradients of a phase are in memory, because graphs add to them there.

        A parameter without a gradient now has none in any update of the phase.
        """
        if phase not in self.gradients:
            self.gradients[phase] = {values: values.grad for values in model.parameters() if values.grad is not None}

    def _run(self, key: Hashable, work: Callable[[], torch.Tensor | None]) -> torch.Tensor | None:
        if key not in self.graphs:
            with _forward_methods(self.compiled):
                if not (self.captures and key in self.used and self._capture(key, work)):
                    self.used.add(key)
                    return self._beside(work)
        graph, output = self.graphs[key]
        graph.replay()
        return output

    def _beside(self, work: Callable[[], torch.Tensor | None]) -> torch.Tensor | None:
        """Call `work` on the CUDA stream that will capture it, where what it creates, such as AdamW's moments, belongs."""
        if self.stream is None:
            return work()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            output = work()
        torch.cuda.current_stream().wait_stream(self.stream)
        return output

    def _capture(self, key: Hashable, work: Callable[[], torch.Tensor | None]) -> bool:
        """Capture `work` without computing anything, and return whether that was possible."""
        graph = torch.cuda.CUDAGraph()
        try:
            with (
                torch.cuda.stream(torch.cuda.current_stream()),  # after an error torch would leave the other stream set
                torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"),
            ):
                self.graphs[key] = graph, work()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            self.graphs.clear()
            self.captures = False
            self.description = f"eager: an update could not be captured ({' '.join(str(error).split())[:200]})"
            self.log.warning("continuing without CUDA graphs, %s", self.description)
            generator = torch.cuda.default_generators[torch.cuda.current_device()]
            generator.graphsafe_set_state(generator.clone_state())  # else it would keep counting for the failed graph
            return False
        return True


@contextmanager
def _forward_methods(methods: Mapping[nn.Module, Callable[..., Any]]) -> Iterator[None]:
    """Return a context in which these methods replace the forward methods of modules."""
    for module, method in methods.items():
        module.forward = method
    try:
        yield
    finally:
        for module in methods:
            del module.forward


def compiled_layers(encoder: nn.Module) -> dict[nn.Module, Callable[..., Any]]:
    """Return compiled forward methods of an encoder's layers, for inputs of any length.

    They are compiled on the first call, once for all layers, or read from the folder TORCHINDUCTOR_CACHE_DIR.
    """
    return {layer: torch.compile(layer.forward, dynamic=True) for layer in transformer_layers(encoder)}


def why_eager(recipe: Recipe, stage: Stage, encoder: nn.Module, precision: str, cached: bool) -> str | None:
    """Return the reason why a stage's updates are not captured; None if they are.

    cached: whether heads read states from a cache.
    """
    mixed = [term.head for phase in stage.phases for term in phase.terms if recipe.heads[term.head].mix]
    kind = str(encoder.config.model_type)  # type: ignore[union-attr]
    if recipe.gpu_step == "eager":
        return "the configuration says so"
    if mixed:
        return f"the head {mixed[0]} chooses the states that it reads while it runs"
    if precision == "float16":
        return "the factor of float16's losses depends on the gradients"
    if not cached and kind not in KNOWN:
        return f"texts of an encoder of the kind {kind} are padded side by side"
    if not cached and recipe.units.state in ("mean", "pair"):
        return "means of texts are padded side by side"
    return None


def path(
    recipe: Recipe, stage: Stage, encoder: nn.Module, precision: str, device: torch.device, log: logging.Logger,
    *, updates: int, cached: bool,
) -> Eager:  # fmt: skip
    """Return the object that computes a stage's updates: eager or captured.

    updates: number of updates in the stage. cached: whether heads read states from a cache.
    """
    if device.type != "cuda":
        return Eager(device)
    if reason := why_eager(recipe, stage, encoder, precision, cached):
        return Eager(device, f"eager: {reason}")
    compiles = recipe.gpu_step == "compiled" and not cached and stage.trains_encoder() and updates >= COMPILED_FROM
    return Captured(device, log, compiled_layers(encoder) if compiles else None)
