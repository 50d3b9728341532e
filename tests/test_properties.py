"""What holds for any input: files say what was written, and every word is labelled at its own first subword."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, count
from pathlib import Path

import pytest
from conftest import save_tokenizer
from crosslens.config.labels import UPOS
from crosslens.config.tokenisations import Tokenisation
from crosslens.corpora import dictionaries, entities, schema, treebanks
from crosslens.corpora.conllu import Multiword, Sentence, read_treebank
from crosslens.encoding.tokens.tokenise import labelled_subwords, load_tokenizer, tokenise
from crosslens.encoding.tokens.windows import LONGEST, windows
from hypothesis import example, given, settings
from hypothesis import strategies as st
from synthetic.generate import treebank
from synthetic.grammar import read_grammar
from tokenizers import Encoding, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

always_the_same = settings(derandomize=True, deadline=None, max_examples=50)
few = settings(derandomize=True, deadline=None, max_examples=10)

# What corpora have beside letters: combining marks, U+200C, a soft hyphen, a no-break space, letters beyond the BMP, emoji with
# joiners, right-to-left marks, ends of lines that are none in these files, the columns' own signs.
ODD = "\u0301\u0323\u093f\u200c\u200d\u00ad\u00a0\u3000\ufeff\u2028\u202e\U00010400\U0001f469\u4e2d\u0e33\u05d0İıßﬁ_#-.\"'&<"
CHARACTERS = st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=("Cc", "Cs")))


def texts(alphabet: st.SearchStrategy[str] = CHARACTERS, most: int = 6) -> st.SearchStrategy[str]:
    """Texts that neither begin nor end with white space, and do not begin with a byte order mark, which files may not."""
    return st.text(alphabet, min_size=1, max_size=most).filter(lambda text: text == text.strip() and text[0] != "\ufeff")


WORDS = texts(CHARACTERS.filter(lambda character: character not in " \ufeff"))  # files of entities lose the latter
NAMES = texts(st.characters(categories=("L", "N")))


@pytest.fixture(scope="module")
def save(tmp_path_factory) -> Callable[[str, str], Path]:
    """Write a text to a new file."""
    numbers = count()

    def write(name: str, text: str) -> Path:
        path = tmp_path_factory.getbasetemp() / "properties" / str(next(numbers)) / name
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode())
        return path

    return write


def stored(rows: list[dict], path: Path, kind) -> list[dict]:
    """Rows as a corpus file gives them back."""
    schema.write(rows, path.with_name("x.parquet"), kind, {})
    return schema.read(path.with_name("x.parquet")).to_pylist()


# Treebanks


@st.composite
def trees(draw) -> tuple[Sentence, dict[int, int]]:
    """A random tree over words with multiword ranges; and after which words there are how many empty nodes."""
    size = draw(st.integers(1, 8))
    order = draw(st.permutations(range(1, size + 1)))
    heads = [0] * size
    for place, word in enumerate(order[1:], start=1):
        heads[word - 1] = order[draw(st.integers(0, place - 1))]
    multiwords, word = [], 1
    while word < size:
        last = word + draw(st.integers(0, min(3, size - word)))
        if last > word:
            multiwords.append(Multiword(word, last, draw(texts())))
        word = last + 1
    forms = draw(st.lists(texts(), min_size=size, max_size=size))
    empty = draw(st.dictionaries(st.integers(0, size), st.integers(1, 2), max_size=2))
    sentence = Sentence(
        id=draw(NAMES),
        text=draw(texts(most=20)),
        forms=forms,
        upos=draw(st.lists(st.sampled_from(sorted(UPOS)), min_size=size, max_size=size)),
        heads=heads,
        relations=draw(st.lists(st.sampled_from(["nsubj", "obl:arg", "root"]), min_size=size, max_size=size)),
        multiwords=multiwords,
        empty_nodes=sum(empty.values()),
    )
    return sentence, empty


def conllu(sentence: Sentence, empty: dict[int, int]) -> str:
    """A sentence in CoNLL-U."""

    def nodes(word: int) -> list[str]:
        return [f"{word}.{number + 1}\tx" + "\t_" * 8 for number in range(empty.get(word, 0))]

    lines = [f"# sent_id = {sentence.id}", f"# text = {sentence.text}", *nodes(0)]
    ranges = {first: f"{first}-{last}\t{form}" + "\t_" * 8 for first, last, form in sentence.multiwords}
    for word, (form, upos, head, relation) in enumerate(
        zip(sentence.forms, sentence.upos, sentence.heads, sentence.relations, strict=True), start=1
    ):
        lines += [ranges[word]] if word in ranges else []
        lines += [f"{word}\t{form}\t_\t{upos}\t_\t_\t{head}\t{relation}\t_\t_", *nodes(word)]
    return "".join(line + "\n" for line in [*lines, ""])


@always_the_same
@given(st.lists(trees(), min_size=1, max_size=4, unique_by=lambda tree: tree[0].id))
def test_a_treebank_is_read_as_it_was_written(save, drawn) -> None:
    path = save("de_x-ud-test.conllu", "".join(conllu(*tree) for tree in drawn))
    sentences = [sentence for sentence, _ in drawn]
    assert [replace(sentence, line=0, text_fits=True) for sentence in read_treebank(path)] == sentences
    rows, counts = treebanks.read([path], "de", withheld="clean")
    kept = [sentence for sentence in sentences if treebanks.reason_to_drop(sentence, "clean") is None]
    assert [(row["id"], row["forms"], row["upos"], row["heads"]) for row in rows] == [
        (f"de_x/{sentence.id}", sentence.forms, sentence.upos, sentence.heads) for sentence in kept
    ]
    assert len(rows) + counts["withheld"] + counts["untagged"] == len(sentences)
    assert stored(rows, path, schema.SENTENCES) == rows


# Tagged words

SPAN = st.tuples(st.sampled_from(["", *entities.TYPES]), st.lists(WORDS, min_size=1, max_size=3))
SPANS = st.lists(SPAN, min_size=1, max_size=5)


def tagged(spans: Sequence[tuple[str, list[str]]]) -> list[tuple[str, str]]:
    """Words and IOB2 tags of spans, of which those without a type are none."""
    return [
        (word, f"{'I' if place else 'B'}-{kind}" if kind else "O") for kind, words in spans for place, word in enumerate(words)
    ]


def iob1(spans: Sequence[tuple[str, list[str]]]) -> list[tuple[str, str]]:
    """The same in IOB1: B- only where a span of the same type ends just before."""
    return [
        (word, f"{'B' if place == 0 and kind == before else 'I'}-{kind}" if kind else "O")
        for (before, _), (kind, words) in zip([("", []), *spans], spans, strict=False)
        for place, word in enumerate(words)
    ]


@always_the_same
@given(
    st.lists(SPANS, min_size=1, max_size=3),
    st.sampled_from([tagged, iob1]),
    st.sampled_from(["{}\t{}", "{} {}", "{} NN I-NC {}", "de:{}\t{}"]),
)
@example([[("PER", ["A"]), ("PER", ["B"]), ("LOC", ["C"])]], iob1, "{} {}")
def test_spans_are_read_as_they_were_written(save, sentences, scheme, line) -> None:
    sentences = [[("", ["Wort"])], *sentences]  # what begins the file does not look like the prefix of a language
    columns = ["".join(line.format(*word) + "\n" for word in scheme(spans)) for spans in sentences]
    path = save("train", "-DOCSTART- -X- O\n\n" * (line[0] != "d" and "\t" not in line) + "\n".join(columns))
    rows, counts = entities.read([path], "de")
    expected = [tagged(spans) for spans in sentences]
    assert [list(zip(row["forms"], row["entities"], strict=True)) for row in rows] == expected
    written = [tag for spans in sentences for _, tag in scheme(spans)]
    assert counts["opened"] == sum(tag != new for tag, (_, new) in zip(written, sum(expected, []), strict=True))
    assert stored(rows, path, schema.SENTENCES) == rows


# Dictionaries


ENTRY = st.one_of(st.tuples(WORDS, st.just(" "), WORDS), st.tuples(texts(), st.just("\t"), texts()))


@few  # of many entries each
@given(st.lists(ENTRY, min_size=dictionaries.SMALLEST, max_size=dictionaries.SMALLEST + 5))
def test_a_dictionary_is_read_as_it_was_written(save, entries) -> None:
    path = save("en-de.0-5000.txt", "".join("".join(entry) + "\n" for entry in entries))
    rows, counts = dictionaries.read([path], "de")
    expected = [(source, target) for source, _, target in entries]
    assert [(row["source"], row["target"]) for row in rows] == list(dict.fromkeys(expected))
    assert len(rows) + counts["repeated"] == len(expected)
    assert stored(rows, path, schema.DICTIONARY) == rows


# Tokenizers: each kind is trained on the synthetic corpus, saved, and read as an encoder's is.


def wordpiece() -> tuple[Tokenizer, trainers.Trainer]:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer, trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False)


def unigram() -> tuple[Tokenizer, trainers.Trainer]:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    special = ["<unk>", "[CLS]", "[SEP]"]
    return tokenizer, trainers.UnigramTrainer(vocab_size=400, special_tokens=special, unk_token="<unk>", show_progress=False)


def byte_level(add_prefix_space: bool = False) -> tuple[Tokenizer, trainers.Trainer]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["[CLS]", "[SEP]"]
    return tokenizer, trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, special_tokens=special, show_progress=False)


KINDS = {"wordpiece": wordpiece, "unigram": unigram, "byte-level": byte_level}
LANGUAGES = ("de", "zh", "ru")


@pytest.fixture(scope="module")
def sentences() -> list[list[str]]:
    return [[word.form for word in tree.words] for code in LANGUAGES for tree in treebank(read_grammar(code), "test", 40, seed=0)]


@pytest.fixture(scope="module")
def tokenizers(sentences, tmp_path_factory) -> dict[str, Tokenizer]:
    """Tokenizers of the three kinds from their files, [CLS] before and [SEP] after a text."""
    found = {}
    for kind, make in KINDS.items():
        tokenizer, trainer = make()
        tokenizer.train_from_iterator((" ".join(words) for words in sentences), trainer)
        special = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
        folder = tmp_path_factory.mktemp(kind)
        save_tokenizer(tokenizer, folder)
        found[kind] = load_tokenizer(folder)
    return found


def alone(tokenizer: Tokenizer, kind: str, word: str) -> Encoding:
    """A word that is a text of its own."""
    if kind == "byte-level":  # with a space before it, as transformers adds one (add_prefix_space)
        plain = Tokenizer(tokenizer.model)
        plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer = plain
    return tokenizer.encode(word, add_special_tokens=False)


FORMS = st.lists(st.one_of(WORDS, texts(), st.sampled_from("Katze кошка 猫 -".split())), min_size=1, max_size=8)


@pytest.mark.parametrize("option", ["first", "first_visible"])
@pytest.mark.parametrize("kind", KINDS)
@always_the_same
@given(forms=FORMS)
@example(["\u200d", "Katze", "\u00ad", "猫", "\u200c"])
def test_each_word_with_a_subword_is_labelled_once_at_its_first(tokenizers, kind, option, forms) -> None:
    tokenizer = tokenizers[kind]
    own = [alone(tokenizer, kind, word) for word in forms]
    starts = [0, *accumulate(map(len, own))]
    expected = []
    for number, encoding in enumerate(own):
        if encoding.tokens:
            visible = [place for place, subword in enumerate(encoding.tokens) if subword not in ("▁", "Ġ")]
            place = 0 if option == "first" else visible[0] if visible else len(encoding) - 1
            expected.append((number, starts[number] + place))
    assert labelled_subwords(tokenizer.encode(forms, is_pretokenized=True, add_special_tokens=False), option) == expected
    row = {"id": "s", "language": "de", "forms": forms, "upos": [str(number) for number in range(len(forms))], "entities": []}
    table, counts = tokenise(tokenizer, [row], Tokenisation(maximum=512, labelled_subword=option, drop_unknown=False))
    [found] = table.to_pylist()
    assert found["labels"] == [str(number) for number, _ in expected]
    assert found["words"] == [forms[number] for number, _ in expected]
    assert found["positions"] == [1 + position for _, position in expected]  # after [CLS]
    assert counts["words_without_subword"] == len(forms) - len(expected)
    assert found["subwords"][1:-1] == [subword for encoding in own for subword in encoding.ids]


# Windows


def slow_windows(sizes: Sequence[int], size: int, context: int) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """wu2019's rule, subword by subword: (labelled words, subwords as (word, number)) of each window."""
    found: list[tuple[list[int], list[tuple[int, int]]]] = []
    words: list[int] = []
    subwords: list[tuple[int, int]] = []
    for word, its in enumerate(sizes):
        if len(subwords) + its > size and words:
            found.append((words, subwords))
            words, subwords = [], subwords[len(subwords) - min(context, len(subwords)) :]
        words = [*words, word]
        subwords = subwords + [(word, number) for number in range(its)]
    return [*found, (words, subwords)] if words else found


