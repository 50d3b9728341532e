"""From words to subwords: which subword carries a label, truncation, unknown subwords."""

import json
import logging
import unicodedata
from functools import partial
from itertools import chain

import numpy as np
import pyarrow.parquet as pq
import pytest
import vocabularies
from conftest import refused, save_tokenizer, sentence_rows
from crosslens.config.tokenisations import Tokenisation
from crosslens.corpora import schema
from crosslens.corpora.words import words
from crosslens.encoding.encoders.folder import Description
from crosslens.encoding.encoders.special import unknown_subword
from crosslens.encoding.occurrences import Spelling
from crosslens.encoding.tokens.counts import Vocabulary
from crosslens.encoding.tokens.schema import TOKENS
from crosslens.encoding.tokens.schema import counts as counts_of
from crosslens.encoding.tokens.tokenise import (
    CUT,
    altering,
    labelled_subwords,
    load_tokenizer,
    tokenise,
    write_corpus_tokens,
    write_tokens,
    write_train,
)
from crosslens.encoding.tokens.windows import windows
from crosslens.jobs import parquet
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast


def bert_like(vocabulary: list[str], pre_tokenizer=pre_tokenizers.BertPreTokenizer, **options) -> Tokenizer:
    """A cased WordPiece tokenizer with [CLS] before and [SEP] after a text."""
    numbers = {subword: number for number, subword in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]", **options))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(lowercase=False), pre_tokenizer()
    tokenizer.post_processor = processors.BertProcessing(*((name, numbers[name]) for name in ("[SEP]", "[CLS]")))
    return tokenizer


def wordpiece() -> Tokenizer:
    return bert_like("[PAD] [UNK] [CLS] [SEP] well known - play ##ing ##s a b ##a ##b".split())


def long_wordpiece() -> Tokenizer:
    """One whose words of any length have a subword a letter."""
    return bert_like("[UNK] [CLS] [SEP] a ##a".split(), pre_tokenizers.WhitespaceSplit, max_input_chars_per_word=1000)


def unigram() -> Tokenizer:
    """Words of an unspaced script, such as 你好, have no subword that begins with the mark."""
    subwords = [("<s>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), ("▁play", -3.0), ("ing", -3.5), ("你", -4.0),
              ("好", -4.0), ("你好", -4.5), ("▁a", -5.0), ("b", -6.0), ("a", -6.0)]  # fmt: skip
    tokenizer = Tokenizer(models.Unigram(subwords, unk_id=2, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)])
    return tokenizer


def labelled(tokenizer, words, option):
    encoding = tokenizer.encode(words, is_pretokenized=True)
    return [(words[word], encoding.tokens[position]) for word, position in labelled_subwords(encoding, option)]


@pytest.mark.parametrize(
    ("option", "subwords"),
    [("first", ["well", "play"]), ("first_visible", ["well", "play"]), ("word_starts", ["well", "-", "known", "play"])],
)
def test_labelled_wordpieces(option, subwords):
    found = labelled(wordpiece(), ["well-known", "playings"], option)
    assert [subword for _, subword in found] == subwords
    assert found[-1][0] == "playings"
    assert {word for word, _ in found[:-1]} == {"well-known"}


@pytest.mark.parametrize(("option", "subwords"), [("first", ["▁play", "▁", "▁a"]), ("first_visible", ["▁play", "你好", "▁a"])])
def test_labelled_unigram_subwords(option, subwords):
    found = labelled(unigram(), ["playing", "你好", "a"], option)
    assert found == list(zip(["playing", "你好", "a"], subwords, strict=True))


@given(st.lists(st.text("ab-", min_size=1, max_size=4), max_size=8))
def test_word_starts_are_the_subwords_that_continue_no_other(words):
    encoding = wordpiece().encode(words, is_pretokenized=True)
    positions = [position for _, position in labelled_subwords(encoding, "word_starts")]
    subwords = enumerate(zip(encoding.tokens, encoding.word_ids, strict=True))
    assert positions == [i for i, (subword, word) in subwords if not subword.startswith("##") and word is not None]


