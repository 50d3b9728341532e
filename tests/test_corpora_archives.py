"""Files out of archives: those that were asked for, by split, and no archive that is damaged or reaches out of itself."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from crosslens.corpora import treebanks
from crosslens.corpora.archives import extracted
from crosslens.jobs.errors import DataError

UD = {
    "ud/UD_English-A/en_a-ud-train.conllu": b"a train",
    "ud/UD_English-A/en_a-ud-test.conllu": b"a test",
    "ud/UD_English-B/en_b-ud-test.conllu": b"b test",
    "ud/UD_German-A/de_a-ud-test.conllu": b"another language",
}
FORMS = ["tgz", "tar.xz", "tar.bz2", "tar", "zip"]
OUTSIDE = ["../x", "/etc/x", "ud/../../x"]


def packed(form: str, members: Mapping[str, bytes]) -> bytes:
    """An archive with members."""
    stream = io.BytesIO()
    if form == "zip":
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, content in members.items():
                zipped.writestr(name, content)
        return stream.getvalue()
    compression = {"tgz": "gz", "tar": ""}.get(form, form.removeprefix("tar."))
    with tarfile.open(fileobj=stream, mode=f"w:{compression}") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def contents(path: Path, content: bytes, **patterns: str | list[str]) -> dict[str, list[bytes]]:
    """Files of an archive by split; nothing is left of them afterwards."""
    path.write_bytes(content)
    globs = {split: [names] if isinstance(names, str) else names for split, names in patterns.items()}
    with extracted(path, globs) as files:
        read = {split: [file.read_bytes() for file in paths] for split, paths in files.items()}
    assert not any(file.exists() for paths in files.values() for file in paths)
    return read


def refused(path: Path, content: bytes, *expected: str, **patterns: str) -> None:
    """Refuse an archive in one line that names it, and leave nothing behind."""
    with pytest.raises(DataError) as error:
        contents(path, content, **patterns or {"test": "*"})
    message = str(error.value)
    assert message.startswith(str(path)) and message.isprintable() and all(part in message for part in expected), message
    assert [*path.parent.iterdir()] == [path]


@pytest.mark.parametrize("form", FORMS)
def test_members_by_split(tmp_path: Path, form: str) -> None:
    path, archive = tmp_path / f"ud.{form}", packed(form, UD)
    read = contents(path, archive, train="ud/*/en_*-train.conllu", test=["ud/*/en_b-*", "ud/*/en_*-ud-test.conllu"])
    assert read == {"train": [b"a train"], "test": [b"a test", b"b test"]}
    assert contents(path, archive, dev="*/de_a-*", test="*-test.conllu")["dev"] == [b"another language"]  # which test has too
    refused(path, archive, "expected *.jsonl for dev, found ud/UD_English-A/en_a-ud-train.conllu, ", "correct", dev="*.jsonl")


def test_members_of_one_name_stay_in_their_order(tmp_path: Path) -> None:
    archive = packed("tgz", {"panx/de/train": b"zwei", "panx/en/train": b"two"})
    assert contents(tmp_path / "panx.tgz", archive, train="panx/*/train") == {"train": [b"zwei", b"two"]}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_cut_short_is_refused(tmp_path: Path, form: str) -> None:
    archive = packed(form, {name: bytes(range(256)) * 40 for name in "abc"})
    for size in (0, 100, len(archive) // 2, len(archive) - 10) if form != "tar" else (0, 100, 15_000):
        refused(tmp_path / f"x.{form}", archive[:size], ": expected a complete archive, found")


@pytest.mark.parametrize("damage", ["content", "password", "no archive"])
def test_a_damaged_zip_is_refused(tmp_path: Path, damage: str) -> None:
    archive = bytearray(packed("zip", {"x/test.tsv": b"some text\n" * 50}))
    if damage == "content":
        archive[45:60] = bytes(15)
    elif damage == "password":
        archive[6] |= 1
        archive[archive.index(b"PK\x01\x02") + 8] |= 1
    else:
        archive = bytearray(b"<html>not found</html>")
    refused(tmp_path / "x.zip", bytes(archive), ": expected a complete archive, found")


@pytest.mark.parametrize("form", ["tgz", "zip"])
@pytest.mark.parametrize("name", OUTSIDE)
def test_what_reaches_out_is_refused(tmp_path: Path, form: str, name: str) -> None:
    refused(tmp_path / f"ud.{form}", packed(form, UD | {name: b"x"}), f": member '{name}' lies outside the archive")


# Archives in an archive


@pytest.mark.parametrize("outer", ["zip", "tgz"])
@pytest.mark.parametrize("inner", ["tar.gz", *FORMS])
def test_members_of_an_archive_in_an_archive(tmp_path: Path, outer: str, inner: str) -> None:
    form = inner.replace("tar.gz", "tgz")
    archives = {
        f"panx/{language}.{inner}": packed(form, {split: f"{language} {split}".encode() for split in ("dev", "test", "train")})
        for language in ("de", "en")
    }
    path, archive = tmp_path / f"panx.{outer}", packed(outer, archives)
    read = contents(path, archive, train=f"panx/de.{inner}/train", test=f"*/??.{inner}/te*", itself=f"*/en.{inner}")
    assert read == {"train": [b"de train"], "test": [b"de test", b"en test"], "itself": [archives[f"panx/en.{inner}"]]}
    refused(path, archive, f"expected *.{inner}/x for test, found panx/de.{inner}, ", test=f"*.{inner}/x")
    deeper = packed("zip", {"a/panx.zip": packed("zip", archives)})
    assert contents(path.with_suffix(".zip"), deeper, test=f"*/panx.zip/*/en.{inner}/test") == {"test": [b"en test"]}


def test_errors_name_the_member_and_do_not_act_on_a_terminal(tmp_path: Path) -> None:
    """Neither that of a member whose reader refuses a line, nor that of one in an archive inside, nor names that do not match."""
    name = "ud/UD_English-X/en_\x1b[2Jx-ud-test.conllu"
    path, escaped = tmp_path / "ud.tgz", name.replace("\x1b", "\\x1b")
    for members, pattern, place in (
        ({name: b"1\n\n"}, "*.conllu", escaped),
        ({"a.tgz": packed("tgz", {name: b"1\n\n"})}, "a.tgz/*.conllu", f"a.tgz/{escaped}"),
    ):
        path.write_bytes(packed("tgz", members))
        with pytest.raises(DataError) as error, extracted(path, {"test": [pattern]}) as files:
            treebanks.read(files["test"], "en")
        assert str(error.value).startswith(f"{path}/{place}:1: expected 10 tab-separated columns")
    refused(path, packed("tgz", {name: b""}), f"found {escaped};", test="x")
