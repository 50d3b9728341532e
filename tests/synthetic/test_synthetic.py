"""The synthetic corpus: tables of every language, generated sentences and articles, and the files written from them."""

import itertools
import lzma
import re
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from synthetic.articles import MINIMUM_CHARACTERS, articles
from synthetic.check import covering_meanings, grammar_problems, sentence_problem
from synthetic.generate import split_of, treebank
from synthetic.grammar import read_grammar
from synthetic.realise import Meaning, capital, lower, realise
from synthetic.tables import TABLES, SyntheticCorpusError, languages_present
from synthetic.write import Sizes, write_sources

LANGUAGES = languages_present()
MIRROR = Path(__file__).resolve().parents[3] / "shared" / "mirror" / "ud"
every_language = pytest.mark.parametrize("language", LANGUAGES)


def say(language: str, frame: str, **fillers: str):
    return realise(read_grammar(language), Meaning(frame, tuple(fillers.items())))


# Tables.


@pytest.mark.long
@every_language
def test_every_filler_resolves_in_every_frame(language):
    assert grammar_problems(read_grammar(language)) == []


@every_language
def test_sentences_are_capitalised_and_tidy(language):
    for split in ("test", "parallel"):
        for sentence in treebank(read_grammar(language), split, 100, seed=1):
            assert sentence_problem(sentence) == ""
            assert sentence.text == sentence.text.strip()
            assert "  " not in sentence.text
            first = next(letter for letter in sentence.text if letter.isalpha())
            assert first == first.title()
            assert not re.search(r"\s[.,?!।。؟،]", sentence.text)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [("iki", "tr", "İki"), ("ısı", "tr", "Isı"), ("in", "en", "In"), ("¿quién?", "es", "¿Quién?"), ("狗", "zh", "狗")],
)
def test_capitals(text, language, expected):
    assert capital(text, language) == expected


@every_language
def test_entities_are_the_names(language):
    # A language may say `a Polish writer`: an adjective is no name.
    expected = {"w10": (["PER"], ["LOC", "PER"]), "w01": (["LOC", "LOC"],), "e09": (["PER", "PER"],), "e12": ([],)}
    for frame, types in expected.items():
        grammar = read_grammar(language)
        meaning = next(covering_meanings(grammar, grammar.frames[frame], seed=0))
        assert sorted(entity.type for entity in realise(grammar, meaning).entities) in types


def real_tags(name: str) -> dict[str, Counter[str]]:
    """Counts of tags by form in the real treebanks of a language, of UD 2.5 only if there are none of 2.7."""
    treebanks = (sorted(MIRROR.glob(f"{release}/UD_{name.replace(' ', '_')}-*/*.conllu.xz")) for release in ("r2.7", "r2.5"))
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    for path in next(filter(None, treebanks), []):
        for line in lzma.decompress(path.read_bytes()).decode().splitlines():
            cells = line.split("\t", 4)
            if cells[0].isdecimal():
                tags[cells[1]][cells[3]] += 1
    return tags


@every_language
def test_tags_are_those_of_real_treebanks(language):
    if not MIRROR.exists():
        pytest.skip("no real treebanks in ../shared/mirror/ud")
    grammar = read_grammar(language)
    tags = real_tags(grammar.language.name)
    if not tags:
        pytest.skip(f"no real treebank of {grammar.language.name} in ../shared/mirror/ud")
    sentences = list(treebank(grammar, "test", 300, seed=0))
    for article in articles(grammar, 20, seed=0):
        sentences += itertools.chain(*(paragraph.sentences for paragraph in article.paragraphs))
    usual = []
    for word in (word for sentence in sentences for word in sentence.words if word.upos not in ("PUNCT", "NUM")):
        # A form with a capital may only open its sentence here: both spellings count.
        counts = sum((tags[form] for form in {word.form, lower(word.form, language)}), Counter[str]())
        if counts:
            usual.append(word.upos == counts.most_common(1)[0][0] or counts[word.upos] >= 0.2 * counts.total())
    assert sum(usual) / len(usual) >= 0.85


def test_english_tree():
    sentence = say("en", "e12", agent="child", act="eat", food="fish")
    assert [(word.form, word.lemma, word.upos, word.head, word.relation) for word in sentence.words] == [
        ("The", "the", "DET", 2, "det"), ("child", "child", "NOUN", 5, "nsubj"), ("does", "do", "AUX", 5, "aux"),
        ("not", "not", "PART", 5, "advmod"), ("eat", "eat", "VERB", 0, "root"), ("fish", "fish", "NOUN", 5, "obj"),
        (".", ".", "PUNCT", 5, "punct"),
    ]  # fmt: skip