def sentence(*forms, upos=None, id="s"):
    return {"id": id, "language": "en", "forms": list(forms), "upos": list(upos or ["X"] * len(forms))}


def pair(premise, hypothesis, label="neutral", id="p"):
    return {"id": id, "language": "en", "premise": premise, "hypothesis": hypothesis, "label": label}


ROWS = {  # of a corpus -> what is not empty in the row of its tokens
    "sentence": (sentence("well-known", "playing", upos=["ADJ", "NOUN"], id="a"), {
        "subwords": [2, 4, 6, 5, 7, 8, 3], "words": ["well-known", "playing"], "positions": [1, 4], "labels": ["ADJ", "NOUN"]}),
    "running text": ({"id": "a", "language": "en", "page": "P", "text": "a-b  plays"}, {
        "page": "P", "subwords": [2, 10, 6, 11, 7, 9, 3], "words": ["a", "-", "b", "plays"], "positions": [1, 2, 3, 4],
        "labels": [""] * 4}),
    "pair": (pair("a-b plays", "a b", "entailment", id="a"), {
        "subwords": [2, 10, 6, 11, 7, 9, 3, 10, 11, 3], "words": ["a", "-", "b", "plays", "a", "b"],
        "positions": [1, 2, 3, 4, 7, 8], "labels": [""] * 6, "label": "entailment", "second": 7}),
}  # fmt: skip


@pytest.mark.parametrize("kind", ROWS)
def test_tokens_of_a_row(kind):
    row, expected = ROWS[kind]
    table, counts = tokenise(wordpiece(), [row], Tokenisation())
    assert table.schema == TOKENS
    empty = {"page": "", "heads": [], "relations": [], "label": "", "second": 0, "cut": False, "cut_words": 0}
    assert table.to_pylist() == [{"id": "a", "language": "en"} | empty | expected]
    assert counts == {"texts": 1, "unknown": 0, "cut_texts": 0, "cut_words": 0, "words_without_subword": 0}


@pytest.mark.parametrize(("words", "cut"), [(6, 0), (7, 1), (20, 14)])
def test_truncation_keeps_the_closing_subword_and_counts_words(words, cut):
    table, counts = tokenise(wordpiece(), [sentence(*["a"] * words)], Tokenisation(maximum=8))
    row = table.to_pylist()[0]
    assert len(row["subwords"]) == min(words + 2, 8)
    assert (row["subwords"][0], row["subwords"][-1]) == (2, 3)
    assert row["positions"] == list(range(1, min(words, 6) + 1))
    assert (counts["cut_texts"], counts["cut_words"]) == (int(cut > 0), cut) == (row["cut"], row["cut_words"])


def test_unknown_subwords_drop_the_text_even_where_it_is_cut():
    rows = [sentence("a", id="good"), sentence("ξ", id="bad"), sentence(*["a"] * 20, "ξ", id="bad at its end")]
    for tokenizer, settings in ((wordpiece(), {"maximum": 8}), (unigram(), {"labelled_subword": "first_visible"})):
        table, counts = tokenise(tokenizer, rows, Tokenisation(**settings))
        assert (table["id"].to_pylist(), counts["unknown"], counts["texts"]) == (["good"], 2, 1)
    table, counts = tokenise(wordpiece(), rows, Tokenisation(maximum=8, drop_unknown=False))
    assert (len(table), counts["unknown"]) == (3, 0)
    rows = [sentence(*["a"] * before, "ξ", id=str(before)) for before in (509, 510)]  # the authors look at 512 subwords
    table, counts = tokenise(wordpiece(), rows, Tokenisation())
    assert (table["id"].to_pylist(), counts["unknown"]) == (["510"], 1)


def test_xlmr_has_two_special_subwords_between_the_texts():
    tokenizer = unigram()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    for post_processor in (tokenizer.post_processor, processors.RobertaProcessing(("</s>", 1), ("<s>", 0))):
        tokenizer.post_processor = post_processor
        row = tokenise(tokenizer, [pair("playing a", "a")], Tokenisation())[0].to_pylist()[0]
        assert (row["subwords"], row["second"]) == ([0, 4, 5, 9, 1, 1, 9, 1], 6)
        assert (row["words"], row["positions"]) == (["playing", "a", "a"], [1, 3, 6])


