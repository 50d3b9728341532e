"""Files out of archives."""

import gzip
import io
import re
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from crosslens.corpora import treebanks
from crosslens.corpora.archives import extracted
from crosslens.runs.errors import DataError

PATTERNS = {"train": ["ud/*/en_*-ud-train.conllu"], "test": ["ud/*/en_*-ud-test.conllu"]}


def archive(folder: Path) -> Path:
    path = folder / "ud.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for name in ("UD_English-A/en_a-ud-train.conllu", "UD_English-A/en_a-ud-test.conllu", "UD_English-B/en_b-ud-test.conllu"):
            add(tar, f"ud/{name}", name.encode())
        add(tar, "ud/UD_German-A/de_a-ud-test.conllu", b"another language")
    return path


def add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def test_members_by_split(tmp_path: Path) -> None:
    with extracted(archive(tmp_path), PATTERNS) as files:
        assert {split: [path.name for path in paths] for split, paths in files.items()} == {
            "train": ["en_a-ud-train.conllu"],
            "test": ["en_a-ud-test.conllu", "en_b-ud-test.conllu"],
        }
        assert files["train"][0].read_bytes() == b"UD_English-A/en_a-ud-train.conllu"
        kept = files["train"][0]
    assert not kept.exists()


def test_a_damaged_archive(tmp_path: Path) -> None:
    path = archive(tmp_path)
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(DataError, match=f"{path}: expected a complete tar archive"), extracted(path, PATTERNS):
        pass


def zipped(folder: Path) -> Path:
    path = folder / "XNLI-1.0.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("XNLI-1.0/", "")
        for name in (
            "XNLI-1.0/xnli.test.tsv",
            "XNLI-1.0/xnli.dev.tsv",
            "__MACOSX/XNLI-1.0/._xnli.test.tsv",
        ):
            archive.writestr(name, f"{name}\n" * 50)
    return path


def test_members_of_a_zip(tmp_path: Path) -> None:
    patterns = {"test": ["XNLI-1.0/xnli.test.tsv"], "dev": ["XNLI-1.0/*.tsv"]}
    with extracted(zipped(tmp_path), patterns) as files:
        assert {split: [path.name for path in paths] for split, paths in files.items()} == {
            "test": ["xnli.test.tsv"],
            "dev": ["xnli.dev.tsv", "xnli.test.tsv"],
        }
        assert files["test"][0].read_text() == "XNLI-1.0/xnli.test.tsv\n" * 50
        kept = files["test"][0]
    assert not kept.exists()


def test_an_archive_without_a_split_is_told_by_its_members(tmp_path: Path) -> None:
    path = zipped(tmp_path)
    with pytest.raises(DataError) as error, extracted(path, {"dev": ["*/xnli.dev.tsv"], "de.train": ["XNLI-1.0/", "*.jsonl"]}):
        pass
    members = "XNLI-1.0/xnli.test.tsv, XNLI-1.0/xnli.dev.tsv, __MACOSX/XNLI-1.0/._xnli.test.tsv"
    assert str(error.value).startswith(
        f"{path}: expected XNLI-1.0/ or *.jsonl for de.train, found {members}; correct the pattern"
    )
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(12):
            archive.writestr(f"{number}\n", "")
    with (
        pytest.raises(DataError, match=r"found 0\\n, .*, 7\\n and 4 more; correct the pattern [^\n]*$"),
        extracted(path, {"dev": ["x"]}),
    ):
        pass


@pytest.mark.parametrize("damage", ["cut", "no zip", "content", "password"])
def test_a_damaged_zip(tmp_path: Path, damage: str) -> None:
    path = zipped(tmp_path)
    content = bytearray(path.read_bytes())
    first = content.index(b"XNLI-1.0/xnli.test.tsv") + len("XNLI-1.0/xnli.test.tsv")
    if damage == "cut":
        del content[-60:]
    elif damage == "no zip":
        content = bytearray(b"<html>not found</html>")
    elif damage == "content":
        content[first : first + 20] = bytes(20)
    else:
        for header, flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
            place = content.find(header)
            while place >= 0:
                content[place + flags] |= 1
                place = content.find(header, place + 1)
    path.write_bytes(content)
    found = ", found it damaged from member 'XNLI-1.0/xnli.test.tsv' on" if damage in ("content", "password") else ""
    with (
        pytest.raises(DataError, match=f"{path}: expected a complete zip archive{found} \\("),
        extracted(path, {"test": ["*/xnli.test.tsv"]}),
    ):
        pass


def test_a_damaged_member_of_a_tar(tmp_path: Path) -> None:
    """What comes after the last member that was reached cannot be told from it."""
    path = tmp_path / "ud.tar"
    with tarfile.open(path, "w") as tar:
        for name in ("a.conllu", "b.conllu", "c.conllu"):
            add(tar, name, bytes(5000))
    path.write_bytes(path.read_bytes()[:9000])
    with (
        pytest.raises(DataError, match=f"{path}: expected a complete tar archive, found it damaged from member 'b.conllu' on"),
        extracted(path, {"test": ["*.conllu"]}),
    ):
        pass


