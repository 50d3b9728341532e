"""Files out of archives."""

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from crosslens.corpora.archives import extracted
from crosslens.errors import DataError

PATTERNS = {"train": ["ud/*/en_*-ud-train.conllu"], "test": ["ud/*/en_*-ud-test.conllu"]}


def archive(folder: Path) -> Path:
    path = folder / "ud.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for name in ("UD_English-A/en_a-ud-train.conllu", "UD_English-A/en_a-ud-test.conllu", "UD_English-B/en_b-ud-test.conllu"):
            add(tar, f"ud/{name}", name.encode())
        add(tar, "ud/UD_German-A/de_a-ud-test.conllu", b"another language")
        link = tarfile.TarInfo("ud/UD_English-C/en_c-ud-test.conllu")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        add(tar, "../ud/x/en_out-ud-test.conllu", b"outside")
    return path


def add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def test_members_by_split(tmp_path: Path) -> None:
    with extracted(archive(tmp_path), PATTERNS) as files:
        assert {split: [path.name for path in paths] for split, paths in files.items()} == {
            "train": ["en_a-ud-train.conllu"],
            "test": ["en_a-ud-test.conllu", "en_b-ud-test.conllu"],  # neither the link nor what lies outside
        }
        assert files["train"][0].read_bytes() == b"UD_English-A/en_a-ud-train.conllu"
        kept = files["train"][0]
    assert not kept.exists()


def test_a_damaged_archive(tmp_path: Path) -> None:
    path = archive(tmp_path)
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(DataError, match=f"{path}: a whole tar archive expected"), extracted(path, PATTERNS):
        pass


def zipped(folder: Path) -> Path:
    path = folder / "XNLI-1.0.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("XNLI-1.0/", "")
        for name in (
            "XNLI-1.0/xnli.test.tsv",
            "XNLI-1.0/xnli.dev.tsv",
            "__MACOSX/XNLI-1.0/._xnli.test.tsv",
            "../x/xnli.test.tsv",
        ):
            archive.writestr(name, f"{name}\n" * 50)
        link = zipfile.ZipInfo("XNLI-1.0/link.tsv")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    return path


def test_members_of_a_zip(tmp_path: Path) -> None:
    patterns = {"test": ["XNLI-1.0/xnli.test.tsv"], "dev": ["XNLI-1.0/*.tsv"], "train": ["XNLI-1.0/"]}
    with extracted(zipped(tmp_path), patterns) as files:
        assert {split: [path.name for path in paths] for split, paths in files.items()} == {
            "test": ["xnli.test.tsv"],
            "dev": ["xnli.dev.tsv", "xnli.test.tsv"],
        }
        assert files["test"][0].read_text() == "XNLI-1.0/xnli.test.tsv\n" * 50
        kept = files["test"][0]
    assert not kept.exists()


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
    with pytest.raises(DataError, match=f"{path}: a whole zip archive expected"), extracted(path, {"test": ["*/xnli.test.tsv"]}):
        pass
