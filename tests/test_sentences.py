"""Sentences of running text, and documents as pairs of their first two."""

from pathlib import Path
from zipfile import ZipFile

import pyarrow.parquet as pq
import pytest
from crosslens.config.tokenisations import Tokenisation
from crosslens.corpora import schema
from crosslens.encoding.tokens.sentences import ENDS, FULL_WIDTH_ENDS, MODELS, split_after, splitter
from crosslens.encoding.tokens.tokenise import load_tokenizer, tokenise, write_train
from crosslens.jobs.errors import DataError
from pydantic import ValidationError

# Made up, so that a model learns from it that "ca." and "Fr." are abbreviations and that "Morgen" begins sentences.
TEXT = " ".join(
    [
        "Das Haus ist ca. hundert Jahre alt. Morgen kommt Fr. Linde aus der Stadt.",
        "Sie bleibt ca. zwei Wochen. Morgen fragt Fr. Linde nach dem Garten. Er ist ca. zehn Meter lang!",
        "Morgen geht Fr. Linde zum Markt. Dort kostet ein Brot ca. drei Taler, sagt Fr. Linde. Morgen regnet es.",
    ]
    * 6
)
READ = "Fr. Linde wartet ca. eine Stunde. Morgen kommt sie wieder. Dann geht sie."


@pytest.fixture(scope="module")
def trained():
    """Parameters that NLTK's trainer learns."""
    from nltk.tokenize.punkt import PunktTrainer

    trainer = PunktTrainer()
    trainer.INCLUDE_ALL_COLLOCS = True
    trainer.train(TEXT)
    return trainer.get_params()


@pytest.fixture
def archive(trained, tmp_path: Path) -> Path:
    """As NLTK's data package: a German model that has learnt, an English one that knows nothing."""
    files = {
        "abbrev_types.txt": sorted(trained.abbrev_types),
        "sent_starters.txt": sorted(trained.sent_starters),
        "collocations.tab": sorted(map("\t".join, trained.collocations)),
        "ortho_context.tab": [f"{word}\t{context}" for word, context in trained.ortho_context.items()],
    }
    with ZipFile(tmp_path / "punkt_tab.zip", "w") as made:
        for name, lines in files.items():
            made.writestr(f"punkt_tab/german/{name}", "\n".join(lines))
            made.writestr(f"punkt_tab/english/{name}", "")
    return tmp_path / "punkt_tab.zip"


def test_punkt_splits_as_nltk_does_with_the_same_parameters(trained, archive):
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    assert {"ca", "fr"} <= trained.abbrev_types and trained.collocations
    theirs, untaught = PunktSentenceTokenizer(trained), PunktSentenceTokenizer()
    split = splitter("punkt", archive)
    for text in (TEXT, READ, "Ende", "", "Ein Satz ohne Ende? Fr. Linde weiß es"):
        assert split(text, "de") == theirs.tokenize(text)
        assert split(text, "en") == split(text, "xx") == untaught.tokenize(text)
    assert len(split(READ, "de")) == 3 < len(split(READ, "en"))
    assert splitter("punkt_english", archive)(READ, "de") == split(READ, "en")


def test_chinese_and_japanese_are_hardly_split_by_the_english_model_and_are_at_their_own_marks(archive):
    text = "今天下雨。我們不去！你呢？"
    assert splitter("punkt", archive)(text, "zh") == [text]
    for language in ("ja", "zh"):
        assert splitter("punkt_and_marks", archive)(text, language) == ["今天下雨。", "我們不去！", "你呢？"]
    assert splitter("punkt_and_marks", archive)(READ, "de") == splitter("punkt", archive)(READ, "de")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("3.5 percent... Well… yes.", ["3.5 percent...", "Well…", "yes."]),
        ("“Yes.” he said. (No!) Then?!", ["“Yes.”", "he said.", "(No!)", "Then?!"]),
        ("他说：“好。”然后走了。", ["他说：“好。”", "然后走了。"]),
        ("  spaces  around .  and after ", ["spaces  around .", "and after"]),
        ("no end", ["no end"]),
        ("", []),
    ],
)
def test_marks(text, sentences):
    assert split_after(ENDS, text) == splitter("marks", None)(text, "en") == sentences