PAIR_TEXT = st.text("ab- ", min_size=1, max_size=24)


@given(PAIR_TEXT, PAIR_TEXT, st.integers(8, 16), st.sampled_from(["first", "word_starts"]))
def test_pairs_are_cut_as_transformers_cuts_them(premise, hypothesis, maximum, option):
    theirs = PreTrainedTokenizerFast(tokenizer_object=wordpiece(), unk_token="[UNK]", pad_token="[PAD]")
    expected = theirs(premise, hypothesis, truncation="longest_first", max_length=maximum)
    table, counts = tokenise(wordpiece(), [pair(premise, hypothesis)], Tokenisation(maximum=maximum, labelled_subword=option))
    row = table.to_pylist()[0]
    assert row["subwords"] == expected["input_ids"]
    sides = expected.sequence_ids()
    assert row["second"] == (sides.index(1) if 1 in sides else 0)
    assert counts["cut_texts"] == (len(theirs(premise, hypothesis)["input_ids"]) > maximum)
    subwords = theirs.convert_ids_to_tokens(row["subwords"])
    assert row["positions"] == [i for i, side in enumerate(sides) if side is not None and not subwords[i].startswith("##")]
    assert row["words"] == [*words(premise), *words(hypothesis)] or counts["cut_words"]
    assert all(word.startswith(subwords[position]) for word, position in zip(row["words"], row["positions"], strict=True))


def test_unknown_subwords_of_either_text_drop_the_pair_even_where_it_is_cut():
    rows = [pair("a", "b", id="good"), pair("a ξ", "b"), pair("a", "b ξ"), pair("b", "a " * 20 + "ξ"), pair("a " * 20 + "ξ", "b")]
    table, counts = tokenise(wordpiece(), rows, Tokenisation(maximum=8))
    assert (table["id"].to_pylist(), counts["unknown"]) == (["good"], 4)


def test_a_text_of_which_nothing_is_left():
    rows = [pair("\u200d", "a b"), pair("a b", "\u200d"), pair("\u200d", "\u200d")]
    table, _ = tokenise(wordpiece(), rows, Tokenisation())
    assert table["subwords"].to_pylist() == [[2, 3, 10, 11, 3], [2, 10, 11, 3, 3], [2, 3, 3]]
    assert table["positions"].to_pylist() == [[2, 3], [1, 2], []]
    assert table["second"].to_pylist() == [2, 0, 0]


def test_a_limit_keeps_the_first_good_texts():
    rows = [sentence("ξ" if i % 3 == 0 else "a", id=str(i)) for i in range(12)]
    table, counts = tokenise(wordpiece(), rows, Tokenisation(), limit=4)
    assert table["id"].to_pylist() == ["1", "2", "4", "5"]
    assert (counts["texts"], counts["unknown"]) == (4, 2)  # what comes after the last is not looked at


def test_files_are_cut_to_their_nominal_size(encoder_folder, tmp_path):
    rows, settings = [{"id": f"p{i}", "language": "en", "page": "P", "text": "I see the dog."} for i in range(5)], Tokenisation()
    schema.write(rows, tmp_path / "corpus.parquet", schema.PARAGRAPHS, {"nominal": {"test": 3}})
    counts = write_tokens(load_tokenizer(encoder_folder), tmp_path / "corpus.parquet", tmp_path / "t", settings, "test")
    assert counts["texts"] == len(pq.read_table(tmp_path / "t")) == 3
    assert parquet.metadata(tmp_path / "t") == {**counts, "special": [1, 1, 1]}


