"""Named entities: the official layouts, and spans that survive every repair."""

from collections import Counter
from pathlib import Path

import pytest
from conftest import MIRROR, manifest, save
from crosslens.corpora import entities
from crosslens.corpora.entities import iob2, read
from crosslens.jobs.errors import DataError
from hypothesis import given, settings
from hypothesis import strategies as st

needs_mirror = pytest.mark.skipif(not (MIRROR / "panx").is_dir(), reason="needs real entities in ../shared/mirror/panx")

FORMS = ["Ada", "Bo", "traf", "Cy", "in", "Ulm", "."]
TAGS = ["B-PER", "B-PER", "O", "B-PER", "O", "B-LOC", "O"]
IOB1 = ["I-PER", "B-PER", "O", "I-PER", "O", "I-LOC", "O"]
OTHER = (["Ulm", "."], ["B-LOC", "O"])


def columns(separator: str, *between: str, tags=TAGS, prefix: str = "") -> str:
    """The two sentences, `between` the word and its tag."""
    sentences = [(FORMS, tags), OTHER]
    lines = [[separator.join([prefix + form, *between, tag]) for form, tag in zip(*pair, strict=True)] for pair in sentences]
    return "\n\n".join("\n".join(sentence) for sentence in lines)


def documents(lines: str, start: str, blank: bool = True) -> str:
    """Every sentence a document of its own."""
    return "".join(f"{start}\n{chr(10) * blank}{sentence}\n\n" for sentence in lines.split("\n\n"))


