"""CKA of translations from stored states, with and without what the length of sentences explains."""

import numpy as np
import pytest
from conftest import write_states
from crosslens.corpora import schema
from crosslens.encoding.tokens.schema import TOKENS
from crosslens.jobs.checksums import checksummed, write_checksums
from crosslens.measures import similarity
from crosslens.measures.shared.cka import LENGTH_OUT, OURS, cka
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.alignment import FEWEST, length_out

N, D = 200, 24


@pytest.fixture
def subject(tmp_path):
    """English, its states plus noise (de), and states of which only the length is that of English (fi), at one layer."""
    generator = np.random.default_rng(0)
    sizes = generator.integers(5, 60, N)
    logarithms = np.log(sizes)[:, None]
    content, noise, other = generator.standard_normal((3, N, D))
    by_length = 4 * (logarithms - logarithms.mean()) @ generator.standard_normal((1, D))
    states = {"en": content + by_length, "de": content + by_length + 0.5 * noise, "fi": other + by_length}
    with checksummed(tmp_path / "states") as folder:
        for language, vectors in states.items():
            write_states(folder / f"pud/{language}.parquet", {"layer_0": vectors}, [f"s{number}" for number in range(N)])
    tokens = tmp_path / "tokens"
    for language in states:
        empty = {name: [] for name in TOKENS.names} | dict.fromkeys(("page", "label"), "")
        empty |= {"language": language, "second": 0, "cut": False, "cut_words": 0}
        rows = [empty | {"id": f"s{number}", "subwords": [1] * size} for number, size in enumerate(sizes.tolist())][::-1]
        schema.write(rows, tokens / f"{language}.test.parquet", TOKENS, {"special": [1, 1, 1]})
    write_checksums(tokens)
    return Subject(tmp_path / "states", 0, {"pud": tokens})


def test_length_is_left_in_where_few_sentences_would_be_biased_by_it():
    generator, values = np.random.default_rng(0), {24: [], FEWEST: []}
    for n, of_size in values.items():
        for _ in range(100):
            sizes = generator.integers(5, 40, n)
            of_size.append(cka(*(length_out(states, sizes) for states in generator.standard_normal((2, n, 64)))))
    assert np.mean(values[24]) > 0.1 and abs(np.mean(values[FEWEST])) < 0.02


def test_sentences_of_one_length_are_alike_until_it_is_taken_out(subject):
    records = list(similarity.measure(subject, corpus="pud", reference="en", draws=20))
    values = {(row["measure"], row["definition"], row["language"]): row["value"] for row in records}
    assert values["cka", OURS, "fi"] > 0.5 and abs(values["cka", LENGTH_OUT, "fi"]) < 0.05
    assert values["cka", OURS, "de"] > 0.8 and values["cka", LENGTH_OUT, "de"] > 0.7
    floors = [values["cka floor", LENGTH_OUT, language] for language in ("de", "fi")]
    assert max(map(abs, floors)) < 0.02
    assert all(
        row["low"] <= row["value"] <= row["high"]
        for row in records
        if row["measure"] == "cka" and row["definition"] == LENGTH_OUT
    )
