"""Word retrieval: contexts by string search, ranks by brute force, the shift by recomputation."""

from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from conftest import alone, as_texts, build_encoder
from crosslens.config.encoders import RandomEncoder
from crosslens.config.tokenisations import Tokenisation
from crosslens.corpora import dictionaries, schema
from crosslens.corpora.words import words as split_words
from crosslens.encoding.encoders import folder as folders
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.encoders.weights import write as write_weights
from crosslens.encoding.occurrences import Occurrences, Spelling, context_vectors, find, moved, word_vectors
from crosslens.encoding.packing import windows_of
from crosslens.encoding.texts import load_subwords
from crosslens.encoding.tokens.tokenise import load_tokenizer, write_tokens
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from crosslens.measures import retrieval
from crosslens.measures.retrieval import ALONE, CONTEXTS, definition
from crosslens.measures.shared import neighbours
from crosslens.measures.shared.neighbours import Gold, chance, search
from crosslens.measures.shared.subject import Subject
from synthetic.dictionaries import muse
from synthetic.grammar import read_grammar
from test_encoders import unigram_encoder

TOKENISATION = Tokenisation(maximum=500, drop_unknown=False)
LANGUAGES = ("de", "en", "zh")


@pytest.fixture(scope="module")
def unigram_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unigram") / "encoder"
    description, state = unigram_encoder()
    folders.write(description, folder)
    write_weights(state, folder / folders.WEIGHTS)
    return folder


@pytest.fixture(scope="module")
def running(corpora, encoder_folder, unigram_folder, tmp_path_factory) -> dict[str, Path]:
    """Kind of vocabulary -> folder of tokens."""
    found = {}
    for kind, encoder in (("WordPiece", encoder_folder), ("Unigram", unigram_folder)):
        found[kind] = tmp_path_factory.mktemp("tokens") / "paragraphs"
        for language in LANGUAGES:
            name = f"{language}.train.parquet"
            write_tokens(load_tokenizer(encoder), corpora / "paragraphs" / name, found[kind] / name, TOKENISATION, "train")
        write_checksums(found[kind])
    return found


