"""Unsupervised token translation: what a masked language model names in each place under a mean difference shift.

liu2020, section 4.2: tables 1 and 2, figures 7 and 8. A pair is read as [CLS] premise [SEP] hypothesis [SEP]; what is named in
the places of the first and last special subword is left out, and that of the one between the texts counts, as table 1's sample
shows.
"""

import logging
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from crosslens.config.heads import TASK
from crosslens.encoders.folder import mask_piece
from crosslens.encoding.batches import Batch
from crosslens.encoding.shift import Shift, for_each_shift, inner_pieces, random_direction
from crosslens.encoding.texts import Texts
from crosslens.measures.conversion import (
    Counts,
    bleu,
    convert_rate,
    count,
    intervals,
    mean_bleu,
    share,
    share_interval,
    vocabulary,
)
from crosslens.measures.given import Given
from crosslens.measures.pairs import Mean, mean_states, read_pairs
from crosslens.measures.shifts import (
    BLEU_1,
    CONVERT_RATE,
    MASKED,
    MEAN_BLEU,
    NO_SHIFT,
    PROBABILITY,
    RANDOM,
    SHARES,
    SHIFT,
    THIRD,
    WITHOUT_PENALTY,
)
from crosslens.numerics.streams import stream
from crosslens.recipes import Masking
from crosslens.runs.errors import DataError
from crosslens.runs.progress import Progress
from crosslens.training.heads.language_model import LOGITS, LanguageModel
from crosslens.training.heads.naming import Naming
from crosslens.training.masking import HELD_OUT, masked
from crosslens.training.trained import load_language_model

logger = logging.getLogger(__name__)

READS = ("encoder",)
GRID_SPLITS = ("test", "dev")


