"""Measures of a passport on planted states: translations that are the same, shifted, independent, and topics that are shared."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import write_states
from crosslens.jobs.checksums import checksummed
from crosslens.jobs.errors import DataError
from crosslens.measures import alignment, language_geometry, topic_transfer
from crosslens.measures.shared.parallel import FORMULA, NOT_MEASURED, SHUFFLED_PAIRS, Parallel
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.halves import blocks, halves

LANGUAGES = ["de", "en", "es", "fi", "hi", "tr"]
KINSHIP = {language: ["Indo-European", language] for language in LANGUAGES}
KINSHIP |= {"fi": ["Uralic", "Finnic"], "tr": ["Turkic", "Turkic"]}
N, D, K = 120, 24, 5
IDS = [str(3 * number) for number in range(N)]
BLOCK = 15


def parallel(states):
    """Sentences of LANGUAGES at one layer. states: (languages, N, D)."""
    topics = np.array(["home", "travel"])[np.arange(N) // 2 % 2]
    return Parallel(LANGUAGES, IDS, topics, blocks(IDS, BLOCK), halves(IDS, BLOCK), [0], [states.astype(np.float32)])


@pytest.fixture(scope="module")
def content():
    """States of sentences without a language."""
    return np.random.default_rng(0).standard_normal((1, N, D))


@pytest.fixture(scope="module")
def same(content):
    return parallel(np.repeat(content, len(LANGUAGES), 0))


@pytest.fixture(scope="module")
def shifted(content):
    return parallel(content + 40 * np.random.default_rng(1).standard_normal((len(LANGUAGES), 1, D)))


@pytest.fixture(scope="module")
def independent():
    return parallel(np.random.default_rng(2).standard_normal((len(LANGUAGES), N, D)))


def aligned(states, subwords=None, samples=3):
    """(measure, definition, kind of baseline) -> mean over languages of alignment with English."""
    subwords = np.full((len(LANGUAGES), N), 12) if subwords is None else subwords
    return means(alignment.of_languages(states, subwords, LANGUAGES.index("en"), K, states.orders(samples, 0)))


def means(records):
    values = {}
    for record in records:
        values.setdefault((record["measure"], record["definition"], record.get("item", "")), []).append(record["value"])
    return {place: float(np.mean(numbers)) for place, numbers in values.items()}


HIGH = [("anc", "raw"), ("anc", "raw, length out"), ("cka", "raw"), ("cka", "raw, length out"), ("mexa", "raw"),
        ("mexa", "centred"), ("neighbours", "strong, raw"), ("neighbours", "strong, centred"), ("mutual_knn", "raw"),
        ("mutual_knn", "centred")]  # fmt: skip


def test_translations_that_are_the_same_are_aligned(same):
    values = aligned(same)
    assert {place: values[*place, ""] for place in HIGH} == pytest.approx(dict.fromkeys(HIGH, 1))
    assert values["neighbours", "own, raw", ""] == 0 and values["isotropy", "margin", ""] > 0.9


def test_centring_finds_what_a_shift_hides(shifted):
    values = aligned(shifted)
    assert values["neighbours", "strong, raw", ""] == 0 and values["neighbours", "own, raw", ""] == 1
    assert values["neighbours", "strong, centred", ""] > 0.99 and values["neighbours", "own, centred", ""] < 0.01
    for place in (("anc", "raw"), ("cka", "raw"), ("mutual_knn", "centred")):
        assert values[*place, ""] > 0.99, place


def test_independent_states_are_no_better_than_shuffled_pairs_and_the_formulae(independent, same):
    values, baselines = aligned(independent), aligned(same, samples=10)
    for measure, definition in HIGH:
        assert abs(values[measure, definition, ""] - values[measure, definition, SHUFFLED_PAIRS]) < 0.05, measure
        assert abs(baselines[measure, definition, SHUFFLED_PAIRS] - values[measure, definition, ""]) < 0.05, measure
    assert values["mutual_knn", "raw", FORMULA] == K / (N - 1)
    assert abs(values["mutual_knn", "raw", ""] - K / (N - 1)) < 0.02
    assert values["mexa", "raw", FORMULA] == 1 / (2 * N - 1) and values["mexa", "raw", ""] < 0.03


def test_length_alone_is_correlation_that_goes_with_it():
    rng = np.random.default_rng(3)
    subwords = np.repeat(rng.integers(5, 90, N)[None], len(LANGUAGES), 0)
    values = aligned(parallel(rng.standard_normal((len(LANGUAGES), N, D)) + 2 * np.log(subwords)[..., None]), subwords)
    assert values["anc", "raw", ""] > 0.5 and values["cka", "raw", ""] > 0.5
    assert abs(values["anc", "raw, length out", ""]) < 0.05 and abs(values["cka", "raw, length out", ""]) < 0.1


def test_few_sentences_have_no_cka_without_length():
    few = 60
    states = np.random.default_rng(9).standard_normal((len(LANGUAGES), few, D)).astype(np.float32)
    ids, topics = IDS[:few], np.full(few, "home")
    sentences = Parallel(LANGUAGES, ids, topics, blocks(ids, BLOCK), halves(ids, BLOCK), [0], [states])
    values = aligned(sentences, np.full((6, few), 12))
    assert {("cka", "raw", ""), ("anc", "raw, length out", "")} <= values.keys()
    assert ("cka", "raw, length out", "") not in values


def test_intervals_hold_the_value_and_are_wide_where_sentences_differ(content):
    noisy = parallel(content + 1.5 * np.random.default_rng(4).standard_normal((len(LANGUAGES), N, D)))
    records = alignment.of_languages(noisy, np.full((6, N), 12), 1, K, noisy.orders(2, 0))
    rows = [row for row in records if "low" in row and row["measure"] in ("anc", "mexa", "neighbours", "mutual_knn")]
    assert len(rows) == 5 * (2 + 2 * 4)
    assert all(row["low"] < row["value"] < row["high"] and 0.01 < row["high"] - row["low"] < 0.5 for row in rows)


def located(states, permutations=50):
    return means(language_geometry.of_layers(states, KINSHIP, 1.0, 1e-3, permutations, 0))


def test_languages_apart_are_named_and_after_centring_are_not(shifted):
    values = located(shifted)
    assert values["identification", "raw", ""] == 1 and values["share", "raw", ""] > 0.99
    assert values["identification", "centred", ""] < 0.3 and values["identification", "raw", FORMULA] == pytest.approx(1 / 6)
    assert 1 <= values["identification", "directions", ""] <= 5 and 1 <= values["share", "axes", ""] <= 5


def test_languages_together_are_not_named(same, independent):
    for states in (same, independent):
        values = located(states)
        assert values["identification", "raw", ""] < 0.35 and abs(values["share", "raw", ""]) < 0.02
        assert abs(values["share", "raw", SHUFFLED_PAIRS]) < 0.02
        assert abs(values["identification", "raw", SHUFFLED_PAIRS] - 1 / 6) < 0.1


def test_families_whose_means_are_near_are_found(content):
    family = np.array([0, 0, 0, 1, 0, 2])  # Uralic fi, Turkic tr, the others Indo-European
    means_of_languages = 6 * np.eye(D)[family][:, None] + np.random.default_rng(5).standard_normal((6, 1, D)) / 4
    values = located(parallel(content + means_of_languages), 500)
    mantel = [values["genealogy", "Mantel correlation", kind] for kind in ("", SHUFFLED_PAIRS)]
    assert mantel[0] > 0.8 and abs(mantel[1]) < 0.2


def transferred(states, planted):
    training = topic_transfer.Training(planted[0], planted[1], blocks(planted[2], BLOCK), halves(planted[2], BLOCK))
    options = {"penalties": [0.1], "tolerance": 1e-3, "seed": 0}
    return list(topic_transfer.of_layer(states, states.states[0].astype(np.float64), training, 1, options))


def topical(offset):
    """Parallel sentences with two topics, and English ones for training; languages lie `offset` apart along the topics' axis."""
    rng = np.random.default_rng(6)
    base = parallel(np.zeros((6, N, D)))
    axis = np.eye(D)[0]
    side = np.where(base.labels == "home", 5.0, -5.0)
    moved = offset * np.array([1.0, 0, 1, -1, 1, -1])[:, None, None]
    states = parallel(side[None, :, None] * axis + moved * axis + rng.standard_normal((6, N, D)))
    labels = np.array(["home", "travel"])[np.arange(N) // 2 % 2]
    vectors = np.where(labels == "home", 5.0, -5.0)[:, None] * axis + rng.standard_normal((N, D))
    return states, (vectors, labels, [str(int(id) + 1) for id in IDS])


def test_topics_are_found_in_other_languages():
    values = means(transferred(*topical(0)))
    for definition in ("raw", "centred", "official split", "macro F1"):
        assert values["topic", definition, ""] > 0.9, definition
    assert abs(values["topic", "raw", SHUFFLED_PAIRS] - 0.5) < 0.25 and abs(values["topic", "gap", ""]) < 0.05


def test_a_language_offset_along_the_topics_costs_transfer_and_centring_gives_it_back():
    records = transferred(*topical(14))
    values = means(records)
    assert values["topic", "raw", ""] < 0.65 and values["topic", "centred", ""] > 0.9 and values["topic", "gap", ""] > 0.3
    english = next(row for row in records if row["language"] == "en" and row["definition"] == "raw" and "item" not in row)
    assert english["value"] > 0.9


def test_erasure_takes_the_axis_on_which_languages_lie():
    """LEACE removes the only direction that has both language and topic, so that nothing is left to learn."""
    values = means(transferred(*topical(14)))
    assert values["topic", "erased", ""] < 0.75


def test_what_is_measured_hangs_on_no_batch_of_languages(content):
    noisy = parallel(content + np.random.default_rng(7).standard_normal((6, N, D)))
    part = replace(noisy, languages=LANGUAGES[:3], states=[noisy.states[0][:3]])
    orders, subwords = noisy.orders(2, 0), np.full((6, N), 12)

    def german(states, sizes):
        return [row for row in alignment.of_languages(states, sizes, 1, K, orders) if row["language"] == "de" and "low" in row]

    assert [row["value"] for row in german(noisy, subwords)] == pytest.approx(
        [row["value"] for row in german(part, subwords[:3])]
    )


def stored(folder, **ids_by_language):
    """Write states of a corpus, whose only dimension at layer L is L + the number of the sentence; returns its folder."""
    with checksummed(folder) as temporary:
        for language, ids in ids_by_language.items():
            states = {f"layer_{layer}": np.array([[layer + float(id)] for id in ids], np.float32) for layer in (0, 1)}
            write_states(temporary / f"{language}.parquet", states, ids, label=ids)
    return folder


def test_sentences_are_read_block_by_block_with_what_belongs_to_them(tmp_path):
    sentences = Parallel.read(stored(tmp_path / "corpus", **dict.fromkeys(("de", "en"), ["31", "2", "14", "1"])), 10)
    assert sentences.ids == ["2", "1", "14", "31"] and sentences.labels.tolist() == sentences.ids
    assert sentences.blocks.tolist() == [0, 0, 1, 2] and sentences.half.tolist() == [0, 0, 1, 1]
    assert sentences.layers == [0, 1] and sentences.states[1][1, :, 0].tolist() == [3, 2, 15, 32]


def test_a_language_whose_states_are_not_numbers_is_left_out(tmp_path):
    with checksummed(tmp_path / "corpus") as temporary:
        for language, value in {"de": np.nan, "en": 1.0, "es": 2.0}.items():
            write_states(temporary / f"{language}.parquet", {"layer_0": np.array([[1.0], [value]], np.float32)}, ["1", "14"])
    sentences = Parallel.read(tmp_path / "corpus", 10)
    assert (
        sentences.languages == ["en", "es"]
        and [record["language"] for record in sentences.left_out] == ["de"]
        and len(sentences.states[0]) == 2
    )


def test_a_language_whose_states_do_not_vary_costs_no_other(independent):
    states = independent.states[0].copy()
    states[0] = 1.0
    values, all_languages = aligned(parallel(states)), located(parallel(states))
    assert np.isfinite(values["neighbours", "strong, raw", ""]) and np.isfinite(all_languages["identification", "raw", ""])
    rows = alignment.of_languages(parallel(states), np.full((len(LANGUAGES), N), 12), 1, K, independent.orders(2, 0))
    undefined = {row["language"] for row in rows if row["measure"] in ("anc", "cka") and not np.isfinite(row["value"])}
    assert undefined == {"de"}


def test_topics_that_cannot_be_learnt_are_told(tmp_path):
    ids, states = ["1", "14", "22", "35"], {"layer_0": np.eye(4, dtype=np.float32)}
    for corpus, languages in (("tests", ("de", "en")), ("training", ("en",))):
        with checksummed(tmp_path / corpus) as temporary:
            for language in languages:
                write_states(temporary / f"{language}.parquet", states, ids, label=["home"] * 4)
    settings = {"source": "en", "block": 10, "penalties": [1.0], "tolerance": 1e-3}
    (record,) = topic_transfer.measure(Subject(tmp_path, 0, {}), corpus="tests", training="training", **settings)
    assert (record["definition"], "value" in record) == (NOT_MEASURED, False) and "at least two classes" in record["item"]


@pytest.mark.parametrize(
    ("german", "english", "message"),
    [
        (["1", "20"], ["1", "21"], r"en\.parquet: expected the sentences of de, with the same ids, found others \(20, 21\)"),
        (["20", "1"], ["1", "20"], r"found others \(in another order\)"),
    ],
)  # fmt: skip
def test_texts_that_are_not_parallel_are_refused_in_a_line(german, english, message, tmp_path):
    stored(tmp_path / "corpus", de=german, en=english)
    with pytest.raises(DataError, match=message):
        Parallel.read(tmp_path / "corpus", 10)