def test_all_languages_of_which_no_text_remains_are_named_with_the_line_that_keeps_them(tmp_path):
    texts = {("de", "train"): "ξ", ("en", "train"): "a", ("el", "dev"): "ξ", ("el", "test"): "ξ"}
    files = {part: tmp_path / f"corpora/xnli/{'.'.join(part)}.parquet" for part in texts}
    for (language, split), path in files.items():
        schema.write([pair(texts[language, split], "a", id=f"{number}") for number in range(9)], path, schema.PAIRS, {})
    save_tokenizer(wordpiece(), tmp_path / "tokenizer")
    write_checksums(tmp_path / "tokenizer")
    shared = {"languages": ["de"], "share": 0.5, "by": "text", "seed": 0}
    arguments = (tmp_path / "tokenizer", files, tmp_path / "tokens")
    line = "tokenisations: { whole: { drop_unknown: false } }"
    with pytest.raises(DataError, match=f"corpora/xnli: .* found none in de, el: .* write `{line}` into your overlay$"):
        write_corpus_tokens(*arguments, Tokenisation(), shared, logging.getLogger(), "whole")
    assert not (tmp_path / "tokens").exists()
    write_corpus_tokens(*arguments, Tokenisation(drop_unknown=False), shared, logging.getLogger(), "whole")