@pytest.fixture(scope="module")
def muse_folder(tmp_path_factory) -> Path:
    """The synthetic corpus's dictionaries from and to English, all words in the test part."""
    folder = tmp_path_factory.mktemp("muse")
    english, others = read_grammar("en"), [read_grammar(language) for language in ("de", "zh")]
    rows: dict[str, list[dict[str, Any]]] = {"de": [], "zh": []}
    for name, content in muse(english, others, 0):
        path = folder / Path(name).name
        path.write_bytes(content)
        language = next(code for code in rows if f"-{code}." in name or f"{code}-en" in name)
        rows[language] += dictionaries.read([path], language)[0]
    for language, own in rows.items():
        schema.write(own, folder / "corpus" / f"{language}.test.parquet", schema.DICTIONARY, {})
    write_checksums(folder / "corpus")
    return folder / "corpus"


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_contexts_are_those_of_a_plain_string_search(
    kind, language, running, corpora, encoder_folder, unigram_folder, muse_folder
):
    spelling = Spelling(load_tokenizer({"WordPiece": encoder_folder, "Unigram": unigram_folder}[kind]))
    texts = load_subwords([running[kind] / f"{language}.train.parquet"])
    assert not texts.cut.any()
    rows = [row for path in muse_folder.glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    sides = ("source", "target")
    words = sorted({row[side] for row in rows for side in sides if row[f"{side}_language"] == language})
    words = [word for word in words if spelling.alone(word)]
    read = pq.read_table(corpora / "paragraphs" / f"{language}.train.parquet")["text"].to_pylist()
    expected = {}
    for number, word in enumerate(words):
        forms = {word, word[0].upper() + word[1:]}
        for text, content in enumerate(read):
            if language == "zh":
                content = "".join(split_words(content))
                times = sum(content.startswith(word, start) for start in range(len(content)))
            else:
                times = sum(form in forms for form in split_words(content))
            if times:
                expected[number, text] = times
    found = find(texts, words, spelling, spaced=language != "zh")
    owners = np.searchsorted(texts.subword_offsets, found.rows, side="right") - 1
    pairs, counts = np.unique(np.stack([found.words, owners], 1), axis=0, return_counts=True)
    assert {(int(word), int(text)): int(n) for (word, text), n in zip(pairs, counts, strict=True)} == expected
    assert len({word for word, _ in expected}) > 5


def test_words_with_unknown_subwords_are_never_found(encoder_folder):
    spelling = Spelling(load_tokenizer(encoder_folder))
    assert spelling.alone("☃") == () and spelling.all(["☃"], spaced=True) == [set()]
    unknown = spelling.tokenizer.encode(["☃"], is_pretokenized=True).ids
    assert not len(find(as_texts([unknown]), ["☃"], spelling, spaced=True).words)


@pytest.mark.parametrize("window", [5, 9, 30])
def test_places_move_to_the_windows_that_models_read(running, window):
    texts = load_subwords([running["WordPiece"] / "de.train.parquet"])
    generator = np.random.default_rng(0)
    inside = np.flatnonzero((texts.subwords[:-1] > 4) & (texts.subwords[1:] > 4))
    places = Occurrences(np.arange(80), np.sort(generator.choice(inside, 80, replace=False)), generator.integers(1, 3, 80))
    for within in ("page", "text"):
        windows = windows_of(texts, window, within)
        found = moved(places, texts, windows)
        ends = (
            np.append(windows.subword_offsets[1:], 0)[np.searchsorted(windows.subword_offsets, found.rows, side="right") - 1] - 1
        )
        for word, (old, new, length) in enumerate(zip(places.rows, found.rows, found.lengths, strict=True)):
            assert windows.subwords[new : new + length].tolist() == texts.subwords[old : old + length].tolist()
            assert length == places.lengths[word] or new + length == ends[word]  # divided by the end of a window
        assert found.words.tolist() == list(range(80)) and (found.lengths > 0).all()
        assert (found.lengths < places.lengths).any() == (window < 30)
    assert moved(places, texts, windows_of(texts, None, "page")).rows.tolist() == places.rows.tolist()


def test_vectors_are_means_of_occurrences_and_of_all_subwords(encoder_folder, running):
    model, spelling = load_encoder(encoder_folder), Spelling(load_tokenizer(encoder_folder))
    texts = load_subwords([running["WordPiece"] / "de.train.parquet"])
    generator = np.random.default_rng(0)
    inside = np.flatnonzero(
        ~np.isin(texts.subwords, spelling.specials) & ~np.isin(np.roll(texts.subwords, -1), spelling.specials)
    )
    rows = np.sort(generator.choice(inside, 60, replace=False))
    places = Occurrences(generator.integers(0, 8, 60), rows, generator.integers(1, 3, 60))
    vectors, mean = context_vectors(model, texts, places, 9, (0, 2), spelling.specials)
    states = torch.cat([alone(model, texts, number)[[0, 2]] for number in range(len(texts))], dim=1)
    flat = states.swapaxes(0, 1).numpy()  # (n_pieces, 2, d)
    for word in range(8):
        own = [flat[row : row + length].mean(0) for w, row, length in zip(*vars(places).values(), strict=True) if w == word]
        np.testing.assert_allclose(vectors[:, word], np.mean(own, 0), atol=1e-5)
    assert np.isnan(vectors[:, 8]).all()
    np.testing.assert_allclose(mean, flat[~np.isin(texts.subwords, spelling.specials)].mean(0), atol=1e-5)
    spelled = [spelling.alone("Hund"), spelling.alone("dass")]
    by_themselves = word_vectors(model, spelled, (0, 2), spelling.special)
    with torch.inference_mode():
        hidden = model(input_ids=torch.tensor([spelling.tokenizer.encode(["dass"], is_pretokenized=True).ids])).last_hidden_state
    np.testing.assert_allclose(by_themselves[1, 1], hidden[0, 1:-1].mean(0), atol=1e-5)


def some_gold(generator: np.random.Generator, n: int, m: int) -> Gold:
    """Of each source word one to three translations, some spelt the same, of some the only one."""
    pairs = [(row, column) for row in range(n) for column in sorted(generator.choice(m, generator.integers(1, 4), replace=False))]
    rows, columns = (np.array(part) for part in zip(*pairs, strict=True))
    return Gold(rows, columns, (generator.random(len(rows)) < 0.3) & np.append(True, np.diff(rows) > 0))


def by_force(similarities: np.ndarray, gold: Gold, *, different: bool) -> list[float]:
    """Ranks by sorting, one source word after the other."""
    found = []
    for row, own in enumerate(similarities):
        mine = gold.sources == row
        golds = set(gold.candidates[mine].tolist())
        asked = set(gold.candidates[mine & ~gold.identical].tolist()) if different else golds
        best = max((own[column] for column in asked), default=None)
        others = [own[column] for column in range(len(own)) if column not in golds]
        found.append(np.nan if best is None else 1 + sum(other >= best for other in others))
    return found


def cosine_matrix(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in y] for a in x])


