"""Words in tokenised running text: the places of their subwords, and their vectors."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from tokenizers import Tokenizer, models
from torch import nn

from crosslens.corpora.words import words as split_words
from crosslens.encoding.batches import Batch, device_of, for_each_batch
from crosslens.encoding.encoders.special import SpecialSubwords, special_subwords, unknown_subword
from crosslens.encoding.encoders.word_marks import END, MARKS
from crosslens.encoding.texts import Edges, Texts
from crosslens.jobs.errors import DataError


@dataclass(frozen=True)
class Occurrences:
    """n occurrences of words, in the order of the texts."""

    words: np.ndarray  # (n,) number of the word
    rows: np.ndarray  # (n,) index of its first subword among all subwords
    lengths: np.ndarray  # (n,) number of its subwords

    def take(self, chosen: np.ndarray) -> "Occurrences":
        """The chosen occurrences."""
        return Occurrences(self.words[chosen], self.rows[chosen], self.lengths[chosen])


class Spelling:
    """Spelling of words as subwords of a tokenizer, in text with spaces between words or without (Chinese, Japanese)."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Prepare the spelling of words by the tokenizer of an encoder's folder."""
        self.tokenizer = tokenizer
        self.subwords = {number: subword for subword, number in tokenizer.get_vocab().items()}
        self.unknown = {unknown_subword(tokenizer)} - {None}
        self.special = special_subwords(tokenizer)
        self.specials = [*self.special.before, *self.special.after]  # around a text
        self.wordpiece = isinstance(tokenizer.model, models.WordPiece)

    def alone(self, word: str) -> tuple[int, ...]:
        """Subwords of a word as it is written, without special subwords; () if there are none or if one is unknown."""
        subwords = tuple(self.tokenizer.encode(split_words(word), is_pretokenized=True, add_special_tokens=False).ids)
        return () if self.unknown & {*subwords} else subwords

    def all(self, words: Sequence[str], *, spaced: bool) -> list[set[tuple[int, ...]]]:
        """Spellings of each word as it is written and capitalised, both whole and split like running text.

        spaced: whether the text has spaces between words. If not, a word may also be spelled without the mark of a word's
        beginning, as inside a run of characters. Spellings with unknown subwords are left out.
        """
        spellings: list[set[tuple[int, ...]]] = [set() for _ in words]
        pairs = zip(spellings, words, strict=True)
        forms = [(variants, form) for variants, word in pairs for form in {word, word[:1].upper() + word[1:]}]
        for split in (False, True):
            texts = [split_words(form) if split else [form] for _, form in forms]
            encodings = self.tokenizer.encode_batch(texts, is_pretokenized=True, add_special_tokens=False)
            for (variants, _), encoding in zip(forms, encodings, strict=True):
                subwords = tuple(encoding.ids)
                variants.update({subwords} if spaced else {subwords, self._within(subwords)})
        return [{subwords for subwords in variants if subwords and not self.unknown & {*subwords}} for variants in spellings]

    def _within(self, subwords: tuple[int, ...]) -> tuple[int, ...]:
        """Subwords of a word within a run of text, where no word begins; () if the vocabulary lacks the first of them."""
        first = self.subwords[subwords[0]] if subwords else ""
        if not self.wordpiece and first in MARKS:
            return subwords[1:]
        within = self.tokenizer.token_to_id(f"##{first}" if self.wordpiece else first.lstrip("".join(MARKS)))
        return () if within is None else (within, *subwords[1:])

    def begins(self, subwords: np.ndarray) -> np.ndarray:
        """Whether a word or a special subword begins at each place of running text and at its end, (n + 1,) bool.

        subwords: (n,). Raises DataError if no subword of the vocabulary marks the beginning or end of a word.
        """
        special, marked = np.zeros((2, max(self.subwords) + 1), bool)
        special[self.specials] = True
        ends = any(subword.endswith(END) for subword in self.subwords.values())
        for number, subword in self.subwords.items():
            inner = subword.startswith("##") if self.wordpiece else not subword.startswith(MARKS)
            marked[number] = subword.endswith(END) if ends else not inner
        if not marked.any():
            raise DataError(
                "occurrences of words: expected a tokenizer whose subwords say where words begin or end, found none: use another "
                "encoder for this recipe"
            )
        boundaries = (marked | special)[subwords]
        begins: np.ndarray = np.append(boundaries, True)
        if ends:  # a word begins after the end of another
            begins = np.append(special[subwords], True) | np.append(True, boundaries)
        return begins


