"""Lines of official files: encodings, numbers, and names of their rows."""

from pathlib import Path

import pytest
from crosslens.corpora.lines import read_lines, stem
from crosslens.jobs.errors import DataError


def test_an_encoding_is_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "esp.train"
    path.write_bytes("España O\r\n\u0085\n".encode("iso-8859-1"))
    # U+0085 is a byte of text in ISO 8859-1, not the end of a line.
    assert list(read_lines(path, "iso-8859-1")) == [(1, "España O"), (2, "\u0085")]
    with pytest.raises(DataError, match=f"{path}:1: expected UTF-8, found an invalid byte, number 5 of the line"):
        list(read_lines(path))


def test_byte_order_marks_of_joined_files_are_left_out(tmp_path: Path) -> None:
    """At the beginning of a later line; of text of the web nothing is left out, and no file begins with one."""
    path = tmp_path / "de-en.txt"
    path.write_text("Haus house\n\ufeffHund dog\nK\ufeffuh cow\n\ufeff\n", encoding="utf-8")
    lines = [text for _, text in read_lines(path)]
    assert lines == ["Haus house", "Hund dog", "K\ufeffuh cow", ""]
    assert [text for _, text in read_lines(path, crawled=True)] == ["Haus house", "\ufeffHund dog", "K\ufeffuh cow", "\ufeff"]
    path.write_text("\ufeffHaus house\n", encoding="utf-8")
    with pytest.raises(DataError, match=":1: expected UTF-8 without a byte order mark"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dev-de.tsv.xz", "dev-de"), ("esp.testa", "esp.testa"), ("esp.testb.xz", "esp.testb"), ("x_train.txt", "x_train"),
        ("en-fr.0-5000.txt.gz", "en-fr.0-5000"), ("train", "train"), ("train.iob2.txt", "train.iob2"),
    ],
)  # fmt: skip
def test_a_stem_tells_the_files_of_a_corpus_apart(name: str, expected: str) -> None:
    assert stem(Path("folder.xz") / name) == expected