def test_validation_is_drawn_after_texts_with_unknown_subwords_left(tmp_path):
    """As tanti2021's code does; of pairs, a premise with all its pairs where that is asked for."""
    save_tokenizer(wordpiece(), tmp_path)
    known = [pair("a " * (i // 3 + 1), "plays", id=f"{i}") for i in range(60)]
    unknown = [pair("ξ", "a", id=f"u{i}") for i in range(40)]
    schema.write(known[:30] + unknown + known[30:], tmp_path / "c", schema.PAIRS, {})
    plan = {"language": "en", "share": 0.1, "seed": 0}
    for by, drawn in (("text", 6), ("premise", 6)):
        folder = tmp_path / by
        outputs = {split: folder / f"en.{split}.parquet" for split in ("train", "validation")}
        counts = write_train(load_tokenizer(tmp_path), tmp_path / "c", outputs, Tokenisation(), by=by, **plan)
        write_checksums(folder)
        ids = {split: pq.read_table(path)["id"].to_pylist() for split, path in outputs.items()}
        assert {split: len(found) for split, found in ids.items()} == {"train": 60 - drawn, "validation": drawn}
        assert sorted(ids["train"] + ids["validation"], key=int) == [row["id"] for row in known]
        assert ids["train"] == sorted(ids["train"], key=int)
        assert (counts["train"]["unknown"], counts["validation"]["unknown"]) == (40, 0)
        assert counts_of(folder, "validation") == {"en": counts["validation"]}
        parted = {int(id) // 3 for id in ids["train"]} & {int(id) // 3 for id in ids["validation"]}
        assert bool(parted) == (by == "text")
    with pytest.raises(DataError, match=r"c: .* found none in a share of 0.01 of 60 texts; increase validation_share"):
        write_train(load_tokenizer(tmp_path), tmp_path / "c", outputs, Tokenisation(), by="text", **plan | {"share": 0.01})


def test_windows_of_a_text_stay_in_one_split_and_count_as_one_text(tmp_path):
    save_tokenizer(wordpiece(), tmp_path)
    texts = [" ".join(["a", "b"] * (i % 3 * 6 + 1)) for i in range(20)] + ["a ξ"]
    rows = [{"id": str(i), "language": "en", "page": "P", "text": text} for i, text in enumerate(texts)]
    schema.write(rows, tmp_path / "c", schema.PARAGRAPHS, {})
    outputs = {split: tmp_path / f"en.{split}.parquet" for split in ("train", "validation")}
    settings = Tokenisation(maximum=12, windows=2)
    counts = write_train(load_tokenizer(tmp_path), tmp_path / "c", outputs, settings, language="en", share=0.5, by="text", seed=0)
    whole = tokenise(wordpiece(), rows, settings)[0].to_pylist()
    ids = {split: {row["id"].split("#")[0] for row in pq.read_table(path).to_pylist()} for split, path in outputs.items()}
    for split, path in outputs.items():
        assert pq.read_table(path).to_pylist() == [row for row in whole if row["id"].split("#")[0] in ids[split]]
        assert len(pq.read_table(path)) > counts[split]["texts"] == len(ids[split]) == 10
    assert not ids["train"] & ids["validation"]
    assert (counts["train"]["unknown"], counts["validation"]["unknown"]) == (1, 0)


def test_no_text_left_is_an_error(encoder_folder, tmp_path):
    schema.write([{"id": "p", "language": "ka", "page": "P", "text": "ქართული"}], tmp_path / "c.parquet", schema.PARAGRAPHS, {})
    with pytest.raises(DataError, match=r"c\.parquet: expected texts without unknown subwords, found none of 1"):
        write_tokens(load_tokenizer(encoder_folder), tmp_path / "c.parquet", tmp_path / "t", Tokenisation(), "test")
    assert not (tmp_path / "t").exists()


def test_no_fast_tokenizer_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"with a fast tokenizer, found no config\.json, tokenizer\.json"):
        load_tokenizer(tmp_path)


# Windows


def test_windows_as_wu2019_cuts_them():
    assert windows([1] * 10, 4, 2) == [(0, 4, 0, 4), (4, 6, 2, 6), (6, 8, 4, 8), (8, 10, 6, 10)]
    assert windows([1] * 10, 4, 0) == [(0, 4, 0, 4), (4, 8, 4, 8), (8, 10, 8, 10)]
    assert windows([3, 2, 1], 4, 2) == [(0, 1, 0, 3), (1, 2, 1, 5), (2, 3, 3, 6)]  # the context begins inside a word
    assert windows([1, 9, 1], 4, 2) == [(0, 1, 0, 1), (1, 2, 0, 10), (2, 3, 8, 11)]  # a word is never divided
    assert windows([600, 1], 4, 2) == [(0, 1, 0, 510), (1, 2, 598, 601)]
    assert windows([], 4, 2) == [] and windows([3, 1], 4, 2) == [(0, 2, 0, 4)]


def test_words_that_no_window_can_hold_are_unknown_subwords_as_in_xtreme():
    """Windows and labels are those that utils_preprocess.py 129-166 counts out; without unknown_words one word is lost."""
    tokenizer, generator = long_wordpiece(), np.random.default_rng(0)
    tokenizer.add_special_tokens(["[UNK]"])
    tokenisation = Tokenisation(maximum=22, windows=0, drop_unknown=False, unknown_words=True)
    unknown = tokenizer.token_to_id("[UNK]")
    for _ in range(50):
        sizes = generator.choice([0, 1, 2, 5, 20, 21, 40], size=12).tolist()
        forms = ["a" * size or "\u200d" for size in sizes]
        tags = [f"T{number}" for number in range(len(forms))]
        expected, room = [[]], 0
        for size, tag in zip(sizes, tags, strict=True):
            subwords = [unknown] if size == 0 or size > 20 else [3, *[4] * (size - 1)]
            if room + len(subwords) > 20:
                expected, room = [*expected, []], 0
            expected[-1].append((tag, subwords))
            room += len(subwords)
        table, counts = tokenise(tokenizer, [sentence(*forms, upos=tags)], tokenisation)
        assert table["labels"].to_pylist() == [[tag for tag, _ in window] for window in expected]
        found = [[1, *chain.from_iterable(subwords for _, subwords in window), 2] for window in expected]
        assert table["subwords"].to_pylist() == found
        assert table["words"].to_pylist()[0][0] == forms[0]  # as it was written
        assert (counts["cut_words"], counts["words_without_subword"]) == (0, 0)
        lost = tokenise(tokenizer, [sentence(*forms, upos=tags)], tokenisation.model_copy(update={"unknown_words": False}))[1]
        assert lost["words_without_subword"] == sizes.count(0)


# Whole words, and as many


TREES = Tokenisation(maximum=512, train_maximum=129, words=140, whole_words=True, drop_unknown=False)


@pytest.mark.parametrize(("split", "room"), [("train", 127), ("test", 510)])
def test_sentences_with_trees_end_with_a_whole_word(split, room):
    """wu2019's parser cuts training sentences before 128 subwords, others after 140 words or 510 subwords."""
    tokenizer = long_wordpiece()
    sentences = ([1] * 600, [1] * 140, [1] * 127, [1] * 128, [2] * 63 + [1, 1], [2] * 64, [40] * 14, [128, 1], [600, 1], [1, 600])
    for sizes in sentences:
        forms = ["a" * size for size in sizes]
        heads = [*range(2, len(sizes) + 1), 0]  # the next word
        row = sentence(*forms) | {"heads": heads, "relations": ["dep"] * len(sizes), "entities": []}
        table, counts = tokenise(tokenizer, [row], TREES.of(split))
        found = table.to_pylist()[0]
        kept = max(words for words in range(min(len(sizes), 140) + 1) if sum(sizes[:words]) <= room)
        assert found["words"] == forms[:kept] and len(found["subwords"]) == sum(sizes[:kept]) + 2
        assert counts["cut_words"] == found["cut_words"] == len(sizes) - kept and found["cut"] == (kept < len(sizes))
        last = 0 if kept == len(sizes) else CUT
        assert found["heads"] == [*range(2, kept + 1), last][:kept]


def test_words_without_a_subword_count_among_as_many_words():
    tokenisation = Tokenisation(words=3, whole_words=True)
    table, counts = tokenise(wordpiece(), [sentence("a", "\u200d", "b", "a")], tokenisation)
    assert table["words"].to_pylist() == [["a", "b"]]
    assert (counts["cut_words"], counts["words_without_subword"]) == (1, 1)


def test_training_texts_have_a_maximum_of_their_own(tmp_path):
    save_tokenizer(wordpiece(), tmp_path)
    rows = [{"id": str(i), "language": "en", "page": "P", "text": "a " * 30} for i in range(4)]
    schema.write(rows, tmp_path / "c", schema.PARAGRAPHS, {})
    tokenisation = Tokenisation(maximum=20, train_maximum=10)
    for split, maximum in (("train", 10), ("validation", 20), ("test", 20)):
        write_tokens(load_tokenizer(tmp_path), tmp_path / "c", tmp_path / split, tokenisation, split)
        assert {len(subwords) for subwords in pq.read_table(tmp_path / split)["subwords"].to_pylist()} == {maximum}


@pytest.fixture(scope="module")
def running_text() -> list[str]:
    """Two hundred sentences of the synthetic corpus, in scripts with spaces between words."""
    return [row["text"] for language in ("de", "en", "ru", "tr") for row in sentence_rows(language, "train", 50)]


BY_WORDS = {  # kind -> tokenizer, and whether words get a space; None: refused
    "WordPiece": (vocabularies.wordpiece, False),
    "Metaspace always": (partial(vocabularies.metaspace, scheme="always"), False),
    "Metaspace always, after a split": (partial(vocabularies.metaspace, scheme="always", at_spaces=True), False),
    "Metaspace always, no split": (partial(vocabularies.metaspace, scheme="always", split=False), False),
    "Metaspace first": (partial(vocabularies.metaspace, scheme="first"), False),
    "Metaspace first, after a split": (partial(vocabularies.metaspace, scheme="first", at_spaces=True), None),
    "Metaspace never": (partial(vocabularies.metaspace, scheme="never"), True),
    "Metaspace never, no split": (partial(vocabularies.metaspace, scheme="never", split=False), True),
    "no marks": (partial(vocabularies.metaspace, scheme="never", at_spaces=True), False),
    "Gemma": (vocabularies.gemma, True),
    "byte-level": (partial(vocabularies.byte_level, prefix=False), True),
    "byte-level, prefix space": (partial(vocabularies.byte_level, prefix=True), False),
    "end of word": (vocabularies.end_of_word_bpe, False),
}


@pytest.mark.parametrize("kind", BY_WORDS)
def test_words_one_by_one_have_the_subwords_of_the_whole_text(kind, running_text, tmp_path):
    make, gets_space = BY_WORDS[kind]
    tokenizer = make(running_text)
    save_tokenizer(tokenizer, tmp_path)
    if gets_space is None:
        with refused(r"tokenizer\.json: expected words that have the same subwords one by one"):
            load_tokenizer(tmp_path)
        return
    loaded, before = load_tokenizer(tmp_path), " " if gets_space else ""
    ends = {"add_special_tokens": False}
    for text in running_text:
        whole = tokenizer.encode(before + text, **ends).tokens
        assert loaded.encode(text.split(), is_pretokenized=True, **ends).tokens == whole
        if gets_space:  # or it would not have been needed
            assert tokenizer.encode(text.split(), is_pretokenized=True, **ends).tokens != whole


@pytest.mark.parametrize("kind", BY_WORDS)
def test_a_whole_text_is_tokenised_as_it_is(kind, running_text, tmp_path):
    tokenizer = BY_WORDS[kind][0](running_text)
    save_tokenizer(tokenizer, tmp_path)
    texts = [*running_text[::20], "  two  spaces, and\ta line\nend ", "東京 では"]
    rows = [{"id": str(number), "language": "en", "page": "", "text": text} for number, text in enumerate(texts)]
    schema.write(rows, tmp_path / "corpus", schema.PARAGRAPHS, {})
    tokenisation = Tokenisation(whole_text=True, drop_unknown=False, maximum=512)
    write_tokens(load_tokenizer(tmp_path, whole_text=True), tmp_path / "corpus", tmp_path / "tokens", tokenisation, "test")
    table = pq.read_table(tmp_path / "tokens")
    assert table["subwords"].to_pylist() == [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    assert table["words"].to_pylist() == [[text] for text in texts]


NAMES = ("<s>", "</s>", "<pad>", "<unk>", "a<s>b", "<pad></s>", "<<s>>", "＜s＞")
KINDS = [kind for kind, (_, gets_space) in BY_WORDS.items() if gets_space is not None]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fault("Words that look like special tokens", "survived")
def test_words_with_the_name_of_a_special_subword_are_text(kind, running_text, tmp_path):
    """Neither a real beginning, end or padding stands in a text, nor is a text unknown that all has subwords."""
    texts = [*running_text, *(sign for sign in "<>/" for _ in range(200))]  # so that "<unk>" has subwords
    tokenizer = BY_WORDS[kind][0](texts)
    tokenizer.normalizer = normalizers.Sequence([*filter(None, [tokenizer.normalizer]), normalizers.NFKC()])
    save_tokenizer(tokenizer, tmp_path)
    special = {tokenizer.token_to_id(name) for name in vocabularies.SPECIALS}
    for whole in (False, True):
        rows = [{"id": name, "language": "en", "page": "", "text": f"die {name} Katze"} for name in NAMES]
        loaded = load_tokenizer(tmp_path, whole_text=whole)
        table, _ = tokenise(loaded, rows, Tokenisation(whole_text=whole, drop_unknown=False, lower_case=True))
        assert table["id"].to_pylist() == list(NAMES)
        of_text = loaded.encode("die Katze", add_special_tokens=False).ids
        for subwords in table["subwords"].to_pylist():
            assert not (special - {tokenizer.token_to_id("<unk>")}) & {*subwords} and len(subwords) > len(of_text)
    same = [loaded.encode(text).ids == tokenizer.encode(text).ids for text in running_text]
    assert all(same)  # nothing but names is cut


def test_a_word_that_is_the_name_of_the_unknown_subword_drops_no_text():
    tokenizer = unigram()
    tokenizer.add_special_tokens(["<s>", "</s>", "<unk>"])
    content = Description({"vocab_size": 20}, json.loads(tokenizer.to_str()), {})
    content.tokenizer["model"]["vocab"] += [[sign, -7.0] for sign in "<>/unks"]
    rows = [sentence("a", "<unk>", id="name"), sentence("a", "ξ", id="unknown"), sentence("</s>", "b", id="end")]
    table, counts = tokenise(content.word_tokenizer(), rows, Tokenisation(labelled_subword="first_visible"))
    assert (table["id"].to_pylist(), counts["unknown"]) == (["name", "end"], 1)


def named(model: models.Model, *special: str) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(list(special))
    return tokenizer


OWN = {  # how a model names its subword for unknown text -> a tokenizer, and the number of the subword
    "WordPiece": (named(models.WordPiece({"[UNK]": 0, "<oov>": 1, "a": 2}, unk_token="<oov>"), "<oov>"), 1),
    "BPE": (named(models.BPE({"<unk>": 0, "?": 1, "a": 2}, [], unk_token="?"), "?"), 1),
    "WordLevel": (named(models.WordLevel({"[UNK]": 0, "UNKNOWN": 1, "a": 2}, unk_token="UNKNOWN"), "UNKNOWN"), 1),
    "Unigram": (named(models.Unigram([("<unk>", -1.0), ("⁇", -1.0), ("a", -1.0)], unk_id=1), "⁇"), 1),
    "usual": (named(models.BPE({"<unk>": 0, "a": 1, **{byte: 2 + i for i, byte in enumerate("bcd")}}, []), "<unk>"), 0),
    "none": (named(models.BPE({"a": 0}, [])), None),
}


@pytest.mark.parametrize("kind", OWN)
def test_the_unknown_subword_is_that_of_the_model(kind, tmp_path):
    tokenizer, number = OWN[kind]
    assert unknown_subword(tokenizer) == number
    tokenizer.post_processor = processors.TemplateProcessing(single="a $A", pair="a $A a $B", special_tokens=[("a", 2)])
    assert Spelling(tokenizer).unknown == {number} - {None}
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_str())
    write_checksums(tmp_path)
    assert Vocabulary.read(tmp_path).unknown == number
    if number:
        rows = [sentence("a", id="good"), sentence("a", "ξ", id="bad")]
        table, counts = tokenise(tokenizer, rows, Tokenisation())
        assert (table["id"].to_pylist(), counts["unknown"]) == (["good"], 1)


def test_whole_texts_of_all_kinds_of_corpora():
    tokenisation, tokenizer = Tokenisation(whole_text=True, drop_unknown=False), wordpiece()
    rows = [sentence("a", "-", "b") | {"text": "a-b"}, pair("a-b", "well")]
    first, second = (tokenise(tokenizer, [row], tokenisation)[0].to_pylist()[0] for row in rows)
    assert first["subwords"] == tokenizer.encode("a-b").ids and first["words"] == ["a-b"] and first["labels"] == [""]
    assert second["subwords"] == tokenizer.encode("a-b", "well").ids and second["words"] == ["a-b", "well"]


@pytest.mark.parametrize("other", [{"words": 3}, {"windows": 0}, {"sentences": "marks"}, {"labelled_subword": "every"}])
def test_a_whole_text_has_no_words(other):
    with pytest.raises(ValidationError, match="whole_text: expected no rules for words beside it, found"):
        Tokenisation(whole_text=True, **other)


def stripped(text: str) -> str:
    """A text without accents, by the rule of BERT's tokenizer for uncased models: tokenization_bert.py, _run_strip_accents."""
    return "".join(mark for mark in unicodedata.normalize("NFD", text) if unicodedata.category(mark) != "Mn")


def is_old(text: str) -> bool:
    """Whether its marks are of Unicode 3.2: the library has its own table of marks, of another version than Python's."""
    return all(unicodedata.ucd_3_2_0.category(mark) != "Cn" for mark in text if unicodedata.category(mark) == "Mn")


@given(st.lists(st.text(min_size=1, max_size=6).filter(str.isprintable).filter(is_old), min_size=1, max_size=4))
@example(["Việt", "não", "नहीं", "ไม่", "Straße", "ΐ", "İ", "한국", "é", "a\N{COMBINING ACUTE ACCENT}"])
def test_altered_letters_are_those_of_berts_tokenizer(words):
    def subwords(words, **altered):
        tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, **{c: 1 + i for i, c in enumerate(alphabet)}}, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")  # a subword a character
        encoding = altering(tokenizer, Tokenisation(**altered)).encode(words, is_pretokenized=True, add_special_tokens=False)
        return "".join(encoding.tokens)

    lower = ["".join(character.lower() for character in word) for word in words]  # sigma at the end of a word too
    expected = {"strip_accents": [*map(stripped, words)], "lower_case": lower}
    alphabet = sorted(set("".join(words + lower) + "".join(map(stripped, words + lower))))
    assert subwords(words) == "".join(words)
    for name, altered in expected.items():
        assert subwords(words, **{name: True}) == "".join(altered)
    assert subwords(words, strip_accents=True, lower_case=True) == "".join(map(stripped, lower))
