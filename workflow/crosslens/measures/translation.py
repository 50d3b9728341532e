"""Unsupervised token translation: the predictions of a masked language model in each place under a mean difference shift.

liu2020, section 4.2: tables 1 and 2, figures 7 and 8. A pair is read as [CLS] premise [SEP] hypothesis [SEP]; predictions in the
places of the first and the last special subword are left out, that in the place of the [SEP] between the texts counts, as the
sample of table 1 shows.
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
from crosslens.encoding.occurrences import Spelling
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
from crosslens.measures.lexicon import Lexicon, count_translations, entries, look_up
from crosslens.measures.shift_data import Mean, mean_states, read_pairs
from crosslens.measures.shifts import (
    BLEU_1,
    CONVERT_RATE,
    ELSEWHERE,
    FREQUENT,
    IN_DICTIONARY,
    MASKED,
    MEAN_BLEU,
    NO_SHIFT,
    PROBABILITY,
    RANDOM,
    SHARES,
    SHIFT,
    THIRD,
    TRANSLATIONS,
    WITHOUT_PENALTY,
)
from crosslens.measures.subject import Subject
from crosslens.numerics.streams import stream
from crosslens.recipes import Masking
from crosslens.runs.errors import DataError
from crosslens.runs.progress import Progress
from crosslens.tokens.tokenise import load_tokenizer
from crosslens.training.heads.language_model import LOGITS, LanguageModel
from crosslens.training.heads.naming import Naming
from crosslens.training.masking import HELD_OUT, masked
from crosslens.training.trained import load_language_model

logger = logging.getLogger(__name__)

GRID_SPLITS = ("test", "dev")


def measure(
    subject: Subject, *, corpora: Mapping[str, str], pairs: str, directions: Sequence[Sequence[str]],
    means: Sequence[Mapping[str, Any]], weights: Sequence[float], negative_weights: Sequence[float], layer: int,
    masked_source: str, segments: bool, dictionaries: Sequence[str], seed: int,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the records of each direction (item en->de), layer, weight and mean (column subspace).

    means: definitions of the mean, the paper's first. Under the first, all layers and weights are tried, on dev too, for
    selection; negative weights and shifts to a third language at `layer` alone; random directions of the same length there, and
    at all layers with the largest weight. Under the other means `layer` alone is shifted. The vocabulary of a language is that of
    the split that is translated. dictionaries: by which the first mean's outputs at `layer` are judged, of directions that they
    have.
    """
    torch.set_num_threads(subject.threads)
    mask = mask_piece(subject.folder)  # first, since an encoder may have no mask
    encoder, head = load_language_model(subject.folder, subject.weights)
    top, size = int(encoder.config.num_hidden_layers), len(head.bias)  # type: ignore[union-attr, arg-type]
    layer = min(layer, top)
    languages = list(dict.fromkeys(language for direction in directions for language in direction))
    mean_definitions = [Mean(**mean) for mean in means]
    states = mean_states(encoder, subject.tokens, languages, mean_definitions, segments)
    texts = {
        (language, split): read_pairs(subject.tokens[pairs], language, split) for split in GRID_SPLITS for language in languages
    }
    vocabularies = {key: vocabulary(part, size) for key, part in texts.items()}
    spelling = Spelling(load_tokenizer(subject.folder))
    words = entries(subject.dictionaries[name] for name in dictionaries)
    for source, split in Progress(len(texts), "languages and splits", logger).over(texts):
        cells: dict[Cell, Shift] = {Cell(None, NO_SHIFT, mean_definitions[0].name, 0, 0.0): Shift(0, 0.0, torch.zeros(0))}
        targets = [target for first, target in directions if first == source]
        for target in targets:
            differences = {mean.name: means_of[target] - means_of[source] for mean, means_of in states.items()}
            away = third(languages, source, target)
            away_shift = None if away is None else states[mean_definitions[0]][away] - states[mean_definitions[0]][source]
            options = (weights, negative_weights, layer, stream(seed, "random direction", source, target))
            cells |= of_direction(target, differences, away_shift, *options, everything=split == "test")
        outputs = translate(encoder, head, texts[source, split], cells, segments) if targets else {}
        for target in targets if split == "test" else ():
            cell = Cell(target, FREQUENT, mean_definitions[0].name, 0, 0.0)
            outputs[cell] = most_frequent(texts[source, split], texts[target, "dev"], size)
        for target in targets:
            direction, lexicon = (source, target), None
            if split == "test" and direction in words:
                lexicon = look_up(words[direction], direction, texts[source, split], spelling, size)
            for cell, output in ((cell, output) for cell, output in outputs.items() if cell.target in (None, target)):
                vocabulary_pair = (vocabularies[source, split], vocabularies[target, split])
                counts = compare(texts[source, split], texts[target, split], output, *vocabulary_pair)
                row = {
                    "item": f"{source}->{target}", "corpus": pairs, "language": target, "split": split, "layer": cell.layer,
                    "weight": cell.weight, "definition": cell.definition, "subspace": cell.mean, "n": len(output),
                }  # fmt: skip
                yield from _scores(row, counts, everything=split == "test")
                judged = cell.weight > 0 and cell[1:4] == (SHIFT, mean_definitions[0].name, layer)  # definition, mean and layer
                if judged and lexicon is not None:
                    converted = (vocabulary_pair[1] & ~vocabulary_pair[0])[output]
                    places = stream(seed, "other places", source, target)
                    yield from _translations(row, output, converted, lexicon, len(texts[source, split]), places)
    alone = {
        code: vocabularies[code, "test"] & ~vocabularies[masked_source, "test"] for code in languages if code != masked_source
    }
    hidden = hide(texts[masked_source, "test"], mask, size)
    row = {"corpus": pairs, "split": "test"}
    yield from (row | record for record in masked_outputs(encoder, head, hidden, alone, segments))