@pytest.mark.parametrize("held", [1 << 24, 100, 1])
def test_ranks_by_cosine_and_csls_are_those_of_brute_force(held, monkeypatch):
    monkeypatch.setattr(neighbours, "SIMILARITIES", held)
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(40, 6)) + 1, generator.normal(size=(31, 6)) + 1
    gold = some_gold(generator, 40, 31)
    cosines = cosine_matrix(x, y)
    near_x = [np.mean(sorted(row)[-10:]) for row in cosines]
    near_y = [np.mean(sorted(column)[-10:]) for column in cosines.T]
    csls = 2 * cosines - np.array(near_x)[:, None] - near_y
    found = search(x, y, gold)
    for name, similarities in (("cosine", cosines), ("csls", csls)):
        for different, ranks in ((False, found[name].ranks), (True, found[name].different)):
            np.testing.assert_array_equal(ranks, by_force(similarities, gold, different=different))
        nearest = [column for row in similarities for column in np.argsort(row)[-10:]]
        counts = np.bincount(nearest, minlength=31)
        central = counts - counts.mean()
        assert found[name].hubness == pytest.approx((central**3).mean() / (central**2).mean() ** 1.5)
    assert np.isnan(found["cosine"].different).any() and not np.array_equal(found["cosine"].ranks, found["csls"].ranks)


def test_ties_count_against_a_translation_but_other_translations_do_not():
    candidates = np.array([[1.0, 0], [2, 0], [3, 0], [0, 1], [0, 0]])
    x = np.array([[5.0, 0], [5, 0], [0, 1], [0, 0]])
    gold = Gold(np.array([0, 1, 1, 1, 2, 3]), np.array([2, 0, 1, 2, 3, 0]), np.zeros(6, bool))
    assert search(x, candidates, gold)["cosine"].ranks.tolist() == [3, 1, 1, 5]  # zero vectors are as far from everything


def test_chance_is_the_mean_over_all_orders():
    for m, g in ((1, 1), (6, 1), (7, 3), (5, 5)):
        best = [min(chosen) for chosen in combinations(range(1, m + 1), g)]
        assert len(best) == comb(m, g)
        for places in (0, 1):
            expected = np.mean([1 / (rank + places) for rank in best])
            assert chance(np.array([m]), np.array([g]), places)[0] == pytest.approx(expected)
    n = 1500
    assert chance(np.array([n]), np.array([1]))[0] == pytest.approx(sum(1 / rank for rank in range(1, n + 1)) / n)


def given(folder: Path, tokens: Path, muse_folder: Path) -> Subject:
    return Subject(folder, 0, {"paragraphs": tokens}, dictionaries={"muse": muse_folder})


SETTINGS: dict[str, Any] = {
    "corpora": {"paragraphs": "whole"}, "source": "en", "split": "train", "dictionaries": ["muse"], "dictionary_split": "test",
    "window": 40, "within": "page",
}  # fmt: skip


@pytest.fixture(scope="module")
def records(encoder_folder, running, muse_folder) -> list[dict[str, Any]]:
    return list(retrieval.measure(given(encoder_folder, running["WordPiece"], muse_folder), **SETTINGS))


def value(rows: list[dict[str, Any]], name: str, item: str = "en-de", layer: int | None = None) -> dict[str, Any]:
    found = [row for row in rows if row["definition"] == name and row["item"] == item and row.get("layer") == layer]
    assert len(found) == 1, name
    return found[0]


def test_records_are_of_all_directions_layers_and_definitions(records):
    assert {(row["item"], row["language"]) for row in records} == {
        ("en-de", "de"),
        ("de-en", "de"),
        ("en-zh", "zh"),
        ("zh-en", "zh"),
    }
    names = {row["definition"] for row in records if "layer" in row}
    assert len(names) == 2 * 2 * 2 * (2 * 2 + 1)
    keys = [(row["item"], row["definition"], row.get("layer")) for row in records]
    assert len({*keys}) == len(keys)
    assert {row.get("layer") for row in records} == {None, 0, 1, 2}
    for row in records:
        if "low" in row:
            assert 0 <= row["low"] <= row["value"] <= row["high"] <= 1
    words = value(records, "source words")["value"]
    assert words > 20 and value(records, definition(CONTEXTS, "cosine", "mrr"), layer=0)["n"] == words
    assert 0 < value(records, "source words without contexts")["value"] < 1
    lowest = 1 / value(records, "candidates")["value"]
    assert lowest <= value(records, "chance, precision at 1")["value"] < value(records, "chance, mrr")["value"] < 0.5


