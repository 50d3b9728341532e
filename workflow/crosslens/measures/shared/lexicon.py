"""Translations of the words of texts by a bilingual dictionary, to judge whether the subword output at a position is one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crosslens.corpora.lines import UNSPACED
from crosslens.corpora.schema import read
from crosslens.encoding.occurrences import Spelling, find
from crosslens.encoding.texts import Texts
from crosslens.jobs.checksums import verified

Direction = tuple[str, str]


class Lexicon(NamedTuple):
    """A dictionary's translations of the words at the inner positions of texts.

    Inner positions are those between the special subwords before and after a text. A text with words of the dictionary at fewer
    than two positions counts as one without any, since it has no second position to compare with.
    """

    texts: np.ndarray  # (n,) number of each inner position's text
    places: np.ndarray  # (m,) inner position of each subword of each dictionary word
    words: np.ndarray  # (m,) number of that word; words may overlap, so that a position may have several
    translations: np.ndarray  # (k,) word x size of the vocabulary + subword of its translation, ascending
    size: int  # of the vocabulary

    def covered(self) -> np.ndarray:
        """Return the positions of dictionary words, ascending."""
        return np.unique(self.places)

    def translates(self, output: np.ndarray) -> np.ndarray:
        """Return whether each output subword belongs to a translation of a word at its position, (n,) bool. output: (n,)."""
        is_translation = np.isin(self.words * self.size + output[self.places], self.translations)
        translated = np.zeros(len(self.texts), bool)
        translated[self.places[is_translation]] = True
        return translated

    def elsewhere(self, seed: int) -> np.ndarray:
        """Return another covered position of the same text for each covered one, (covered,).

        The covered positions of each text are rotated by a random number.
        """
        covered = self.covered()
        _, text, sizes = np.unique(self.texts[covered], return_inverse=True, return_counts=True)
        turns = np.random.default_rng(seed).integers(1, sizes)
        starts = np.cumsum(sizes) - sizes
        places: np.ndarray = covered[starts[text] + (np.arange(len(covered)) - starts[text] + turns[text]) % sizes[text]]
        return places


class Translated(NamedTuple):
    """Numbers of converted subwords in n texts, (n,) each."""

    converted: np.ndarray
    in_dictionary: np.ndarray  # at the position of a dictionary word
    in_place: np.ndarray  # of these, translations of the word at their position
    elsewhere: np.ndarray  # of these, translations of the word at another position in the text


def count_translations(output: np.ndarray, converted: np.ndarray, lexicon: Lexicon, number: int, seed: int) -> Translated:
    """Return how many of the converted subwords the dictionary translates.

    The same subwords are judged at their own positions and, as a control, at others.

    output: (n,), output subword at each inner position. converted: (n,) bool. number: number of texts. seed: of the other
    positions.
    """
    covered = lexicon.covered()
    moved, moved_converted = output.copy(), np.zeros(len(output), bool)
    places = lexicon.elsewhere(seed)
    moved[covered], moved_converted[covered] = output[places], converted[places]
    in_dictionary = np.zeros(len(output), bool)
    in_dictionary[covered] = converted[covered]

    def by_text(chosen: np.ndarray) -> np.ndarray:
        return np.bincount(lexicon.texts[chosen], minlength=number)

    return Translated(
        by_text(converted), by_text(in_dictionary), by_text(in_dictionary & lexicon.translates(output)),
        by_text(moved_converted & lexicon.translates(moved)),
    )  # fmt: skip


def entries(folders: Iterable[Path]) -> dict[Direction, list[tuple[str, str]]]:
    """Return (source language, target language) -> distinct pairs of words of all parts of some dictionaries.

    Each pair is included in both directions.
    """
    pairs_by_direction: dict[Direction, set[tuple[str, str]]] = defaultdict(set)
    for path in (path for folder in folders for path in sorted(verified(folder).glob("*.parquet"))):
        for row in read(path).to_pylist():
            languages, words = (row["source_language"], row["target_language"]), (row["source"], row["target"])
            pairs_by_direction[languages].add(words)
            pairs_by_direction[languages[::-1]].add(words[::-1])
    return {direction: sorted(pairs) for direction, pairs in pairs_by_direction.items()}


def look_up(pairs: Sequence[tuple[str, str]], direction: Direction, texts: Texts, spelling: Spelling, size: int) -> Lexicon:
    """Return the translations of the words in texts of the direction's source language.

    A word is found in the text as the dictionary writes it, or capitalised. All subwords of its translations count, in either
    form, so that one subword of a longer translation is enough.

    pairs: words and their translations. size: of the vocabulary.
    """
    source_spaced, target_spaced = (language not in UNSPACED for language in direction)
    targets_by_word: dict[str, list[str]] = defaultdict(list)
    for source, target in pairs:
        targets_by_word[source].append(target)
    words = list(targets_by_word)
    occurrences = find(texts, words, spelling, spaced=source_spaced)
    owners = np.searchsorted(texts.subword_offsets, occurrences.rows, side="right") - 1
    first = np.repeat(occurrences.rows - texts.edges.around * owners - texts.edges.before, occurrences.lengths)
    starts = np.repeat(np.cumsum(occurrences.lengths) - occurrences.lengths, occurrences.lengths)
    places, numbers = first + np.arange(len(first)) - starts, np.repeat(occurrences.words, occurrences.lengths)
    of_places = np.repeat(np.arange(len(texts)), np.maximum(texts.lengths - texts.edges.around, 0))
    covered = np.bincount(of_places[np.unique(places)], minlength=len(texts))
    several = covered[of_places[places]] > 1
    keys = _keys(targets_by_word, np.unique(numbers), spelling, size, spaced=target_spaced)
    return Lexicon(of_places, places[several], numbers[several], keys, size)


def _keys(
    targets_by_word: Mapping[str, Sequence[str]], numbers: np.ndarray, spelling: Spelling, size: int, *, spaced: bool
) -> np.ndarray:
    """Return word x size + subword for all subwords of the translations of words with these numbers, ascending."""
    words = list(targets_by_word)
    pairs = [(number, target) for number in numbers.tolist() for target in targets_by_word[words[number]]]
    spellings = spelling.all([target for _, target in pairs], spaced=spaced) if pairs else []
    keys = {
        number * size + subword for (number, _), forms in zip(pairs, spellings, strict=True) for form in forms for subword in form
    }
    return np.array(sorted(keys), np.int64)