def find(texts: Texts, words: Sequence[str], spelling: Spelling, *, spaced: bool) -> Occurrences:
    """All occurrences of words in texts; in spaced text, only those that begin and end where words do.

    Occurrences may overlap, and words with the same subwords have the same occurrences. If a word is found at one place both
    with and without the mark of its beginning, it counts once, with the mark. Special subwords separate the texts, so that no
    occurrence crosses the end of a text.
    """
    states, ends = _trie(spelling.all(words, spaced=spaced))
    keys = np.array(sorted(states), np.int64)
    targets = np.array([states[key] for key in keys.tolist()], np.int64)
    ending = {state: sorted(numbers) for state, numbers in ends.items()}
    sizes = np.zeros(len(states) + 1, np.int64)
    sizes[list(ending)] = [len(numbers) for numbers in ending.values()]
    starts = np.cumsum(sizes) - sizes
    by_state = np.array([number for state in sorted(ending) for number in ending[state]], np.int64)
    begins = spelling.begins(texts.subwords) if spaced else np.ones(len(texts.subwords) + 1, bool)
    rows = np.flatnonzero(begins[:-1])
    at, parts, length = np.zeros(len(rows), np.int64), [], 0
    while len(rows) and len(keys):
        steps = at << 32 | texts.subwords[rows + length].astype(np.int64)
        index = np.minimum(np.searchsorted(keys, steps), len(keys) - 1)
        there = keys[index] == steps
        rows, at, length = rows[there], targets[index[there]], length + 1
        whole = begins[rows + length]
        counts = sizes[at[whole]]
        first = np.repeat(starts[at[whole]] - (np.cumsum(counts) - counts), counts)
        begin_rows = np.repeat(rows[whole], counts)
        parts.append((by_state[first + np.arange(len(first))], begin_rows, np.full(len(begin_rows), length)))
        inside = rows + length < len(texts.subwords)
        rows, at = rows[inside], at[inside]
    if not parts:
        return Occurrences(*(np.zeros(0, np.int64) for _ in range(3)))
    numbers, begin_rows, lengths = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((begin_rows, begin_rows + lengths, numbers))
    again = (np.diff(numbers[order], prepend=-1) == 0) & (np.diff((begin_rows + lengths)[order], prepend=-1) == 0)
    order = order[~again]
    return Occurrences(numbers, begin_rows, lengths).take(order[np.lexsort((numbers[order], lengths[order], begin_rows[order]))])


def _trie(spellings: Sequence[set[tuple[int, ...]]]) -> tuple[dict[int, int], dict[int, set[int]]]:
    """Trie of spellings from state 0: state x 2^32 + subword -> next state; state -> numbers of the words that end there."""
    steps: dict[int, int] = {}
    ends: dict[int, set[int]] = defaultdict(set)
    for number, spelled in enumerate(spellings):
        for subwords in spelled:
            state = 0
            for subword in subwords:
                state = steps.setdefault(state << 32 | subword, len(steps) + 1)
            ends[state].add(number)
    return steps, ends


def moved(occurrences: Occurrences, texts: Texts, windows: Texts) -> Occurrences:
    """Occurrences in windows (`packing.in_windows`) of the texts in which they were found.

    A word divided by the end of a window keeps only the subwords before it.
    """
    owners = np.searchsorted(texts.subword_offsets, occurrences.rows, side="right") - 1
    before, around = texts.edges.before, texts.edges.around
    running = occurrences.rows - around * owners - before  # index without special subwords
    inside = windows.subword_offsets - around * np.arange(len(windows) + 1)  # where windows begin, without special subwords too
    owners = np.searchsorted(inside, running, side="right") - 1
    lengths = np.minimum(occurrences.lengths, inside[owners + 1] - running)
    return Occurrences(occurrences.words, running + around * owners + before, lengths)


