"""Converted subwords against a dictionary, place by place: look-up by scanning, counts of planted outputs."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from conftest import as_texts
from crosslens.encoding.occurrences import Spelling
from crosslens.encoding.texts import load_subwords
from crosslens.encoding.tokens.tokenise import load_tokenizer
from crosslens.measures.shared import lexicon, translation_scores
from crosslens.measures.shared.lexicon import Lexicon, count_translations, entries, look_up
from test_retrieval import muse_folder  # noqa: F401
from test_translation import dev_tokens  # noqa: F401

SIZE = 10


def planted(words: list[list[int]]) -> Lexicon:
    """Texts with one place a word; the translation of word i is subword i."""
    flat = np.concatenate(words)
    texts = np.repeat(np.arange(len(words)), [len(text) for text in words])
    numbers = np.unique(flat)
    return Lexicon(texts, np.arange(len(flat)), flat, numbers * SIZE + numbers, SIZE)


def counted(output: list[int], listed: Lexicon, converted: np.ndarray | None = None, seed: int = 0) -> list[list[int]]:
    subwords = np.array(output)
    everything = np.ones(len(subwords), bool) if converted is None else converted
    return [part.tolist() for part in count_translations(subwords, everything, listed, listed.texts.max() + 1, seed)]


def test_translations_in_their_places_are_told_from_others():
    listed = planted([[1, 2, 3, 4], [5, 6]])
    assert counted([1, 2, 3, 4, 5, 6], listed) == [[4, 2], [4, 2], [4, 2], [0, 0]]
    assert counted([2, 3, 4, 1, 6, 5], listed)[2] == [0, 0]
    assert counted([1, 2, 9, 4, 5, 9], listed, np.array([True, True, False, False, True, False]))[:3] == [[2, 1]] * 3


def test_one_frequent_subword_translates_as_much_in_other_places():
    """It converts everything, and says nothing of the word in its place."""
    listed = planted([[1, 2, 3, 1, 4, 5, 1, 2]] * 40)
    for seed in range(3):
        _, in_dictionary, in_place, elsewhere = counted([1] * 320, listed, seed=seed)
        assert in_place == elsewhere == [3] * 40 and in_dictionary == [8] * 40


def test_another_place_is_never_the_same():
    listed = planted([[1, 2, 3], [4, 5], [6] * 7])
    places_drawn = {tuple(listed.elsewhere(seed).tolist()) for seed in range(60)}
    assert len(places_drawn) == 2 * 1 * 6
    for places in places_drawn:
        assert sorted(places) == [*range(12)] and not any(place == at for at, place in enumerate(places))
        assert (listed.texts[list(places)] == listed.texts).all()


@pytest.mark.parametrize("direction", [("en", "de"), ("de", "en"), ("zh", "en"), ("en", "zh")])
def test_words_and_translations_are_those_of_a_scan(direction, dev_tokens, muse_folder, encoder_folder):  # noqa: F811
    pairs, spelling = entries([muse_folder])[direction], Spelling(load_tokenizer(encoder_folder))
    texts = load_subwords([dev_tokens["pairs"] / f"{direction[0]}.test.parquet"])
    size = spelling.tokenizer.get_vocab_size()
    listed = look_up(pairs, direction, texts, spelling, size)
    begins = spelling.begins(np.arange(size))
    spaced = {language: language != "zh" for language in direction}
    targets = {source: {target for word, target in pairs if word == source} for source, _ in pairs}
    expected: set[tuple[int, int]] = set()  # place and subword that translates a word there
    start, covered = 0, set()
    for i in range(len(texts)):
        subwords = texts.subwords[texts.subword_offsets[i] : texts.subword_offsets[i + 1]].tolist()
        of_text: dict[int, set[str]] = {}
        for word in targets:
            forms = spelling.all([word], spaced=spaced[direction[0]])[0]
            for at, form in product(range(1, len(subwords) - 1), forms):
                whole = not spaced[direction[0]] or (begins[subwords[at]] and begins[subwords[at + len(form)]]) if (
                    tuple(subwords[at : at + len(form)]) == form
                ) else False  # fmt: skip
                for place in range(at, at + len(form)) if whole else ():
                    of_text.setdefault(place, set()).add(word)
        for place, words in of_text.items() if len(of_text) > 1 else ():
            covered.add(start + place - 1)
            forms = spelling.all(sorted({target for word in words for target in targets[word]}), spaced=spaced[direction[1]])
            expected |= {(start + place - 1, subword) for of_word in forms for form in of_word for subword in form}
        start += len(subwords) - 2
    assert listed.covered().tolist() == sorted(covered) and len(covered) > 20
    for subword in {subword for _, subword in expected}:
        translated = listed.translates(np.full(start, subword))
        assert set(np.flatnonzero(translated)) == {place for place, of_place in expected if of_place == subword}


def test_no_words_give_no_places(encoder_folder, dev_tokens):  # noqa: F811
    texts = load_subwords([dev_tokens["pairs"] / "en.test.parquet"])
    listed = look_up([], ("en", "de"), texts, Spelling(load_tokenizer(encoder_folder)), SIZE)
    assert not len(listed.places) and not len(listed.translations)
    assert lexicon.entries([]) == {}


def test_the_most_frequent_subwords_of_a_language():
    target, source = as_texts([[2, 7, 7, 5, 3], [2, 7, 5, 9, 3]]), as_texts([[2, 8, 8, 3], [2, 4, 4, 4, 3]])
    counts = Counter([7, 7, 5, 7, 5, 9])
    ranking = [subword for subword, _ in counts.most_common()]
    assert translation_scores.most_frequent(source, target, SIZE).tolist() == ranking[:2] + ranking