def measure(
    given: Given, *, corpora: Mapping[str, str], pairs: str, directions: Sequence[Sequence[str]],
    means: Sequence[Mapping[str, Any]], weights: Sequence[float], negative_weights: Sequence[float], layer: int,
    masked_source: str, segments: bool, seed: int,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Records of each direction (item en->de), layer, weight and mean (subspace), the first of which is the paper's here.

    Under the first mean all layers and weights, on dev too, for selection; negative weights and shifts to the next of the
    languages at one layer; random directions of the same length there, and at all layers with the largest weight. Under the
    others that layer alone. The vocabularies of languages are those of the split that is translated.
    """
    torch.set_num_threads(given.threads)
    mask = mask_piece(given.folder)  # first, as an encoder may have none
    encoder, head = load_language_model(given.folder, given.weights)
    top, size = int(encoder.config.num_hidden_layers), len(head.bias)  # type: ignore[union-attr, arg-type]
    layer = min(layer, top)
    languages = list(dict.fromkeys(language for direction in directions for language in direction))
    asked = [Mean(**mean) for mean in means]
    found = mean_states(encoder, given.tokens, languages, asked, segments)
    texts = {
        (language, split): read_pairs(given.tokens[pairs], language, split) for split in GRID_SPLITS for language in languages
    }
    vocabularies = {key: vocabulary(read, size) for key, read in texts.items()}
    for source, split in Progress(len(texts), "languages and splits", logger).over(texts):
        cells: dict[Cell, Shift] = {Cell(None, NO_SHIFT, asked[0].name, 0, 0.0): Shift(0, 0.0, torch.zeros(0))}
        targets = [target for one, target in directions if one == source]
        for target in targets:
            differences = {mean.name: of[target] - of[source] for mean, of in found.items()}
            away = third(languages, source, target)
            other = None if away is None else found[asked[0]][away] - found[asked[0]][source]
            options = (weights, negative_weights, layer, stream(seed, "random direction", source, target))
            cells |= of_direction(target, differences, other, *options, everything=split == "test")
        outputs = translate(encoder, head, texts[source, split], cells, segments) if targets else {}
        for target in targets:
            for cell, output in ((cell, output) for cell, output in outputs.items() if cell.target in (None, target)):
                of_both = (vocabularies[source, split], vocabularies[target, split])
                counts = compare(texts[source, split], texts[target, split], output, *of_both)
                row = {
                    "item": f"{source}->{target}", "corpus": pairs, "language": target, "split": split, "layer": cell.layer,
                    "weight": cell.weight, "definition": cell.definition, "subspace": cell.mean, "n": len(output),
                }  # fmt: skip
                yield from _scores(row, counts, everything=split == "test")
    alone = {
        code: vocabularies[code, "test"] & ~vocabularies[masked_source, "test"] for code in languages if code != masked_source
    }
    hidden = hide(texts[masked_source, "test"], mask, size)
    row = {"corpus": pairs, "split": "test"}
    yield from (row | found for found in masked_outputs(encoder, head, hidden, alone, segments))


class Cell(NamedTuple):
    """A place of the grid. target: language, None: any; mean: its name."""

    target: str | None
    definition: str
    mean: str
    layer: int
    weight: float


def of_direction(
    target: str, differences: Mapping[str, torch.Tensor], other: torch.Tensor | None, weights: Sequence[float],
    negative_weights: Sequence[float], layer: int, seed: int, *, everything: bool,
) -> dict[Cell, Shift]:  # fmt: skip
    """Shifts of a direction; differences: of the means at all layers, (L + 1, d), by the mean's name, other: to a third language.

    everything: beside the grid of the first mean what is compared with it.
    """
    (first, difference), *others = differences.items()
    made = [(SHIFT, first, at, weight, difference[at]) for at in range(1, len(difference)) for weight in weights]
    if everything:
        made += [(SHIFT, first, layer, weight, difference[layer]) for weight in negative_weights]
        for at in range(1, len(difference)):
            drawn = random_direction(difference[at], stream(seed, at))
            made += [(RANDOM, first, at, weight, drawn) for weight in weights if at == layer or weight == max(weights)]
        made += [] if other is None else [(THIRD, first, layer, weight, other[layer]) for weight in weights]
        made += [(SHIFT, name, layer, weight, vectors[layer]) for name, vectors in others for weight in weights]
    return {
        Cell(target, definition, name, at, weight): Shift(at, weight, vector) for definition, name, at, weight, vector in made
    }


def third(languages: Sequence[str], source: str, target: str) -> str | None:
    """The next of the languages after the target, in a circle, that is neither; None where there are but two."""
    place = languages.index(target) + 1
    return next((code for code in (*languages[place:], *languages) if code not in (source, target)), None)


def translate(
    encoder: nn.Module, head: LanguageModel, texts: Texts, cells: Mapping[Any, Shift], segments: bool
) -> dict[Any, np.ndarray]:  # fmt: skip
    """The most probable subword in each inner place of texts, flat, (n_pieces - 2 n,) int32, under each shift."""
    inner = inner_pieces(texts)
    outputs, naming = {key: np.empty(len(inner.positions), np.int32) for key in cells}, Naming(head)

    def step(key: Hashable, batch: Batch, states: torch.Tensor) -> None:
        places = batch.rows.to(states.device), batch.columns.to(states.device)
        outputs[key][batch.words] = naming.pieces(states[places].float()).cpu().numpy()

    for_each_shift(inner, encoder, segments, cells, step)
    return outputs


def compare(source: Texts, target: Texts, output: np.ndarray, of_source: np.ndarray, of_target: np.ndarray) -> Counts:
    """Counts of outputs for some texts against their translations; of_source, of_target: vocabularies."""
    if source.ids != target.ids:
        raise DataError("translation: expected the same pairs in both languages, found others: tokenise the corpus again")
    reference = inner_pieces(target)
    rows = np.repeat(reference.piece_offsets[:-1], np.diff(reference.word_offsets)) + reference.positions
    given = inner_pieces(source)
    before = source.pieces[np.repeat(given.piece_offsets[:-1], np.diff(given.word_offsets)) + given.positions]
    return count(output, given.word_offsets, target.pieces[rows], reference.word_offsets, of_source, of_target, before)


def _scores(row: Mapping[str, Any], counts: Counts, *, everything: bool) -> Iterator[dict[str, Any]]:
    """Convert rate and BLEU-1; everything: with their intervals, and shares and variants of BLEU-1."""
    rate, score = convert_rate(counts), bleu(counts)
    ends: Any = intervals(counts) if everything else ((None, None), (None, None))
    for name, value, (low, high) in ((CONVERT_RATE, rate, ends[0]), (BLEU_1, score, ends[1])):
        yield {**row, "measure": name, "value": value, "low": low, "high": high}
    if everything:
        yield {**row, "measure": WITHOUT_PENALTY, "value": bleu(counts, penalty=False)}
        yield {**row, "measure": MEAN_BLEU, "value": mean_bleu(counts)}
        yield from ({**row, "measure": name, "value": share(counts, kind)} for kind, name in SHARES.items())


def hide(texts: Texts, mask: int, size: int) -> Texts:
    """15 % of the subwords of texts, each masked by itself in a copy of its text; size: of the vocabulary."""
    masked_texts = masked(texts, HELD_OUT, Masking(masked=1.0, random=0.0), mask, size)
    copies = texts.take(np.repeat(np.arange(len(texts)), np.diff(masked_texts.word_offsets)))
    pieces = copies.pieces.copy()
    pieces[copies.piece_offsets[:-1] + masked_texts.positions] = mask
    return replace(
        copies, pieces=pieces, positions=masked_texts.positions, word_offsets=np.arange(len(copies) + 1),
        words=masked_texts.words, labels=masked_texts.labels,
    )  # fmt: skip


def masked_outputs(
    encoder: nn.Module, head: LanguageModel, masked_texts: Texts, alone: Mapping[str, np.ndarray], segments: bool
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """How often a masked subword is named, how often one that another language alone has, and how probable such are together.

    masked_texts: copies of texts of one language, each with one masked place (`hide`); alone: language -> the subwords that it
    has and this one has not, (vocabulary,).
    """
    predictions = np.empty(len(masked_texts), np.int64)
    probable = np.empty((len(masked_texts), len(alone)))
    groups = torch.from_numpy(np.stack(list(alone.values()), 1)).float()  # (vocabulary, languages)

    def step(_: Hashable, batch: Batch, states: torch.Tensor) -> None:
        of_places = states[batch.rows.to(states.device), batch.columns.to(states.device)].float()
        predictions[batch.words] = head.pieces(of_places).cpu().numpy()
        rows = max(1, LOGITS // len(groups))
        parts = [of_places[start : start + rows] for start in range(0, len(of_places), rows)]
        probable[batch.words] = torch.cat([head(part).softmax(-1) @ groups.to(part.device) for part in parts]).cpu().numpy()

    for_each_shift(masked_texts, encoder, segments, {"": Shift(0, 0.0, torch.zeros(0))}, step)
    source, text = masked_texts.languages[0], np.unique(masked_texts.ids, return_inverse=True)[1]
    values_by_measure = {(source, "accuracy"): predictions == masked_texts.labels[TASK]}
    for number, (code, subwords) in enumerate(alone.items()):
        values_by_measure |= {(code, SHARES["target"]): subwords[predictions], (code, PROBABILITY): probable[:, number]}
    for (code, name), values in values_by_measure.items():
        low, high = share_interval(np.bincount(text, values), np.bincount(text))
        yield {
            "item": f"{source}->{code}", "language": code, "definition": MASKED, "n": len(predictions), "measure": name,
            "value": float(values.mean()), "low": low, "high": high,
        }  # fmt: skip