@pytest.fixture
def toy(tmp_path):
    """A function that writes a German of two frames and reads it."""
    shutil.copy(TABLES / "languages.csv", tmp_path)
    (tmp_path / "animals.csv").write_text("animal,qualities,landforms,diets\n")
    (tmp_path / "opposites.csv").write_text("concept,opposites\n")
    (tmp_path / "overlaps.csv").write_text("concept,overlaps\n")
    (tmp_path / "concepts.csv").write_text("concept,kinds\ndog,animal\ncow,animal\nbuy,act\ngarden,place\nkitchen,place\n")
    (tmp_path / "frames.csv").write_text("frame,register,slots,example\ne01,everyday,act=act animal=animal place=place,x\n")
    lexicon = (
        "concept,upos,lemma,class,forms\n_in_the,ADP,in,,m=im; f=\n_the,DET,der,,m=dem; f=der\n"
        "dog,NOUN,Hund,m,acc=Hund\ncow,NOUN,Kuh,f,acc=Kuh\nbuy,VERB,einkaufen,,3sg=kauft; prt=ein\n"
        "garden,NOUN,Garten,m,\nkitchen,NOUN,Küche,f,\n"
    )
    frames = (
        "e01\ter/PRON/2/nsubj {act:3sg}//0/root {animal:acc}//2/obj [{_in_the:@place}= in/ADP/6/case "
        "{_the:@place}/DET/6/det] {place}//2/obl {act:prt}=ein/ADP/2/compound:prt ./PUNCT/2/punct\n"
    )

    def read(lexicon: str = lexicon, frames: str = frames):
        folder = tmp_path / "de"
        folder.mkdir(exist_ok=True)
        (folder / "lexicon.csv").write_text(lexicon)
        (folder / "frames.txt").write_text(frames)
        read_grammar.cache_clear()
        return read_grammar("de", tmp_path)

    read.lexicon, read.frames = lexicon, frames
    return read


def test_a_contraction_is_a_range_only_where_it_contracts(toy):
    meaning = Meaning("e01", (("act", "buy"), ("animal", "dog"), ("place", "garden")))
    sentence = realise(toy(), meaning)
    assert sentence.text == "Er kauft Hund im Garten ein."
    assert [(span.first, span.last, span.form) for span in sentence.ranges] == [(4, 5, "im")]
    apart = realise(toy(), Meaning("e01", (*meaning.fillers[:2], ("place", "kitchen"))))
    assert apart.text == "Er kauft Hund in der Küche ein." and apart.ranges == ()


def test_wordings_by_class_empty_forms_and_compounds(toy):
    meaning = Meaning("e01", (("act", "buy"), ("animal", "cow"), ("place", "garden")))
    frames = toy.frames + "e01@animal=f\t{act:prt}/ADP/2/compound:prt {animal}//0/root\n"
    lexicon = toy.lexicon.replace("prt=ein", "prt=").replace("Kuh,f,", "bunte/ADJ/amod Kuh,f,")
    sentence = realise(toy(lexicon, frames), meaning)
    words = [(word.form, word.upos, word.head, word.relation) for word in sentence.words]
    assert words == [("Bunte", "ADJ", 2, "amod"), ("Kuh", "NOUN", 0, "root")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("dog,NOUN", "dog,NOMEN", r"lexicon.csv:4: upos `NOMEN`, expected one of"),
        ("dog,", "hound,", r"lexicon.csv:4: `hound` is no concept"),
        ("acc=Hund", "acc:Hund", r"lexicon.csv:4: form `acc:Hund`, expected key=form"),
        ("e01\t", "e01 ", r"frames.txt:1: .* expected frame<TAB>template"),
        ("{act:3sg}//0/root", "{act:3sg}//1/root", r"frames.txt:1: 0 roots, expected a tree"),
        ("{place}//2", "{place}//5", r"frames.txt:1: word 4 is in or below a cycle"),
        ("{place}", "{ort}", r"frames.txt:1: `{ort}` names `ort`, expected a slot of the frame"),
        ("2/obj", "2/object", r"frames.txt:1: relation `object`, expected one of Universal Dependencies"),
    ],
)
def test_a_bad_line_gives_one_readable_error(toy, old, new, message):
    with pytest.raises(SyntheticCorpusError, match=message) as error:
        toy(toy.lexicon.replace(old, new), toy.frames.replace(old, new))
    assert "\n" not in str(error.value)


def test_a_missing_form_names_word_and_key(toy):
    grammar = toy(toy.lexicon.replace("acc=Hund", "nom=Hund"))
    message = r"frames.txt:1: .* needs the form `acc` of `dog`, which has only nom; add the form"
    with pytest.raises(SyntheticCorpusError, match=message):
        realise(grammar, Meaning("e01", (("act", "buy"), ("animal", "dog"), ("place", "garden"))))


# Generated text.


def test_parallel_sentences_mean_the_same_and_others_differ():
    meanings = {
        language: [[each.meaning for each in treebank(read_grammar(language), split, 50, 0)] for split in ("test", "parallel")]
        for language in LANGUAGES
    }
    assert all(parallel == meanings["en"][1] for _, parallel in meanings.values())
    assert len({tuple(test) for test, _ in meanings.values()}) == len(LANGUAGES)
    assert all(split_of(meaning) == "parallel" for meaning in meanings["en"][1])


@every_language
def test_paragraphs_are_many_long_and_distinct(language):
    grammar = read_grammar(language)
    found = articles(grammar, 90, seed=0)
    paragraphs = [paragraph.text for article in found for paragraph in article.paragraphs]
    assert len(set(paragraphs)) == len(paragraphs) >= 150
    assert min(map(len, paragraphs)) >= MINIMUM_CHARACTERS
    assert len({article.title for article in found}) == len(found)
    owners: dict[str, str] = {}  # no sentence is in two articles
    for article in found:
        for sentence in itertools.chain(*(paragraph.sentences for paragraph in article.paragraphs)):
            assert owners.setdefault(sentence.text, article.title) == article.title


def test_nothing_is_written_when_a_language_is_unknown(tmp_path):
    with pytest.raises(SyntheticCorpusError, match=r"languages.csv: no line for `xx`, expected one"):
        write_sources(tmp_path / "sources", ["en", "xx"], 0, Sizes())
    assert not (tmp_path / "sources").exists()
