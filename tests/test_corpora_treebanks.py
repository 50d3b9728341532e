"""CoNLL-U files: read exactly, refused in one line with the place, and split without leaks."""

import lzma
from functools import partial
from pathlib import Path

import conftest
import conllu
import pyarrow as pa
import pytest
from crosslens.corpora import schema, treebanks
from crosslens.corpora.conllu import read_treebank
from crosslens.corpora.splits import write_split
from crosslens.corpora.treebanks import reason_to_drop
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError

MIRROR = conftest.MIRROR / "ud"
needs_mirror = pytest.mark.skipif(not MIRROR.is_dir(), reason="needs real treebanks in ../shared/mirror/ud")

GOOD = """# sent_id = a1
# text = Vámonos al mar.
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\t_\tMood=Imp\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\texpl:pv\t_\t_
2.1\tyo\tyo\tPRON\t_\t_\t_\t_\t1:nsubj\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_

# newdoc
1\tSí\tsí\tINTJ\t_\t_\t0\troot\t_\t_

"""


save = partial(conftest.save, name="es_x-ud-test.conllu")


def sentence_of(identity: str, words: list[tuple[str, str]]) -> str:
    """A chain: every word hangs on the one before."""
    lines = [f"{i + 1}\t{form}\t_\t{upos}\t_\t_\t{i}\t{'dep' if i else 'root'}\t_\t_" for i, (form, upos) in enumerate(words)]
    return "\n".join([f"# sent_id = {identity}", *lines, "", ""])


def test_words_ranges_and_empty_nodes(tmp_path: Path) -> None:
    first, second = read_treebank(save(tmp_path, GOOD))
    assert (first.id, first.text) == ("a1", "Vámonos al mar.")
    assert first.forms == ["Vamos", "nos", "a", "el", "mar", "."]
    assert first.upos == ["VERB", "PRON", "ADP", "DET", "NOUN", "PUNCT"]
    assert first.heads == [0, 1, 5, 5, 1, 1]
    assert first.relations == ["root", "expl:pv", "case", "det", "obl", "punct"]
    assert first.multiwords == [(1, 2, "Vámonos"), (3, 4, "al")]
    assert first.empty_nodes == 1
    assert (second.id, second.text) == ("2", "Sí")


def rows(path: Path) -> list[dict]:
    return schema.read(path).to_pylist()


def test_only_a_sent_id_names_a_sentence(tmp_path: Path) -> None:
    """Two files may have the same short sentence in the same place."""
    yes, no = sentence_of("a", [("Ja", "INTJ")]), sentence_of("b", [("Nein", "INTJ")])
    numbered = [text.split("\n", 1)[1] for text in (yes, no)]
    files = [save(tmp_path, numbered[0] + numbered[i], name=f"de_x-ud-train-{i}.conllu") for i in range(2)]
    found, _ = treebanks.read(files, "de")
    assert [row["id"] for row in found] == ["de_x/1", "de_x/2"] * 2
    assert [row["forms"] for row in found] == [["Ja"], ["Ja"], ["Ja"], ["Nein"]]
    files = [save(tmp_path, text, name=f"de_x-ud-train-{i}.conllu") for i, text in enumerate((yes, no + yes))]
    with pytest.raises(DataError, match=f"{files[1]}:4: expected each sentence once, found de_x/a a second time"):
        treebanks.read(files, "de")
    with pytest.raises(DataError, match="found 1 a second time"):
        treebanks.read(
            [save(tmp_path, numbered[0], name=f"{name}_pud-ud-test.conllu") for name in ("de", "en")], "de", parallel=True
        )


def test_withheld_rules(tmp_path: Path) -> None:
    covered = "1-2\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    text = (
        sentence_of("hidden", [("_", "DET"), ("_", "NOUN")])
        + sentence_of("part", [("ein", "DET"), ("_", "NOUN")])
        + sentence_of("untagged", [("ein", "_"), ("Wort", "NOUN")])
        + sentence_of("hidden and untagged", [("_", "_"), ("_", "NOUN")])
        + sentence_of("underscore", [("Wort", "NOUN"), ("_", "PUNCT")])
        + sentence_of("in a range", [("_", "ADP"), ("_", "DET")]).replace("1\t_", f"{covered}1\t_", 1)
    )
    sentences = read_treebank(save(tmp_path, text))
    assert {s.id: (reason_to_drop(s, "paper"), reason_to_drop(s, "clean")) for s in sentences} == {
        "hidden": ("withheld", "withheld"),
        "part": (None, "withheld"),
        "untagged": (None, "untagged"),
        "hidden and untagged": (None, "withheld"),
        "underscore": (None, None),
        "in a range": ("withheld", None),
    }


# The schema


