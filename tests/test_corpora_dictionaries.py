"""Bilingual dictionaries: MUSE's files, refused in one line with the place."""

from functools import partial
from pathlib import Path

import conftest
import pytest
from conftest import MIRROR, manifest
from crosslens.corpora.dictionaries import SMALLEST, read
from crosslens.jobs.errors import DataError

needs_mirror = pytest.mark.skipif(not (MIRROR / "muse").is_dir(), reason="needs real dictionaries in ../shared/mirror/muse")


MORE = "".join(f"{number} {number}\n" for number in range(SMALLEST - 1))  # entries that make a file large enough, with one other


save = partial(conftest.save, name="en-fr.0-5000.txt")


@pytest.mark.parametrize("language", ["en", "fr"])
def test_blanks_and_tabs_in_one_file(tmp_path: Path, language: str) -> None:
    path = save(tmp_path, f"cat chat\ncat\tchatte\ndog \t chien \nsun  soleil\r\nNew York\tNew York\n{MORE}")
    rows, dropped = read([path], language)
    assert [(row["source"], row["target"]) for row in rows[:5]] == [
        ("cat", "chat"), ("cat", "chatte"), ("dog", "chien"), ("sun", "soleil"), ("New York", "New York")
    ]  # fmt: skip
    numbers = range(1, 5 + SMALLEST)
    assert [row["id"] for row in rows] == [f"en-fr.0-5000/{number}" for number in numbers] and dropped == {"repeated": 0}
    assert {(row["source_language"], row["target_language"]) for row in rows} == {("en", "fr")}


def test_the_name_says_the_direction(tmp_path: Path) -> None:
    texts = {"fr-en.5000-6500.txt": f"chat cat\n{MORE}", "en-fr.5000-6500.txt": f"cat chat\n{MORE}"}
    rows, _ = read([save(tmp_path, text, name=name) for name, text in texts.items()], "fr")
    assert [(row["source_language"], row["target_language"], row["source"]) for row in rows[::SMALLEST]] == [
        ("fr", "en", "chat"), ("en", "fr", "cat")
    ]  # fmt: skip
    assert len({row["id"] for row in rows}) == 2 * SMALLEST


def test_a_handful_of_entries_is_no_dictionary(tmp_path: Path) -> None:
    """Each of the files must be one, not all of them together."""
    small = save(tmp_path, MORE, name="fr-en.5000-6500.txt")
    for paths in ([small], [save(tmp_path, f"cat chat\n{MORE}"), small]):
        with pytest.raises(DataError) as error:
            read(paths, "fr")
        expected = f"{small}:{SMALLEST - 1}: expected a dictionary of at least {SMALLEST} entries, found {SMALLEST - 1}; fetch "
        assert str(error.value).startswith(expected)


@pytest.mark.parametrize("name", ["en-de.0-5000.txt", "fr.txt"])
def test_another_name_is_refused(tmp_path: Path, name: str) -> None:
    path = save(tmp_path, "cat chat\n", name=name)
    with pytest.raises(
        DataError, match=f"^{path}:1: expected a file name such as fr-en.0-5000.txt or en-fr.0-5000.txt, .*; name"
    ):
        read([path], "fr")


@needs_mirror
def test_real_dictionaries() -> None:
    files = [row for row in manifest("MANIFEST-other.tsv") if row["path"].startswith("muse/")]
    assert len(files) == 48
    for file in files:
        path = MIRROR / file["path"]
        source, target = path.name.split(".")[0].split("-")
        rows, _ = read([path], source)
        assert len(rows) == int(file["records"]) and rows[0]["target_language"] == target, file["path"]
        assert len({row["source"] for row in rows}) == (5000 if ".0-5000" in path.name else 1500), file["path"]