class Cell(NamedTuple):
    """A cell of the grid of shifts. target: language; None: any. mean: name of its definition."""

    target: str | None
    definition: str
    mean: str
    layer: int
    weight: float


def of_direction(
    target: str, differences: Mapping[str, torch.Tensor], away: torch.Tensor | None, weights: Sequence[float],
    negative_weights: Sequence[float], layer: int, seed: int, *, everything: bool,
) -> dict[Cell, Shift]:  # fmt: skip
    """Return the shifts of a direction by cell.

    differences: name of the mean -> difference of the languages' means at all layers, (L + 1, d); the first is the paper's.
    away: the difference to a third language, (L + 1, d). everything: whether the shifts that the grid of the first mean is
    compared with are returned too.
    """
    (first, difference), *rest = differences.items()
    shifts = [(SHIFT, first, at, weight, difference[at]) for at in range(1, len(difference)) for weight in weights]
    if everything:
        shifts += [(SHIFT, first, layer, weight, difference[layer]) for weight in negative_weights]
        for at in range(1, len(difference)):
            random_vector = random_direction(difference[at], stream(seed, at))
            shifts += [(RANDOM, first, at, weight, random_vector) for weight in weights if at == layer or weight == max(weights)]
        shifts += [] if away is None else [(THIRD, first, layer, weight, away[layer]) for weight in weights]
        shifts += [(SHIFT, name, layer, weight, vectors[layer]) for name, vectors in rest for weight in weights]
    return {
        Cell(target, definition, name, at, weight): Shift(at, weight, vector) for definition, name, at, weight, vector in shifts
    }


def third(languages: Sequence[str], source: str, target: str) -> str | None:
    """Return the next language after the target, in a circle, that is neither source nor target; None if there are only two."""
    place = languages.index(target) + 1
    return next((code for code in (*languages[place:], *languages) if code not in (source, target)), None)


def translate(
    encoder: nn.Module, head: LanguageModel, texts: Texts, cells: Mapping[Any, Shift], segments: bool
) -> dict[Any, np.ndarray]:  # fmt: skip
    """Return the most probable subword in each inner place of texts under each shift, flat, (n_inner,) int32."""
    inner = inner_pieces(texts)
    outputs, naming = {key: np.empty(len(inner.positions), np.int32) for key in cells}, Naming(head)

    def step(key: Hashable, batch: Batch, states: torch.Tensor) -> None:
        outputs[key][batch.words] = naming.pieces(states.float()).cpu().numpy()

    for_each_shift(inner, encoder, segments, cells, step)
    return outputs


