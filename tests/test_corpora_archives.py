"""Files out of archives: those that were asked for, by split, and no archive that is damaged or reaches out of itself."""

import gzip
import io
import stat
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
Special = tarfile.TarInfo | zipfile.ZipInfo


def packed(form: str, members: Mapping[str, bytes], *special: Special) -> bytes:
    """An archive with members, and some that are no files."""
    stream = io.BytesIO()
    if form == "zip":
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, content in members.items():
                zipped.writestr(name, content)
            for info in special:
                zipped.writestr(info, "/etc/passwd")  # type: ignore[arg-type]
        return stream.getvalue()
    compression = {"tgz": "gz", "tar": ""}.get(form, form.removeprefix("tar."))
    with tarfile.open(fileobj=stream, mode=f"w:{compression}") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for info in special:
            tar.addfile(info)  # type: ignore[arg-type]
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
    for size in (0, 100, len(archive) // 2, len(archive) - 10) if form != "tar" else (0, 100, 512 + 10240, 15_000):
        refused(tmp_path / f"x.{form}", archive[:size], ": expected a complete archive, found")


@pytest.mark.parametrize("damage", ["content", "password"])
def test_a_damaged_zip_is_refused(tmp_path: Path, damage: str) -> None:
    archive = bytearray(packed("zip", {"x/test.tsv": b"some text\n" * 50}))
    if damage == "content":
        archive[45:60] = bytes(15)
    else:
        archive[6] |= 1
        archive[archive.index(b"PK\x01\x02") + 8] |= 1
    refused(tmp_path / "x.zip", bytes(archive), ": expected a complete archive, found")


def link(kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo("ud/readme")
    member.type, member.linkname = kind, "/etc/passwd"
    return member


def link_of_zip() -> zipfile.ZipInfo:
    member = zipfile.ZipInfo("ud/readme")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return member


HOSTILE = {
    **{f"kind {kind!r}": ("tgz", packed("tgz", UD, link(kind))) for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE)},
    "a link in a zip": ("zip", packed("zip", UD, link_of_zip())),
    **{f"{name} in a {form}": (form, packed(form, UD | {name: b"x"}))
       for name in ("../x", "/etc/x", "ud/../../x", "..\\x") for form in ("tgz", "zip")},
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.fault("An archive that reaches out of itself: names, links, devices", "refused")
def test_what_reaches_out_is_refused_even_where_it_is_not_asked_for(tmp_path: Path, name: str) -> None:
    form, content = HOSTILE[name]
    refused(tmp_path / f"ud.{form}", content, ": member '", "lies outside the archive, or is a link", test="ud/*")


@pytest.mark.parametrize("form", ["zip", "tgz", "zip of tgz"])
def test_a_bomb_is_refused(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not a pattern matches it."""
    monkeypatch.setattr("crosslens.jobs.files.SMALL", 10**6)
    if form == "zip of tgz":  # each of them small enough
        archive = packed("zip", {f"{number}.tgz": packed("tgz", {"test": bytes(4 * 10**5)}) for number in range(3)})
        assert len(contents(tmp_path / "all.zip", archive, test=["0.tgz/test", "1.tgz/test"])["test"]) == 2
        refused(tmp_path / "all.zip", archive, "expands from", "to more than 1 MB", test="?.tgz/test")
    else:
        archive = packed(form, {"ud/a": b"x", "ud/b": bytes(10**7)})
        refused(tmp_path / f"ud.{form}", archive, "expands from", "to more than 1 MB", test="ud/a")


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


def test_only_what_is_asked_for_is_opened(tmp_path: Path) -> None:
    parts = {"de.tgz": packed("tgz", {"../x": b"", "test": b"de"}), "en.tgz": packed("tgz", {"test": b"en"}),
             "fr.tgz": packed("tgz", {"test": b"fr"})[:-9], "it.tgz": gzip.compress(b"x")}  # fmt: skip
    path, archive = tmp_path / "panx.zip", packed("zip", parts)
    assert contents(path, archive, test="en.tgz/test") == {"test": [b"en"]}
    refused(path, archive, f"{path}/de.tgz: member '../x' lies outside", test="de.tgz/test")
    refused(path, archive, f"{path}/fr.tgz: expected a complete archive", test="fr.tgz/test")
    refused(path, archive, f"{path}/it.tgz: expected a complete archive", test="it.tgz/test")


def test_errors_name_the_member_and_do_not_act_on_a_terminal(tmp_path: Path) -> None:
    """The same holds for a member of an archive inside, and for names that match no pattern."""
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