def test_the_words_do_not_depend_on_the_model(records, running, encoder_folder, muse_folder, tmp_path):
    settings = RandomEncoder(source="random", tokenizer="tiny", layers=1, hidden=16, seed=5)
    folder = build_encoder(settings, [], tmp_path / "other", encoder_folder)
    rows = list(retrieval.measure(given(folder, running["WordPiece"], muse_folder), **SETTINGS, layers="last"))
    assert {row.get("layer") for row in rows} == {None, 1}
    for one in records:
        if "layer" not in one:
            assert value(rows, one["definition"], one["item"])["value"] == one["value"]


def test_at_most_the_first_texts_are_read(records, running, encoder_folder, muse_folder):
    rows = list(retrieval.measure(given(encoder_folder, running["WordPiece"], muse_folder), **SETTINGS, layers="last", texts=3))
    few, all_words = (value(each, "source words")["value"] for each in (rows, records))
    assert 0 < few < all_words


def test_the_shift_adds_the_difference_of_means(encoder_folder, running, muse_folder):
    """Words by themselves, at the last layer, from English to German, recomputed, where each text is read by itself."""
    settings = SETTINGS | {"window": None, "layers": "last"}
    records = list(retrieval.measure(given(encoder_folder, running["WordPiece"], muse_folder), **settings))
    model, spelling = load_encoder(encoder_folder), Spelling(load_tokenizer(encoder_folder))
    means, known = {}, {}
    pairs = [row for row in pq.read_table(muse_folder / "de.test.parquet").to_pylist() if row["source_language"] == "en"]
    for language, side in (("en", "source"), ("de", "target")):
        texts = load_subwords([running["WordPiece"] / f"{language}.train.parquet"])
        subwords = [alone(model, texts, number)[-1, 1:-1].numpy() for number in range(len(texts))]
        with torch.inference_mode():
            words = sorted({row[side] for row in pairs})
            there = find(texts, words, spelling, spaced=True).words
            for number in np.unique(there):
                ids = torch.tensor([spelling.tokenizer.encode([words[number]], is_pretokenized=True).ids])
                known.setdefault(language, {})[words[number]] = model(input_ids=ids).last_hidden_state[0, 1:-1].mean(0).numpy()
        means[language] = np.concatenate(subwords).mean(0)
    kept = [(row["source"], row["target"]) for row in pairs if row["source"] in known["en"] and row["target"] in known["de"]]
    candidates = sorted({target for _, target in kept})
    for shift in (0, 1):
        reciprocal = []
        for word in sorted({source for source, _ in kept}):
            vector = known["en"][word] + shift * (means["de"] - means["en"])
            similar = cosine_matrix(vector[None], np.array([known["de"][target] for target in candidates]))[0]
            golds = {target for source, target in kept if source == word}
            best = max(similar[candidates.index(target)] for target in golds)
            above = sum(one >= best - 1e-6 for one, target in zip(similar, candidates, strict=True) if target not in golds)
            reciprocal.append(1 / (1 + above))
        found = value(records, definition(ALONE, "cosine", "mrr", shift=bool(shift)), layer=2)
        assert found["value"] == pytest.approx(np.mean(reciprocal)) and found["n"] == len(reciprocal)


def test_identical_strings_come_first_in_their_baseline(tmp_path, encoder_folder, running):
    words = [("the", "the"), ("the", "der"), ("a", "ein"), ("ein", "a")]
    rows = [
        {"id": str(n), "source_language": "en", "target_language": "de", "source": one, "target": other}
        for n, (one, other) in enumerate(words)
    ]  # fmt: skip
    gold = retrieval._gold([(row["source"], row["target"]) for row in rows], ["the", "a", "ein"], ["the", "der", "ein", "a"])
    found = {
        row["definition"]: row["value"] for row in retrieval._baselines(["the", "a", "ein"], ["the", "der", "ein", "a"], gold)
    }
    assert found["identical strings, precision at 1"] == pytest.approx(1 / 3)
    behind = (1 / 2 + 1 / 3 + 1 / 4) / 3  # a and ein have a candidate that is spelt so and is no translation
    assert found["identical strings, mrr"] == pytest.approx((1 + 2 * behind) / 3)
    assert found["chance, mrr"] == pytest.approx(((3 * 1 + 2 * 1 / 2 + 1 * 1 / 3) / 6 + 2 * (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4) / 3)
    one = (1 + 1 / 2 + 1 / 3) / 3
    assert found["chance, mrr, different strings"] == pytest.approx((one + 2 * (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4) / 3)


def test_no_dictionary_for_the_texts_is_refused(encoder_folder, running, muse_folder):
    with pytest.raises(DataError, match="expected a dictionary between fr and another of de, en, zh, found none in muse"):
        list(retrieval.measure(given(encoder_folder, running["WordPiece"], muse_folder), **(SETTINGS | {"source": "fr"})))
