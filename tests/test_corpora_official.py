"""All parts of a corpus in one folder: from archives opened once, or nothing."""

import logging
import zipfile
from pathlib import Path

import pytest
from crosslens.corpora import dictionaries, documents, schema
from crosslens.corpora.official import write_corpus
from crosslens.corpora.splits import write_split
from crosslens.jobs.errors import DataError

LOG = logging.getLogger("crosslens")
SPLITS = {"train": "0-5000", "test": "5000-6500"}
PATTERNS = {f"{language}.{split}": [f"muse/en-{language}.{SPLITS[split]}.txt"] for language in ("de", "fr") for split in SPLITS}


def lines(part: str, number: int = 24) -> str:
    return "".join(f"word{i} {part.replace('.', '')}{i}\n" for i in range(number))


def archive(folder: Path, **broken: str) -> Path:
    """A zip with a member a part; `broken`: other content of some."""
    path = folder / "muse.zip"
    with zipfile.ZipFile(path, "w") as zipped:
        for part, (name,) in PATTERNS.items():
            zipped.writestr(name, broken.get(part.replace(".", "_"), lines(part)))
    return path


def write(folder: Path, parts: dict[str, dict[str, list[str]]], **limits: int) -> None:
    write_corpus(dictionaries, parts, folder, LOG, limits=limits, texts={}, seed=0)


def test_each_part_is_what_it_would_be_alone(tmp_path: Path) -> None:
    """Some parts in an archive, one in a file of its own."""
    plain = tmp_path / "en-fr.5000-6500.txt"
    plain.write_text(lines("fr.test"))
    archived = {part: globs for part, globs in PATTERNS.items() if part != "fr.test"}
    write(tmp_path / "muse", {str(archive(tmp_path)): archived, "": {"fr.test": [str(plain)]}}, train=4)
    assert {path.name for path in (tmp_path / "muse").glob("*.parquet")} == {f"{part}.parquet" for part in PATTERNS}
    for part in PATTERNS:
        language, split = part.split(".")
        file = tmp_path / f"en-{language}.{SPLITS[split]}.txt"
        file.write_text(lines(part))
        alone, limit = tmp_path / f"{part}.parquet", {"train": 4}.get(split)
        write_split(dictionaries, [file], alone, language=language, split=split, limit=limit, seed=0)
        assert (tmp_path / "muse" / alone.name).read_bytes() == alone.read_bytes()
        assert schema.read(alone).num_rows == (limit or 24)


def test_a_broken_part_leaves_nothing(tmp_path: Path) -> None:
    path = archive(tmp_path, fr_train="one two three\n")
    with pytest.raises(DataError, match=rf"^{path}/muse/en-fr.0-5000.txt:1: expected a source and a target word") as error:
        write(tmp_path / "muse", {str(path): PATTERNS})
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_there_is_replaced_only_by_a_whole_corpus(tmp_path: Path) -> None:
    write(tmp_path / "muse", {str(archive(tmp_path)): PATTERNS})
    before = {path.name: path.read_bytes() for path in (tmp_path / "muse").glob("*.parquet")}
    with pytest.raises(DataError):
        write(tmp_path / "muse", {str(archive(tmp_path, fr_test="\n")): PATTERNS})
    assert {path.name: path.read_bytes() for path in (tmp_path / "muse").glob("*.parquet")} == before
    write(tmp_path / "muse", {str(archive(tmp_path)): {"de.test": PATTERNS["de.test"]}})
    assert [path.name for path in (tmp_path / "muse").glob("*.parquet")] == ["de.test.parquet"]


TRAIN, TEST = "en-de.train.txt", "en-de.test.txt"
COPIES = ("copy beside another file", "link", "member of another archive")


def copies(folder: Path, form: str) -> dict[str, dict[str, list[str]]]:
    """Parts of a corpus, in whose test is a copy of train."""
    text, train, test = lines("de.train", 40), folder / TRAIN, folder / TEST
    if form == "member of another archive":
        archives = folder / "a.zip", folder / "b.zip"
        for path, name in zip(archives, (TRAIN, TEST), strict=True):
            with zipfile.ZipFile(path, "a") as zipped:
                zipped.writestr(name, text)
        parts: dict[str, dict[str, list[str]]] = {str(path): {} for path in reversed(archives)}
        parts[str(archives[0])]["de.train"], parts[str(archives[1])]["de.test"] = [TRAIN], [TEST]
        return parts
    train.write_text(text)
    if form == "link":
        test.symlink_to(train)
    else:
        test.write_text(text)
    (folder / "en-de.own.txt").write_text(lines("de.test"))
    own = [str(folder / "en-de.own.txt")] if form == "copy beside another file" else []
    return {"": {"de.test": [str(test), *own], "de.train": [str(train)]}}


@pytest.mark.parametrize("form", COPIES)
@pytest.mark.fault("A test set that is train", "refused")
def test_a_copy_of_train_is_refused_whatever_its_name(tmp_path: Path, form: str) -> None:
    """Also where limits draw other rows of both."""
    parts, before = copies(tmp_path, form), sorted(tmp_path.iterdir())
    message = r":1: expected files that differ, found the same one for de\.test and de\.train; name another$"
    with pytest.raises(DataError, match=message) as error:
        write(tmp_path / "muse", parts, train=4, test=4)
    assert "\n" not in str(error.value) and sorted(tmp_path.iterdir()) == before


def write_wili(folder: Path, texts: dict[str, list[str]], *splits: str) -> None:
    """Texts of German and English, in turns, by the name of their file."""
    for name, rows in texts.items():
        (folder / f"x_{name}.txt").write_text("".join(f"{row}\n" for row in rows for _ in range(2)))
        (folder / f"y_{name}.txt").write_text("deu\neng\n" * len(rows))
    parts = {
        f"{language}.{split}": [str(folder / f"{mark}_{split if split in texts else 'test'}.txt") for mark in "xy"]
        for language in ("de", "en")
        for split in splits
    }
    write_corpus(documents, {"": parts}, folder / "wili", LOG, limits={}, texts={}, labels=[], seed=0)


@pytest.mark.parametrize(("repeated", "further", "refused"), [(10, 0, True), (10, 1, False), (9, 0, False)])
def test_a_split_whose_texts_are_all_in_train_is_refused(tmp_path: Path, repeated: int, further: int, refused: bool) -> None:
    """In another order and with other spaces the file is another; nine texts may be in train by chance."""
    train = [f"Satz {i}." for i in range(12)]
    test = [f"Satz  {i}." for i in reversed(range(repeated))] + ["Kein Satz."] * further
    if refused:
        message = f"^x_test.txt, y_test.txt: expected other texts for de.test than for train, found all {repeated} there; "
        with pytest.raises(DataError, match=message):
            write_wili(tmp_path, {"train": train, "test": test}, "test", "train")
    else:
        write_wili(tmp_path, {"train": train, "test": test}, "test", "train")
    assert (tmp_path / "wili").exists() != refused


def test_what_splits_may_share(tmp_path: Path) -> None:
    """One file for two languages, the content of dev and test, texts of train, and the labels of WiLI, a file of their own."""
    write_wili(tmp_path, {"train": ["Ein Satz.", "Zwei."], "test": ["Ein Satz.", "Drei."]}, "train", "dev", "test")
    assert len(list((tmp_path / "wili").glob("*.parquet"))) == 6