def test_members_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "panx.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        add(tar, "panx/de/train", b"zwei")
        add(tar, "panx/en/train", b"two")
    with extracted(path, {"train": ["panx/*/train"]}) as files:
        assert [file.read_bytes() for file in files["train"]] == [b"zwei", b"two"]


OUTSIDE = ["../x/en_x-ud-test.conllu", "/etc/en_x-ud-test.conllu", "ud/../../en_x-ud-test.conllu", "..\\x.conllu", "ud/../.."]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("form", ["tgz", "zip"])
def test_a_path_outside(tmp_path: Path, name: str, form: str) -> None:
    path = tmp_path / f"ud.{form}"
    if form == "tgz":
        with tarfile.open(path, "w:gz") as tar:
            add(tar, name, b"x")
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, "x")
    with pytest.raises(DataError, match=re.escape(f"{path}: member '{name}' lies outside")), extracted(path, PATTERNS):
        pass


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_a_link_or_device(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "ud.tgz"
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("ud/readme")
        member.type, member.linkname = kind, "/etc/passwd"
        tar.addfile(member)
    with pytest.raises(DataError, match=f"{path}: member 'ud/readme' is a link"), extracted(path, PATTERNS):
        pass


def test_a_link_in_a_zip(tmp_path: Path) -> None:
    path = tmp_path / "XNLI-1.0.zip"
    with zipfile.ZipFile(path, "w") as archive:
        member = zipfile.ZipInfo("XNLI-1.0/link.tsv")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, "/etc/passwd")
    with pytest.raises(DataError, match=f"{path}: member 'XNLI-1.0/link.tsv' is a link"), extracted(path, PATTERNS):
        pass