def test_full_width_marks_alone():
    assert split_after(FULL_WIDTH_ENDS, "A. B。C") == ["A. B。", "C"]


def test_marks_of_hindi_urdu_and_arabic():
    split = splitter("all_marks", None)
    for text in ("वह आया। वह गया॥ ठीक है?", "وہ آیا۔ کیا وہ گیا؟ جی ہاں!", "هل جاء؟ نعم. جاء."):
        assert len(split(text, "xx")) == 3 and " ".join(split(text, "xx")) == text
    for text in ("One. Two! 3.5 and 1।2", "他说：“好。”然后走了。"):
        assert split(text, "xx") == splitter("marks", None)(text, "xx")


def test_thai_is_split_at_spaces_between_its_letters():
    split = splitter("all_marks", None)
    assert split("ฉันไปตลาด แม่อยู่บ้าน  พ่อมา", "th") == ["ฉันไปตลาด", "แม่อยู่บ้าน", "พ่อมา"]
    for text in ("มี 3 คน", "เขาชื่อ Anna และ", "ต่าง ๆ", "ปี 2560 เขา"):  # numbers, names and repetition marks stay
        assert split(text, "th") == [text]
    assert split("ไปไหน? มาแล้ว! ดี", "th") == ["ไปไหน?", "มาแล้ว!", "ดี"]


def test_a_document_is_the_pair_of_its_first_two_sentences(encoder_folder):
    tokenizer = load_tokenizer(encoder_folder)
    first, second, third = "I see the dog.", "The house is old!", "It is small."
    tokenisation = Tokenisation(maximum=24, sentences="marks", drop_unknown=False)

    def document(text):
        return {"id": "d", "language": "en", "text": text, "label": "CCAT"}

    def pair(premise, hypothesis):
        return {"id": "d", "language": "en", "premise": premise, "hypothesis": hypothesis, "label": "CCAT"}

    longer = " and ".join(["the old dog"] * 9) + "."
    for one, two in ((first, second), (longer, second), (first, longer)):
        table, counts = tokenise(tokenizer, [document(f"{one} {two} {third}")], tokenisation)
        expected, expected_counts = tokenise(tokenizer, [pair(one, two)], Tokenisation(maximum=24, drop_unknown=False))
        assert table.to_pylist() == expected.to_pylist() and counts == expected_counts
        assert table["second"][0].as_py() > 0 and table["label"].to_pylist() == ["CCAT"]
    for text in (first, "no mark", ""):
        whole = tokenise(tokenizer, [document(text)], Tokenisation(maximum=24, drop_unknown=False))
        assert tokenise(tokenizer, [document(text)], tokenisation)[0].to_pylist() == whole[0].to_pylist()


