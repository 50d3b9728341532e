"""Unsupervised token translation: the predictions of a masked language model at each position under a mean difference shift.

liu2020, section 4.2: tables 1 and 2, figures 7 and 8. A pair is read as [CLS] premise [SEP] hypothesis [SEP]. Predictions at
the first and the last special subword are left out. The prediction at the [SEP] between the texts counts, as the sample of
table 1 shows.
"""

import logging
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from crosslens.encoding.batches import Batch
from crosslens.encoding.encoders.folder import mask_subword
from crosslens.encoding.occurrences import Spelling
from crosslens.encoding.shift import Shift, for_each_shift, inner_subwords
from crosslens.encoding.texts import Texts
from crosslens.encoding.tokens.tokenise import load_tokenizer
from crosslens.jobs.progress import Progress
from crosslens.measures.shared.conversion import vocabulary
from crosslens.measures.shared.lexicon import Lexicon, entries, look_up
from crosslens.measures.shared.masked_outputs import hide, masked_outputs
from crosslens.measures.shared.shift_data import Mean, mean_states, read_pairs
from crosslens.measures.shared.shift_grid import Cell, Grid
from crosslens.measures.shared.shift_terms import FREQUENT
from crosslens.measures.shared.subject import Subject
from crosslens.measures.shared.translation_scores import compare, most_frequent, scores, translations
from crosslens.numerics.streams import stream
from crosslens.training.heads.fast_argmax import FastArgmax
from crosslens.training.heads.language_model import LanguageModel
from crosslens.training.trained import load_language_model

logger = logging.getLogger(__name__)

GRID_SPLITS = ("test", "dev")


def measure(
    subject: Subject, *, corpora: Mapping[str, str], pairs: str, directions: Sequence[Sequence[str]],
    means: Sequence[Mapping[str, Any]], weights: Sequence[float], negative_weights: Sequence[float], layer: int,
    masked_source: str, segments: bool, dictionaries: Sequence[str], seed: int,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the records of each direction (the `item`, such as en->de), layer, weight and mean (the column `subspace`).

    Under the first mean, all layers and weights are tried, on dev as well as test so that they can be selected. On test, they
    are compared with negative weights, shifts to a third language and shifts under the other means, all at `layer`. They are
    also compared with random directions of the same length, at `layer` with all weights, at other layers with the largest. A
    last comparison predicts masked subwords of `masked_source` without any shift. The vocabulary of a language is that of the
    split that is translated.

    means: fields of each `Mean`, the paper's first. dictionaries: those that judge the first mean's outputs at `layer`, for the
    directions that they contain.
    """
    torch.set_num_threads(subject.threads)
    mask = mask_subword(subject.folder)  # before the model is loaded, since its tokenizer may have no mask
    encoder, head = load_language_model(subject.folder, subject.weights)
    top, size = int(encoder.config.num_hidden_layers), len(head.bias)  # type: ignore[union-attr, arg-type]
    languages = list(dict.fromkeys(language for direction in directions for language in direction))
    states = mean_states(encoder, subject.tokens, languages, [Mean(**mean) for mean in means], segments)
    grid = Grid(languages, directions, states, weights, negative_weights, min(layer, top), seed)
    texts = {
        (language, split): read_pairs(subject.tokens[pairs], language, split) for split in GRID_SPLITS for language in languages
    }
    vocabularies = {key: vocabulary(part, size) for key, part in texts.items()}
    words = entries(subject.dictionaries[name] for name in dictionaries)
    spelling = Spelling(load_tokenizer(subject.folder))
    for source, split in Progress(len(texts), "languages and splits", logger).over(texts):
        targets, is_test = grid.targets(source), split == "test"
        if not targets:
            continue
        outputs = translate(encoder, head, texts[source, split], grid.shifts(source, compared=is_test), segments)
        for target in targets if is_test else ():
            frequent = most_frequent(texts[source, split], texts[target, "dev"], size)
            outputs[Cell(target, FREQUENT, grid.mean.name, 0, 0.0)] = frequent
        for target in targets:
            lexicon = None
            if is_test and (source, target) in words:
                lexicon = look_up(words[source, target], (source, target), texts[source, split], spelling, size)
            direction = Direction(
                (source, target), texts[source, split], texts[target, split],
                vocabularies[source, split], vocabularies[target, split], lexicon,
            )  # fmt: skip
            row = {"item": f"{source}->{target}", "corpus": pairs, "language": target, "split": split}
            yield from (row | record for record in direction_records(direction, outputs, grid, everything=is_test))
    subwords = {
        code: vocabularies[code, "test"] & ~vocabularies[masked_source, "test"] for code in languages if code != masked_source
    }
    hidden = hide(texts[masked_source, "test"], mask, size)
    row = {"corpus": pairs, "split": "test"}
    yield from (row | record for record in masked_outputs(encoder, head, hidden, subwords, segments))


@dataclass(frozen=True)
class Direction:
    """Texts of a source language and their translations. lexicon: a dictionary of the direction; None if there is none."""

    languages: tuple[str, str]
    source: Texts
    target: Texts
    source_vocabulary: np.ndarray  # (vocabulary,) bool: whether a subword occurs
    target_vocabulary: np.ndarray
    lexicon: Lexicon | None


def direction_records(
    direction: Direction, outputs: Mapping[Cell, np.ndarray], grid: Grid, *, everything: bool
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the records of all cells of a direction. everything: whether to include intervals and variants of the scores."""
    of_source, of_target = direction.source_vocabulary, direction.target_vocabulary
    for cell, output in outputs.items():
        if cell.target not in (None, direction.languages[1]):
            continue
        row = {
            "layer": cell.layer, "weight": cell.weight, "definition": cell.definition, "subspace": cell.mean, "n": len(output),
        }  # fmt: skip
        counts = compare(direction.source, direction.target, output, of_source, of_target)
        yield from scores(row, counts, everything=everything)
        if direction.lexicon is not None and grid.is_judged(cell):
            converted = (of_target & ~of_source)[output]
            seed = stream(grid.seed, "other places", *direction.languages)
            yield from translations(row, output, converted, direction.lexicon, len(direction.source), seed)


def translate(
    encoder: nn.Module, head: LanguageModel, texts: Texts, cells: Mapping[Any, Shift], segments: bool
) -> dict[Any, np.ndarray]:  # fmt: skip
    """Return key -> most probable subword at each inner position of the texts under a shift, flat, (n_inner,) int32.

    Inner positions are those between the special subwords before and after a text. cells: key -> shift.
    """
    inner = inner_subwords(texts)
    outputs, naming = {key: np.empty(len(inner.positions), np.int32) for key in cells}, FastArgmax(head)

    def step(key: Hashable, batch: Batch, states: torch.Tensor) -> None:
        outputs[key][batch.words] = naming.subwords(states.float()).cpu().numpy()

    for_each_shift(inner, encoder, segments, cells, step)
    return outputs