SIZES = st.lists(st.one_of(st.integers(1, 5), st.integers(1, 40), st.sampled_from([126, 127, 128, 600])), max_size=30)


@always_the_same
@given(SIZES, st.integers(1, 130), st.integers(0, 130))
@example([1] * 300, 127, 64)
def test_windows_are_those_of_the_rule(sizes, size, context) -> None:
    context = min(context, size - 1)
    all_subwords = [(word, number) for word, its in enumerate(sizes) for number in range(its)]
    found = windows(sizes, size, context)
    expected = slow_windows(sizes, size, context)
    assert [list(range(each.first_word, each.end_word)) for each in found] == [words for words, _ in expected]
    assert [all_subwords[each.start_subword : each.end_subword] for each in found] == [
        subwords[:LONGEST] for _, subwords in expected
    ]
    assert [word for each in found for word in range(each.first_word, each.end_word)] == list(range(len(sizes)))
    starts = [0, *accumulate(sizes)]
    for before, each in zip([None, *found], found, strict=False):
        assert each.end_subword - each.start_subword <= size or each.end_word - each.first_word == 1
        assert each.end_subword - each.start_subword <= LONGEST
        seen = 0 if before is None else starts[each.first_word] - max(before.start_subword, starts[each.first_word] - context)
        assert starts[each.first_word] - each.start_subword == seen