def test_schema_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "out" / "x.parquet"
    row = {"id": "a", "language": "de", "page": "p", "text": "t"}
    for wrong, what in (
        ({**row, "extra": 1}, "columns"),
        ({k: v for k, v in row.items() if k != "page"}, "columns"),
        ({**row, "page": None}, "expected page in every row"),
        ({**row, "page": 3}, "type"),
    ):
        with pytest.raises(DataError, match=what):
            schema.write([wrong], path, schema.PARAGRAPHS, {})
    with pytest.raises(DataError, match="of the corpus schema, found"):
        schema.write(pa.table({"id": ["a"]}), path, schema.PARAGRAPHS, {})
    assert not path.parent.exists()
    schema.write([row], path, schema.PARAGRAPHS, {"dropped": {"why": 3}})
    assert rows(path) == [row] and parquet.metadata(path) == {"dropped": {"why": 3}}
    path.write_bytes(b"no parquet")
    with pytest.raises(DataError, match=str(path)):
        schema.read(path)


# Real data

FILES = conftest.manifest("ud", "MANIFEST.tsv")


@needs_mirror
@pytest.mark.parametrize("row", FILES, ids=lambda row: row["path"])
def test_real_counts(row: dict[str, str]) -> None:
    found = {"sentences": 0, "words": 0, "multiword_ranges": 0, "empty_nodes": 0}
    for sentence in read_treebank(MIRROR / row["path"]):
        found["sentences"] += 1
        found["words"] += len(sentence.forms)
        found["multiword_ranges"] += len(sentence.multiwords)
        found["empty_nodes"] += sentence.empty_nodes
    assert found == {key: int(row[key]) for key in found}


@needs_mirror
def test_same_as_conllu() -> None:
    path = MIRROR / "r2.7" / "UD_Finnish-PUD" / "fi_pud-ud-test.conllu.xz"
    text = lzma.open(path, "rt", encoding="utf-8").read()
    for ours, theirs in zip(read_treebank(path), conllu.parse(text), strict=True):
        words = [token for token in theirs if isinstance(token["id"], int)]
        assert ours.id == theirs.metadata["sent_id"] and ours.text == theirs.metadata["text"]
        assert ours.forms == [token["form"] for token in words]
        assert ours.heads == [token["head"] for token in words]
        assert ours.relations == [token["deprel"] for token in words]


@needs_mirror
def test_tags_of_ud_1_become_those_of_ud_2() -> None:
    path = MIRROR / "r1.4" / "UD_Chinese-GSD" / "zh-ud-train.conllu.xz"
    sentences = list(read_treebank(path))
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        lines = [line.split("\t") for line in stream if line.count("\t") == 9]
    found = [upos for sentence in sentences for upos in sentence.upos]
    assert found.count("CCONJ") == sum(line[3] == "CONJ" for line in lines) > 0
    assert [relation for sentence in sentences for relation in sentence.relations] == [line[7] for line in lines]
    assert {"dobj", "nmod"} <= {relation for sentence in sentences for relation in sentence.relations}


def without_trees(text: str) -> str:
    """CoNLL-U without heads and relations, as a corpus that is tagged and no more has it."""
    lines = [line.split("\t") for line in text.split("\n")]
    return "\n".join("\t".join([*cells[:6], "_", "_", *cells[8:]] if len(cells) == 10 else cells) for cells in lines)


def test_a_treebank_without_trees_is_read_for_its_tags(tmp_path: Path) -> None:
    expected, _ = treebanks.read([save(tmp_path, GOOD)], "es")
    rows, counts = treebanks.read([save(tmp_path, without_trees(GOOD))], "es")
    assert rows == [row | {"heads": [], "relations": []} for row in expected] and not any(counts.values())
    first, second = GOOD.split("# newdoc")
    rows, _ = treebanks.read([save(tmp_path, f"{first}# newdoc{without_trees(second)}")], "es")
    assert rows == [expected[0], expected[1] | {"heads": [], "relations": []}]
    schema.write(rows, tmp_path / "es.test.parquet", schema.SENTENCES, {})


@pytest.mark.parametrize("word", [0, 5])
def test_a_sentence_with_half_a_tree_is_refused(tmp_path: Path, word: int) -> None:
    first, second = GOOD.split("\n\n", 1)
    lines = first.split("\n")
    places = [number for number, line in enumerate(lines) if line[:2] in [f"{index}\t" for index in range(1, 7)]]
    lines[places[word]] = without_trees(lines[places[word]])
    path = save(tmp_path, "\n".join([*lines, "", second]))
    number = places[max(word, 1)] + 1
    message = f"{path}:{number}: expected a tree of all words of a sentence, or of none, found head '._?'"
    with pytest.raises(DataError, match=message):
        treebanks.read([path], "es")


def test_fused_words_need_a_tree(tmp_path: Path) -> None:
    path = save(tmp_path, without_trees(GOOD))
    with pytest.raises(DataError, match=f"{path}:1: expected a tree, since the tag of a fused word is .*, found no tree"):
        treebanks.read([path], "es", words="fused")
    [row], _ = treebanks.read([save(tmp_path, without_trees(GOOD.split("\n\n")[1] + "\n\n"))], "es", words="fused")
    assert (row["forms"], row["upos"]) == (["Sí"], ["INTJ"])


# XTREME's variant