def most_frequent(source: Texts, target: Texts, size: int) -> np.ndarray:
    """Return the most frequent subwords of target texts, for each source text as many as it has inner places, flat.

    size: of the vocabulary.
    """
    inner = inner_pieces(target)
    frequencies = np.bincount(inner.pieces[_rows(inner)], minlength=size)
    ranking = np.argsort(-frequencies, kind="stable").astype(np.int32)
    return np.take(ranking, inner_pieces(source).positions - source.edges.before, mode="wrap")


def _rows(inner: Texts) -> np.ndarray:
    """Return the row of each inner place among all subwords of texts."""
    rows: np.ndarray = np.repeat(inner.piece_offsets[:-1], np.diff(inner.word_offsets)) + inner.positions
    return rows


def compare(source: Texts, target: Texts, output: np.ndarray, of_source: np.ndarray, of_target: np.ndarray) -> Counts:
    """Return the counts of outputs for source texts against their translations, the target texts.

    of_source, of_target: vocabularies of the languages, (vocabulary,) bool. Raises DataError unless both have the same ids.
    """
    if source.ids != target.ids:
        raise DataError("translation: expected the same pairs in both languages, found different ids: tokenise the corpus again")
    reference = inner_pieces(target)
    inner = inner_pieces(source)
    pieces, before = target.pieces[_rows(reference)], source.pieces[_rows(inner)]
    return count(output, inner.word_offsets, pieces, reference.word_offsets, of_source, of_target, before)


def _scores(row: Mapping[str, Any], counts: Counts, *, everything: bool) -> Iterator[dict[str, Any]]:
    """Yield convert rate and BLEU-1; everything: with their intervals, and with shares and variants of BLEU-1."""
    rate, score = convert_rate(counts), bleu(counts)
    ends: Any = intervals(counts) if everything else ((None, None), (None, None))
    for name, value, (low, high) in ((CONVERT_RATE, rate, ends[0]), (BLEU_1, score, ends[1])):
        yield {**row, "measure": name, "value": value, "low": low, "high": high}
    if everything:
        yield {**row, "measure": WITHOUT_PENALTY, "value": bleu(counts, penalty=False)}
        yield {**row, "measure": MEAN_BLEU, "value": mean_bleu(counts)}
        yield from ({**row, "measure": name, "value": share(counts, kind)} for kind, name in SHARES.items())


def _translations(
    row: Mapping[str, Any], output: np.ndarray, converted: np.ndarray, lexicon: Lexicon, number: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield how many of the converted subwords a dictionary can judge and, of these, how many are translations."""
    counts = count_translations(output, converted, lexicon, number, seed)
    for measure_name, hits, sizes in (
        (IN_DICTIONARY, counts.in_dictionary, counts.converted),
        (TRANSLATIONS, counts.in_place, counts.in_dictionary),
        (ELSEWHERE, counts.elsewhere, counts.in_dictionary),
    ):
        if sizes.any():
            low, high = share_interval(hits, sizes)
            value = float(hits.sum() / sizes.sum())
            yield {**row, "measure": measure_name, "value": value, "low": low, "high": high, "n": int(sizes.sum())}


def hide(texts: Texts, mask: int, size: int) -> Texts:
    """Return copies of texts in each of which one of 15 % of the subwords is masked. size: of the vocabulary."""
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
    """Yield how often a masked subword is predicted, and how often, and with which probability, one of another language is.

    masked_texts: copies of texts of one language, each with one masked place (`hide`); alone: language -> the subwords that occur
    in it and not in the language of the texts, (vocabulary,) bool.
    """
    predictions = np.empty(len(masked_texts), np.int64)
    probable = np.empty((len(masked_texts), len(alone)))
    groups = torch.from_numpy(np.stack(list(alone.values()), 1)).float()  # (vocabulary, languages)

    def step(_: Hashable, batch: Batch, states: torch.Tensor) -> None:
        of_places = states.float()
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
