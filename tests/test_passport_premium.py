"""The premium of a language, from tokens of parallel sentences: counts worked out by hand."""

import numpy as np
import pyarrow as pa
import pytest
from crosslens.encoding.parallel_texts import unmeasurable
from crosslens.encoding.samples import SampledWords
from crosslens.encoding.tokens.schema import TOKENS
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError
from crosslens.papers.passport.premium import premium
from test_liu2020 import tokenizer, write_tokens

TEXTS = {"en": ["cat", "a dog"], "de": ["Katze", "ein Hund"], "am": ["ድ", "ድመት"]}
BLOCKS = np.array([0, 1])
NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "<0xE1>", "<0x8B>"]


def measured(folder, subwords):
    """(language, definition, kind of baseline) -> record. subwords: of each language's sentences, without special ones."""
    for language, sentences in subwords.items():
        write_tokens(folder / f"{language}.test.parquet", [[2, *numbers, 3] for numbers in sentences])
    rows = [(language, str(number), text) for language, texts in TEXTS.items() for number, text in enumerate(texts)]
    languages, ids, texts = (np.array(column) for column in zip(*rows, strict=True))
    names, n = np.array([f"{language}/{id}" for language, id in zip(languages, ids, strict=True)]), len(rows)
    none, every = np.zeros(n, bool), np.ones(n, bool)
    sentences = SampledWords(names, texts, np.full(n, ""), languages, np.full(n, "test"), every, none)
    records = premium(folder, tokenizer(folder, NAMES), sentences, [*TEXTS], "en", BLOCKS)
    return {(row["language"], row["definition"], row.get("item", "")): row for row in records}


def test_premium_counts_subwords_without_special_ones(tmp_path):
    records = measured(tmp_path, {"en": [[4], [4, 5]], "de": [[4, 5, 4], [4, 5, 4, 5]], "am": [[6, 7], [1, 6, 7, 4]]})
    values = {place: row["value"] for place, row in records.items()}
    assert [values[language, "premium", ""] for language in TEXTS] == [1, pytest.approx(7 / 3), 2]
    assert values["de", "premium", "formula"] == pytest.approx(13 / 8)
    assert values["am", "premium", "formula"] == pytest.approx(12 / 8)  # three bytes a character
    assert [values[language, "unknown share", ""] for language in TEXTS] == [0, 0, pytest.approx(5 / 6)]
    assert values["am", "subwords per character", ""] == 6 / 4 and values["en", "subwords per character", ""] == 3 / 8


def test_the_interval_leaves_out_blocks_and_the_pivot_has_none(tmp_path):
    records = measured(tmp_path, {"en": [[4], [4, 5]], "de": [[4, 5, 4], [4, 5]], "am": [[6], [6, 7]]})
    german, english = (records[language, "premium", ""] for language in ("de", "en"))
    assert german["low"] < german["value"] < german["high"] and german["n"] == 2
    assert german["value"] == pytest.approx(5 / 3)
    assert np.isnan([english["low"], english["high"]]).all()  # 1 whatever the sentences


def sentences(folder, cut=0, **subwords):
    """Write tokens of parallel sentences; subwords: of each language's, without special ones; cut: German ones that were cut."""
    for language, texts in subwords.items():
        rows = [
            {"id": str(number), "subwords": [2, *numbers, 3], "cut": language == "de" and number < cut}
            for number, numbers in enumerate(texts)
        ]
        metadata = {"cut_texts": cut if language == "de" else 0, "special": [1, 1, 1]}
        parquet.write(pa.Table.from_pylist(rows, schema=TOKENS), folder / f"{language}.test.parquet", metadata)
    return folder, [*subwords], "en"


TWENTY = [[4, number] for number in range(20)]


@pytest.mark.parametrize(
    ("texts", "cut", "reason"),
    [
        (TWENTY, 2, None),
        (TWENTY, 3, "3 of 20 sentences are longer than the encoder or the tokenisation allows, and were cut"),
        ([*TWENTY[1:], []], 0, "the tokenizer leaves nothing of 1 of 20 sentences"),
        ([[1]] * 20, 0, "the tokenizer gives all its sentences the same subwords"),
        (TWENTY[1:], 0, "its sentences are not those of en, or in another order"),
    ],
)  # fmt: skip
def test_one_language_is_left_out_with_the_reason(tmp_path, texts, cut, reason):
    folder, languages, pivot = sentences(tmp_path, cut, en=TWENTY, de=texts, th=TWENTY)
    assert unmeasurable(folder, languages, pivot) == ({"de": reason} if reason else {})


@pytest.mark.parametrize("texts", [{"en": [[]] * 20, "de": TWENTY, "th": TWENTY}, {"en": TWENTY, "de": [[]] * 20}])
def test_nothing_to_measure_is_refused_in_a_line(tmp_path, texts):
    with pytest.raises(DataError, match=r"expected texts that can be measured in en and another language, found none \(.*leaves"):
        unmeasurable(*sentences(tmp_path, **texts))
