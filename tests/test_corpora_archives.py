"""Files out of archives."""

import io
import tarfile
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
