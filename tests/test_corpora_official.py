"""All parts of a corpus in one folder: from archives opened once, or nothing."""

import logging
import zipfile
from pathlib import Path

import pytest
from crosslens.corpora import dictionaries, official, schema
from crosslens.corpora.archives import extracted
from crosslens.corpora.official import write_corpus
from crosslens.corpora.splits import write_split
from crosslens.runs.errors import DataError

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


def test_an_archive_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def counted(path: Path, patterns: dict[str, list[str]]):
        opened.append(path)
        return extracted(path, patterns)

    monkeypatch.setattr(official, "extracted", counted)
    write(tmp_path / "muse", {str(archive(tmp_path)): PATTERNS})
    assert opened == [tmp_path / "muse.zip"]


def test_a_broken_part_leaves_nothing(tmp_path: Path) -> None:
    path = archive(tmp_path, fr_train="one two three\n")
    with pytest.raises(DataError, match=rf"^{path}/muse/en-fr.0-5000.txt:1: expected a source and a target word") as error:
        write(tmp_path / "muse", {str(path): PATTERNS})
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == [path]


def test_a_part_without_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"^{tmp_path}/muse.zip: expected muse/en-es\.\* for es.test, found muse/en-"):
        write(tmp_path / "muse", {str(archive(tmp_path)): PATTERNS | {"es.test": ["muse/en-es.*"]}})
    assert not (tmp_path / "muse").exists()


def test_what_was_there_is_replaced_only_by_a_whole_corpus(tmp_path: Path) -> None:
    write(tmp_path / "muse", {str(archive(tmp_path)): PATTERNS})
    before = {path.name: path.read_bytes() for path in (tmp_path / "muse").glob("*.parquet")}
    with pytest.raises(DataError):
        write(tmp_path / "muse", {str(archive(tmp_path, fr_test="\n")): PATTERNS})
    assert {path.name: path.read_bytes() for path in (tmp_path / "muse").glob("*.parquet")} == before
    write(tmp_path / "muse", {str(archive(tmp_path)): {"de.test": PATTERNS["de.test"]}})
    assert [path.name for path in (tmp_path / "muse").glob("*.parquet")] == ["de.test.parquet"]