@pytest.mark.parametrize("kind", KINDS)
@always_the_same
@given(data=st.data())
def test_words_in_windows_are_labelled_once_in_order(tokenizers, sentences, kind, data) -> None:
    tokenizer = tokenizers[kind]
    chosen = data.draw(st.lists(st.sampled_from(sentences), min_size=1, max_size=5))
    forms = [word for words in chosen for word in words]
    maximum = data.draw(st.integers(16, 64))
    context = data.draw(st.integers(0, maximum - 8))
    row = {"id": "s", "language": "de", "forms": forms, "upos": [str(number) for number in range(len(forms))], "entities": []}
    table, counts = tokenise(tokenizer, [row], Tokenisation(maximum=maximum, windows=context, drop_unknown=False))
    rows = table.to_pylist()
    subwords = [alone(tokenizer, kind, word).ids for word in forms]
    expected = slow_windows(list(map(len, subwords)), maximum - 2, context)
    assert [found["labels"] for found in rows] == [[str(word) for word in words] for words, _ in expected]
    assert [found["subwords"][1:-1] for found in rows] == [[subwords[w][n] for w, n in window] for _, window in expected]
    for found, (words, window) in zip(rows, expected, strict=True):
        assert found["positions"] == [1 + window.index((word, 0)) for word in words]
    assert [found["id"] for found in rows] == ["s", *(f"s#{number}" for number in range(2, len(rows) + 1))]
    assert (counts["cut_words"], counts["words_without_subword"]) == (0, 0)