FUSED = """# sent_id = 1
# text = vámonos al m‌ar 1‌
1-2	vámonos	_	_	_	_	_	_	_	_
1	vamos	ir	VERB	_	_	0	root	_	_
2	nos	nosotros	PRON	_	_	1	obj	_	_
3-4	al	_	_	_	_	_	_	_	_
3	a	a	ADP	_	_	5	case	_	_
4	el	el	DET	_	_	5	det	_	_
4.1	x	_	_	_	_	_	_	_	_
5	m‌ar 1	mar	NOUN	_	_	1	obl	_	_
6	‌	y	CCONJ	_	_	5	cc	_	_

"""


def test_xtreme_fuses_multiword_tokens(tmp_path: Path) -> None:
    path = save(tmp_path, FUSED, name="es_x-ud-test.conllu")
    [row], dropped = treebanks.read([path], "es", withheld="xtreme", words="fused")
    assert list(zip(row["forms"], row["upos"], strict=True)) == [("vámonos", "VERB"), ("al", "ADP"), ("mar1", "NOUN")]
    assert not row["heads"] and not row["relations"] and not row["multiwords"] and not any(dropped.values())
    [row], _ = treebanks.read([path], "de", withheld="xtreme", words="fused")
    assert row["upos"][1] == "ADP"  # of parts as near to the root, ADP comes before DET in every list
    [row], _ = treebanks.read([path], "es")
    assert row["forms"][:4] == ["vamos", "nos", "a", "el"] and row["heads"] == [0, 1, 5, 5, 1, 5]


def test_xtreme_drops_sentences_with_at_most_one_form(tmp_path: Path) -> None:
    forms = {"none": ["_", "_", "_"], "one": ["_", "a", "_"], "two": ["_", "a", "b"], "all": ["a", "b", "c"], "single": ["_"]}
    text = "".join(sentence_of(name, [(form, "NOUN") for form in words]) for name, words in forms.items())
    rows, dropped = treebanks.read([save(tmp_path, text)], "de", withheld="xtreme")
    assert [row["id"].split("/")[1] for row in rows] == ["two", "all"] and dropped["withheld"] == 3


@needs_mirror
def test_xtreme_on_real_treebanks() -> None:
    """Words are surface words: syntactic words less what multiword tokens fuse."""
    for name in ("fr_gsd-ud-test", "he_htb-ud-dev", "it_isdt-ud-dev", "tr_imst-ud-dev"):
        [row] = [row for row in FILES if name in row["path"]]
        path = MIRROR / row["path"]
        fused = lambda sentence: sum(last - first for first, last, _ in sentence.multiwords)  # noqa: E731
        surface = sum(len(sentence.forms) - fused(sentence) for sentence in read_treebank(path))
        rows, dropped = treebanks.read([path], name[:2], withheld="xtreme", words="fused")
        assert sum(len(row["forms"]) for row in rows) == surface and not any(dropped.values())
        assert not any("\u200c" in form or " " in form for row in rows for form in row["forms"])


# Parallel treebanks


def test_translations_share_ids_and_samples(tmp_path: Path) -> None:
    ids = [f"n0100{i}" for i in range(9)]
    outputs = {language: tmp_path / f"{language}.test.parquet" for language in ("de", "pl", "is")}
    for language, order in (("de", ids), ("pl", ids), ("is", ids[::-1])):
        names = [f"s{i}" for i in range(len(ids))] if language == "pl" else order
        text = "".join(sentence_of(name, [("a", "NOUN")]) for name in names)
        if language == "pl":
            for name, id in zip(names, ids, strict=True):
                text = text.replace(f"# sent_id = {name}\n", f"# sent_id = {name}\n# orig_file_sentence = {id}#1\n")
        path = save(tmp_path, text, name=f"{language}_pud-ud-test.conllu")
        write_split(treebanks, [path], outputs[language], language=language, split="test", limit=4, seed=0, parallel=True)
    found = {language: [row["id"] for row in rows(path)] for language, path in outputs.items()}
    assert found["de"] == found["pl"] == found["is"] == sorted(found["de"]) and len(found["de"]) == 4
    with pytest.raises(DataError, match="found n01000 a second time"):
        treebanks.read([tmp_path / "de_pud-ud-test.conllu"] * 2, "de", parallel=True)


@pytest.mark.long
@needs_mirror
def test_real_pud_is_aligned() -> None:
    rows = {
        path.name[:2]: {row["id"]: row["text"] for row in treebanks.read([path], path.name[:2], parallel=True)[0]}
        for path in sorted(MIRROR.glob("*/UD_*-PUD/*.xz"))
    }
    assert len(rows) >= 18 and all(list(found) == list(rows["en"]) and len(found) == 1000 for found in rows.values())
    english = {}
    for sentence in conllu.parse(lzma.open(next(MIRROR.glob("*/UD_German-PUD/*.xz")), "rt", encoding="utf-8").read()):
        english[sentence.metadata["sent_id"]] = sentence.metadata["text_en"]
    letters = lambda text: "".join(filter(str.isalnum, text))  # noqa: E731
    assert all(letters(english[id]) == letters(text) for id, text in rows["en"].items())