def context_vectors(
    encoder: nn.Module, texts: Texts, occurrences: Occurrences, number: int, layers: Sequence[int], specials: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Mean state of each word over its occurrences, (n_layers, number, d), and of all subwords, (n_layers, d), float32 both.

    The state of an occurrence is the mean over its subwords; a word without occurrences gets NaN. The mean of all subwords
    excludes special ones and is accumulated over batches in float64. number: number of words. specials: numbers of the special
    subwords.
    """
    size = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
    sums, total, subwords = np.zeros((len(layers), number, size), np.float32), np.zeros((len(layers), size)), 0
    marked = _marked(texts, occurrences)
    special = torch.tensor(sorted(specials))

    def step(batch: Batch) -> None:
        nonlocal subwords
        inside = ~torch.isin(batch.input_ids, special)
        if batch.attention_mask is not None:
            inside &= batch.attention_mask.bool()
        subwords += int(inside.sum())
        words, lengths = occurrences.words[batch.words], torch.from_numpy(occurrences.lengths[batch.words])
        order = np.argsort(words, kind="stable")
        starts = np.flatnonzero(np.diff(words[order], prepend=-1))
        for row, states in enumerate(_states(encoder, batch, layers)):
            total[row] += (inside.flatten().to(states) @ states.flatten(0, 1)).double().cpu().numpy()
            if len(words):
                means = _span_means(states, batch.rows, batch.columns, lengths).cpu().numpy()
                sums[row, words[order][starts]] += np.add.reduceat(means[order], starts)

    for_each_batch(marked, encoder, False, step)
    counts = np.bincount(occurrences.words, minlength=number).astype(np.float32)
    with np.errstate(invalid="ignore"):
        return sums / counts[:, None], (total / subwords).astype(np.float32)


def word_vectors(
    encoder: nn.Module, spelled: Sequence[tuple[int, ...]], layers: Sequence[int], special: SpecialSubwords
) -> np.ndarray:
    """Mean state over the subwords of each word, encoded as a text of its own, (n_layers, n_words, d) float32.

    spelled: subwords of each word. special: special subwords to put around each word.
    """
    subwords = [[*special.before, *word, *special.after] for word in spelled]
    lengths, zeros = np.array([len(word) for word in spelled]), np.zeros(len(spelled), np.int64)
    offsets = np.cumsum([0, *map(len, subwords)])
    texts = Texts(
        [""] * len(spelled), [""] * len(spelled), np.concatenate(subwords).astype(np.int32), offsets, zeros,
        np.arange(len(offsets)), [], {}, zeros, zeros.astype(bool), zeros, edges=Edges(*map(len, special)),
    )  # fmt: skip
    places = Occurrences(np.arange(len(spelled)), offsets[:-1] + len(special.before), lengths)
    return context_vectors(encoder, texts, places, len(spelled), layers, [*special.before, *special.after])[0]


def _marked(texts: Texts, occurrences: Occurrences) -> Texts:
    """The texts, with the occurrences as their labelled words."""
    owners = np.searchsorted(texts.subword_offsets, occurrences.rows, side="right") - 1
    return replace(
        texts, positions=occurrences.rows - texts.subword_offsets[owners], words=[], labels={},
        word_offsets=np.searchsorted(owners, np.arange(len(texts) + 1)),
    )  # fmt: skip


def _states(encoder: nn.Module, batch: Batch, layers: Sequence[int]) -> list[torch.Tensor]:
    """Hidden states of a batch at each layer, (B, T, d) float32 each."""
    device = device_of(encoder)
    mask = {} if batch.attention_mask is None else {"attention_mask": batch.attention_mask.to(device)}
    top = int(encoder.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    output = encoder(input_ids=batch.input_ids.to(device), output_hidden_states=any(layer < top for layer in layers), **mask)
    return [(output.hidden_states[layer] if layer < top else output.last_hidden_state).float() for layer in layers]


def _span_means(states: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Mean over the `lengths` subwords that begin at each place (row, column), (n, d)."""
    rows, columns, lengths = (part.to(states.device) for part in (rows, columns, lengths))
    means = torch.zeros(len(rows), states.shape[-1], device=states.device)
    for step in range(int(lengths.max())):
        longer = (lengths > step).nonzero().squeeze(1)
        means[longer] += states[rows[longer], columns[longer] + step]
    return means / lengths[:, None]