LAYOUTS = {
    "WikiANN": columns("\t", prefix="de:") + "\n\n",
    "XTREME": columns("\t") + "\n",
    "blank lines": "\n\n" + columns("\t").replace("\n\n", "\n\n\n") + "\n\n\n",
    "CoNLL-2002": columns(" ", "NC") + "\n\n",
    "CoNLL-2002 with documents": documents(columns(" ", "N"), "-DOCSTART- -DOCSTART- O", blank=False),
    "CoNLL-2003": documents(columns(" ", "NNP", "I-NP", tags=IOB1), "-DOCSTART- -X- O O"),
    "CoNLL-2003 German": documents(columns(" ", "lemma", "NE", "I-NC", tags=IOB1), "-DOCSTART- -X- -X- -X- O"),
    "several blanks": columns("  ", "NC"),
    "byte order marks of joined files": columns("\t").replace("\n", "\n\ufeff"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_give_the_same_rows(tmp_path: Path, layout: str) -> None:
    rows, counts = read([save(tmp_path, LAYOUTS[layout], "de.tsv")], "de")
    assert [row["id"] for row in rows] == ["de/1", "de/2"]
    assert [(row["forms"], row["entities"]) for row in rows] == [(FORMS, TAGS), OTHER]
    assert rows[0]["text"] == "Ada Bo traf Cy in Ulm ." and rows[0]["language"] == "de"
    assert counts == {"opened": 3 if "2003" in layout else 0, "wordless": 0, "empty": 0}


def test_the_shared_tasks_own_encoding(tmp_path: Path) -> None:
    path = save(tmp_path, "La Art O\nEspaña NC B-LOC\nB\u00a0C NC O\n\n".encode("iso-8859-1"), "esp.train")
    rows, _ = read([path], "es", encoding="iso-8859-1")
    assert rows[0]["forms"] == ["La", "España", "B\u00a0C"]  # a no-break space parts no columns


def test_a_prefix_is_taken_off_and_every_word_has_it(tmp_path: Path) -> None:
    text = "de:Ada\tB-PER\nde:\tO\nde:de:x\tO\n"
    assert read([save(tmp_path, f"{text}\n")], "de")[0][0]["forms"] == ["Ada", "de:x"]
    with pytest.raises(DataError, match=":4: expected the prefix de: as for most words, found word 'Bo'"):
        read([save(tmp_path, text + "Bo\tO\n")], "de")
    classical = save(tmp_path, "zh-classical:孔\tB-PER\n\n")
    assert read([classical], "lzh")[0][0]["forms"] == ["孔"]
    path = save(tmp_path, text)
    with pytest.raises(DataError, match=f"{path}:1: expected words in 'nl', found 'de'; name the file of that language"):
        read([path], "nl")


def test_words_that_look_as_if_they_had_a_prefix_are_text(tmp_path: Path) -> None:
    """Only what most words of a file have is a prefix, wherever such a word stands."""
    words = ["re:publica", "lacht", "Anna", "re:publica", "de:facto", "in:vento", "Cy"]
    for turn in range(len(words)):
        turned = words[turn:] + words[:turn]
        path = save(tmp_path, "".join(f"{word}\tO\n" for word in turned) + "\n")
        assert read([path], "de")[0][0]["forms"] == turned


SCHEMES = {  # tags of the same words -> the key `tags`
    "BILOU": ("U-PER O O B-LOC I-LOC L-LOC U-ORG", {"L": "I", "U": "B"}),
    "BIOES, with types of their own": ("S-Person O S-misc B-geo-loc I-geo-loc E-geo-loc S-Org", {
        "E": "I", "S": "B", "Person": "PER", "misc": "O", "geo-loc": "LOC", "Org": "ORG"}),
    "another outside": ("B-PER OUT OUT B-LOC I-LOC I-LOC B-ORG", {"OUT": "O"}),
}  # fmt: skip


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tags_of_other_schemes_and_types(tmp_path: Path, scheme: str) -> None:
    tags, names = SCHEMES[scheme]
    path = save(tmp_path, "".join(f"w\t{tag}\n" for tag in tags.split()) + "\n")
    assert read([path], "de", tags=names)[0][0]["entities"] == "B-PER O O B-LOC I-LOC I-LOC B-ORG".split()
    with pytest.raises(DataError, match=r"expected O, or B- or I- .*, found tag '.*'; .* say in the corpus's `tags` what"):
        read([path], "de")


WHITE = "\u3000"
WORDLESS = {  # words with tags, - for white space -> what is left of them
    "outside": ("a B-PER - O b I-PER", "a B-PER b B-PER"),
    "inside": ("a B-PER - I-PER b I-PER", "a B-PER b I-PER"),
    "first": ("- B-PER b I-PER c I-PER", "b B-PER c I-PER"),
    "first two": ("- B-PER - I-PER c I-PER", "c B-PER"),
    "a span of its own": ("a B-PER - B-PER b O", "a B-PER b O"),
    "between two spans": ("- B-PER b B-LOC c I-LOC", "b B-LOC c I-LOC"),
    "last": ("a B-PER - I-PER", "a B-PER"),
}


@pytest.mark.parametrize("case", WORDLESS)
def test_words_of_white_space_leave_the_spans_right(tmp_path: Path, case: str) -> None:
    marked, expected = (cells.split() for cells in WORDLESS[case])
    words = zip(marked[::2], marked[1::2], strict=True)
    text = "".join(f"ja:{form.replace('-', WHITE)}\t{tag}\n" for form, tag in words) + "\n"
    [row], counts = read([save(tmp_path, text)], "ja")
    assert (row["forms"], row["entities"], row["text"]) == (expected[::2], expected[1::2], "".join(expected[::2]))
    assert counts == {"opened": case == "outside", "wordless": marked.count("-"), "empty": 0}


def test_a_sentence_without_any_word_is_dropped_and_counted(tmp_path: Path) -> None:
    rows, counts = read([save(tmp_path, "ja:\tO\n\nja:a\tO\n")], "ja")
    assert [row["id"] for row in rows] == ["train/2"] and counts == {"opened": 0, "wordless": 1, "empty": 1}


# The rule of the tags


def spans(tags: list[str]) -> set[tuple[int, int, str]]:
    """Spans as conlleval finds them: one begins at B-, and at I- where none of its type goes on; ends are exclusive."""
    found, start = set(), None
    for place, (before, tag) in enumerate(zip(["O", *tags], [*tags, "O"], strict=True)):
        if start is not None and (tag[0] != "I" or tag[1:] != before[1:]):
            found.add((start, place, before[2:]))
            start = None
        if tag != "O" and start is None:
            start = place
    return found


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(sorted(entities.TAGS)), max_size=12))
def test_opened_spans_are_those_of_conlleval(tags: list[str]) -> None:
    fixed = iob2(tags)
    assert spans(fixed) == spans(tags) and iob2(fixed) == fixed
    assert len(spans(fixed)) == sum(tag[0] == "B" for tag in fixed)  # which makes it IOB2


# Real data


def records(folder: str) -> dict[str, int]:
    rows = manifest("MANIFEST-other.tsv")
    return {row["path"]: int(row["records"]) for row in rows if row["path"].startswith(f"{folder}/")}


@pytest.mark.long
@needs_mirror
def test_real_wikiann() -> None:
    opened: Counter[str] = Counter()
    for name, number in records("panx").items():
        language = name.split(".")[0][-2:]
        rows, counts = read([MIRROR / name], language)
        assert len(rows) == number and counts["wordless"] == counts["empty"] == 0, name
        assert all(row["entities"] == iob2(row["entities"]) for row in rows), name
        opened[language] += counts["opened"]
    # Only where a character is a word are the spans broken.
    assert +opened == {"ja": 256, "zh": 246}


@pytest.mark.long
@needs_mirror
def test_real_conll2002() -> None:
    names = records("conll2002")
    assert len(names) == 6
    for name, number in names.items():
        rows, counts = read([MIRROR / name], {"esp": "es", "ned": "nl"}[Path(name).name[:3]])
        assert len(rows) == number and counts["wordless"] == counts["empty"] == 0, name
        # One I- of each Spanish file follows a span of another type.
        assert counts["opened"] == ("esp" in name), name
        assert rows[0]["id"] == f"{Path(name).stem}/1"