@pytest.mark.parametrize("form", ["zip", "asked for", "not asked for", "headers"])
def test_a_bomb(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crosslens.storage.files.SMALL", 10**6)
    path = tmp_path / ("ud.zip" if form == "zip" else "ud.tgz")
    content = bytes(10**7)
    name = "ud/UD_English-X/en_x-ud-test.conllu" if form == "asked for" else "ud/other"
    if form == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("ud/other", content)
    elif form == "headers":
        with gzip.open(path, "wb") as stream:
            member = tarfile.TarInfo("ud/x")
            member.pax_headers = {"comment": "x" * 10**7}
            stream.write(member.tobuf(tarfile.PAX_FORMAT))
    else:
        with tarfile.open(path, "w:gz") as tar:
            add(tar, name, content)
    assert path.stat().st_size < 10**5
    found = "more than 16384 bytes of attributes" if form == "headers" else "expands from .* to more than"
    with pytest.raises(DataError, match=f"{path}: .*{found}"), extracted(path, PATTERNS):
        pass
    assert not [file for file in tmp_path.iterdir() if file != path]


def test_a_member_that_two_splits_ask_for(tmp_path: Path) -> None:
    with extracted(archive(tmp_path), {"dev": ["*/de_a-*"], "test": ["*-test.conllu"]}) as files:
        assert [path.read_bytes() for path in files["dev"]] == [b"another language"]
        assert files["dev"][0] in files["test"] and len(files["test"]) == 3


# Archives in an archive


def wikiann(folder: Path, name: str = "panx_dataset.zip", inner: str = "tar.gz", change=None) -> Path:
    """LANGUAGE.tar.gz in a zip, each with dev, test and train; `change` adds to the German one."""
    members = {}
    for language in ("de", "en"):
        stream = io.BytesIO()
        if inner == "zip":
            with zipfile.ZipFile(stream, "w") as zipped:
                for split in ("dev", "test", "train"):
                    zipped.writestr(split, f"{language} {split}")
        else:
            with tarfile.open(
                fileobj=stream, mode=f"w:{inner.removeprefix('tar').removeprefix('.').replace('tgz', 'gz')}"
            ) as tar:
                for split in ("dev", "test", "train"):
                    add(tar, split, f"{language} {split}".encode())
                if language == "de" and change:
                    change(tar)
        members[f"panx_dataset/{language}.{inner}"] = stream.getvalue()
    path = folder / name
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as zipped:
            for member, content in members.items():
                zipped.writestr(member, content)
    else:
        with tarfile.open(path, "w:gz") as tar:
            for member, content in members.items():
                add(tar, member, content)
    return path


def contents(path: Path, patterns: dict[str, list[str]]) -> dict[str, list[bytes]]:
    with extracted(path, patterns) as files:
        return {split: [file.read_bytes() for file in found] for split, found in files.items()}


@pytest.mark.parametrize("name", ["panx_dataset.zip", "panx_dataset.tgz"])
@pytest.mark.parametrize("inner", ["tar.gz", "tgz", "tar", "tar.xz", "tar.bz2", "zip"])
def test_members_of_an_archive_in_an_archive(tmp_path: Path, name: str, inner: str) -> None:
    path = wikiann(tmp_path, name, inner)
    assert contents(path, {"train": [f"panx_dataset/de.{inner}/train"], "test": [f"*/??.{inner}/te*"]}) == {
        "train": [b"de train"], "test": [b"de test", b"en test"]
    }  # fmt: skip
    for split, globs in {"dev": [f"de.{inner}/dev"], "test": [f"*/de.{inner}/x", "*/train"]}.items():
        with pytest.raises(
            DataError, match=rf"{path}: expected {re.escape(' or '.join(globs))} for {split}, found panx_dataset/"
        ):
            contents(path, {split: globs})


def test_an_inner_archive_may_be_asked_for_itself(tmp_path: Path) -> None:
    found = contents(wikiann(tmp_path), {"train": ["*/de.tar.gz"], "test": ["*/de.tar.gz/test"]})
    assert found["train"][0].startswith(b"\x1f\x8b") and found["test"] == [b"de test"]


def test_archives_in_an_archive_in_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.write(wikiann(tmp_path), "a/panx_dataset.zip")
    assert contents(path, {"test": ["*/panx_dataset.zip/*/en.tar.gz/test"]}) == {"test": [b"en test"]}


def test_only_what_is_asked_for_is_opened(tmp_path: Path) -> None:
    path = wikiann(tmp_path, change=lambda tar: add(tar, "../x", b""))
    assert contents(path, {"test": ["*/en.tar.gz/test"]}) == {"test": [b"en test"]}
    with pytest.raises(DataError, match=rf"{path}/panx_dataset/de.tar.gz: member '../x' lies outside"):
        contents(path, {"test": ["*/de.tar.gz/test"]})


def test_a_link_in_an_inner_archive(tmp_path: Path) -> None:
    link = tarfile.TarInfo("extra")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    path = wikiann(tmp_path, change=lambda tar: tar.addfile(link))
    with pytest.raises(DataError, match=rf"{path}/panx_dataset/de.tar.gz: member 'extra' is a link"):
        contents(path, {"test": ["*/de.tar.gz/test"]})


def test_a_bomb_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crosslens.storage.files.SMALL", 10**6)
    path = wikiann(tmp_path, change=lambda tar: add(tar, "extra", bytes(2 * 10**6)))
    assert path.stat().st_size < 10**4
    with pytest.raises(DataError, match=f"{path}: expands from .* to more than 1 MB"):
        contents(path, {"test": ["*/de.tar.gz/test"]})


def test_archives_in_an_archive_share_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crosslens.storage.files.SMALL", 10**6)
    path = tmp_path / "all.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for number in range(3):  # each of them small enough
            inner = io.BytesIO()
            with tarfile.open(fileobj=inner, mode="w:gz") as part:
                add(part, "test", bytes(4 * 10**5))
            add(tar, f"{number}.tgz", inner.getvalue())
    assert len(contents(path, {"test": ["0.tgz/test", "1.tgz/test"]})["test"]) == 2
    with pytest.raises(DataError, match=f"{path}: expands from .* to more than 1 MB"):
        contents(path, {"test": ["?.tgz/test"]})


@pytest.mark.parametrize("inner", ["tar.gz", "tar.xz", "zip"])
def test_a_damaged_archive_in_an_archive(tmp_path: Path, inner: str) -> None:
    whole = wikiann(tmp_path, inner=inner)
    path = tmp_path / "cut.zip"
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(path, "w") as cut:
        cut.writestr(f"de.{inner}", archive.read(f"panx_dataset/de.{inner}")[:-30])
    with pytest.raises(DataError, match=f"{path}/de.{inner}: expected a complete {inner[:3]} archive"):
        contents(path, {"test": [f"de.{inner}/test"]})


def test_names_of_members_do_not_act_on_a_terminal(tmp_path: Path) -> None:
    """Neither that of a member that is refused, nor that of one whose reader refuses a line, nor those that do not match."""
    name = "ud/UD_English-X/en_\x1b[2Jx-ud-test.conllu"
    with tarfile.open(tmp_path / "ud.tgz", "w:gz") as tar:
        add(tar, name, b"1\n\n")
    with pytest.raises(DataError) as refusal, extracted(tmp_path / "ud.tgz", {"test": ["*.conllu"]}) as found:
        treebanks.read(found["test"], "en")
    escaped = name.replace("\x1b", "\\x1b")
    assert str(refusal.value).startswith(f"{tmp_path}/ud.tgz/{escaped}:1: expected 10 tab-separated columns")
    with pytest.raises(DataError) as refusal, extracted(tmp_path / "ud.tgz", {"test": ["x"]}):
        pass
    assert f"found {escaped};" in str(refusal.value)