def test_each_sentence_is_a_text_of_its_own(encoder_folder, tmp_path):
    tokenizer = load_tokenizer(encoder_folder)
    longer = " and ".join(["the old dog"] * 9) + "."
    documents = [["I see the dog.", "The house is old!", "It is small."], ["no mark"], [longer, "It is old?"], [""]]
    rows = [
        {"id": f"d{number}", "language": "en", "page": "p", "text": " ".join(sentences)}
        for number, sentences in enumerate(documents)
    ]
    apart = [
        {"id": f"d{number}#{place}" if place > 1 else f"d{number}", "language": "en", "page": "p", "text": sentence}
        for number, sentences in enumerate(documents)
        for place, sentence in enumerate(sentences, start=1)
    ]
    whole = Tokenisation(maximum=16, drop_unknown=False)
    tokenisation = Tokenisation(maximum=16, sentences="marks", each_sentence=True, drop_unknown=False)
    for limit in (1, 2, 3, None):  # of documents
        sentences = sum(map(len, documents[:limit]))
        table, counts = tokenise(tokenizer, rows, tokenisation, limit)
        expected, expected_counts = tokenise(tokenizer, apart, whole, sentences)
        assert table.to_pylist() == expected.to_pylist() and counts == expected_counts
        assert counts["texts"] == table.num_rows == sentences and counts["cut_texts"] == (limit in (3, None))
    pair = [{"id": "p", "language": "en", "premise": "I see. It is.", "hypothesis": "No.", "label": "neutral"}]
    assert tokenise(tokenizer, pair, tokenisation)[0].to_pylist() == tokenise(tokenizer, pair, whole)[0].to_pylist()

    # Texts after the last one that is kept are not looked at: none of them counts as left out.
    known, unknown = ({"id": text, "language": "en", "text": text} for text in ("I see the dog.", "\U0001f3e0"))
    assert tokenise(tokenizer, [known, unknown, known], Tokenisation(), 1)[1]["unknown"] == 0
    assert tokenise(tokenizer, [known, unknown, known], Tokenisation(), 2)[1]["unknown"] == 1

    # A sentence with an unknown subword leaves alone, and shares of train are drawn by document.
    rows[0]["text"] = "I see the dog. \U0001f3e0 is old! It is small."
    known = tokenisation.model_copy(update={"drop_unknown": True})
    table, counts = tokenise(tokenizer, rows[:2], known)
    assert table["id"].to_pylist() == ["d0", "d0#3", "d1"] and counts["unknown"] == 1
    many = [row | {"id": f"{row['id']}x{number}"} for number in range(9) for row in rows]
    schema.write(many, tmp_path / "train.parquet", schema.PARAGRAPHS, {})
    outputs = {split: tmp_path / f"out.{split}.parquet" for split in ("train", "validation")}
    write_train(
        load_tokenizer(encoder_folder),
        tmp_path / "train.parquet",
        outputs,
        tokenisation,
        language="en",
        share=0.5,
        by="text",
        seed=0,
    )
    drawn, rest = ({name.split("#")[0] for name in pq.read_table(path)["id"].to_pylist()} for path in outputs.values())
    assert drawn and rest and not drawn & rest and len(drawn | rest) == 36


def test_sentences_of_treebanks_and_pairs_stay_whole_where_running_text_is_split(encoder_folder):
    tokenizer = load_tokenizer(encoder_folder)
    rows = [
        {"id": "w", "language": "en", "forms": ["I", "see", ".", "It"], "upos": [], "entities": [], "text": "I see. It"},
        {"id": "q", "language": "en", "premise": "I see. It is old.", "hypothesis": "It is old."},
    ]
    apart = Tokenisation(maximum=24, sentences="marks", each_sentence=True, drop_unknown=False)
    whole = Tokenisation(maximum=24, drop_unknown=False)
    assert tokenise(tokenizer, rows, apart)[0].to_pylist() == tokenise(tokenizer, rows, whole)[0].to_pylist()


def test_wrong_archives_and_settings_are_refused(tmp_path, archive):
    with pytest.raises(DataError, match="expected Punkt's models, punkt_tab.zip, for punkt, found none"):
        splitter("punkt", None)
    with pytest.raises(DataError, match=r"punkt_tab\.zip: expected NLTK's data package punkt_tab with a model french: .*; fetch"):
        splitter("punkt", archive)("Oui. Non.", "fr")
    (tmp_path / "other.zip").write_text("no archive")
    with pytest.raises(DataError, match=r"other\.zip: expected NLTK's data package"):
        splitter("punkt", tmp_path / "other.zip")("Yes. No.", "en")
    for others in ({"sentences": "marks"}, {"whole_words": True}, {"words": 9}, {"train_maximum": 64}, {"each_sentence": True}):
        with pytest.raises(ValidationError, match=f"windows: expected null beside {next(iter(others))}"):
            Tokenisation(windows=2, **others)
    with pytest.raises(ValidationError, match="sentences: expected a rule beside each_sentence, found null"):
        Tokenisation(each_sentence=True)


def test_readings_name_the_official_files_that_they_need():
    assert Tokenisation().official() == Tokenisation(sentences="marks").official() == []
    for rule in ("punkt", "punkt_and_marks", "punkt_english"):
        assert Tokenisation(sentences=rule).official() == ["punkt/punkt_tab.zip"]
    assert len(MODELS) == len(set(MODELS.values())) == 19
