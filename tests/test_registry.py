"""The table of sources: whole, well-formed, and in agreement with the real files at hand."""

import csv
import lzma
import re
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import pytest
import yaml
from crosslens.corpora.sources import registry
from crosslens.corpora.sources.mirrors import in_mirrors
from crosslens.corpora.sources.registry import SOURCES_YAML, OfficialFile, size_of
from crosslens.jobs.errors import DataError

ROOT = Path(__file__).parents[1]
RESOURCES = SOURCES_YAML.parent
MIRROR = ROOT.parent / "shared" / "mirror"
needs_mirror = pytest.mark.skipif(not MIRROR.is_dir(), reason="needs the manifests of real files in ../shared/mirror")
SOURCES = registry.load()


def rows(path: Path) -> list[dict[str, str]]:
    """A tab-separated table with comments."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader((line for line in stream if not line.startswith("#")), delimiter="\t"))


def test_an_entry() -> None:
    ud = SOURCES["ud-2.7"]
    path = "UD_English-EWT/en_ewt-ud-train.conllu"
    assert ud.urls_of(path) == [
        "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/r2.7/en_ewt-ud-train.conllu"
    ]
    assert ud.known(path).bytes == 13469758
    assert ud.known(path).sha256 == "4e45f7b6f6d4e8d33e0ba7090fc37f2385a91711edb20d456d3fb5f45ac0fc28"
    assert ud.known("UD_X/x").bytes is None and ud.known("UD_X/x").sha256 is None
    assert SOURCES["wikipedia"].urls_of("elwiki/20230501/elwiki-20230501-pages-articles.xml.bz2") == [
        "https://dumps.wikimedia.org/elwiki/20230501/elwiki-20230501-pages-articles.xml.bz2",
        "https://archive.org/download/elwiki-20230501/elwiki-20230501-pages-articles.xml.bz2",
    ]
    assert SOURCES["msra"].urls_of("what? #1.txt")[0].endswith("/what%3F%20%231.txt")
    with pytest.raises(DataError, match="{treebank}/{file}"):
        ud.urls_of("en_ewt-ud-train.conllu")
    assert in_mirrors(["/a", "b"], ud.mirror) == [Path("/a/ud/r2.7"), Path("/a/ud-2.7"), Path("b/ud/r2.7"), Path("b/ud-2.7")]


@pytest.mark.parametrize(
    ("file", "size"),
    [
        ("ud/known", 3_000_000_000),
        ("ud/big/file", 500_000_000),
        ("ud/other", None),
        ("ud-sample/100-0/xwiki/a.xml.bz2", 13_000_000),
        ("ud-sample/600-0/xwiki/a.xml.bz2", 20_000_000),  # a sample is no larger than its dump
        ("ud-sample/600-0/xwiki/a.xml", 78_000_000),
    ],
)
def test_sizes_are_known_estimated_or_unknown(file: str, size: int | None) -> None:
    files, estimates = {"known": OfficialFile(bytes=3_000_000_000)}, {"big*": 500.0, "*.xml.bz2": 20.0}
    assert size_of(file, {"ud": SOURCES["ud-2.7"].model_copy(update={"files": files, "estimates": estimates})}) == size


def test_files_by_a_pattern() -> None:
    ud = SOURCES["ud-2.7"]
    assert ud.matching("UD_X/x.conllu") == ["UD_X/x.conllu"]
    assert [path.split("/")[1] for path in ud.matching("*/de_*-ud-train*.conllu")] == [
        "de_gsd-ud-train.conllu", *(f"de_hdt-ud-train-{part}.conllu" for part in ("a-1", "a-2", "b-1", "b-2")),
    ]  # fmt: skip
    assert ud.has("UD_X/x.conllu") and not ud.has("UD_Swahili-PUD/sw_pud-ud-test.conllu") and not ud.has("*/xx_*-ud-test.conllu")
    with pytest.raises(DataError, match="xx_.*found no match; correct it"):
        ud.matching("*/xx_*-ud-test.conllu")
    with pytest.raises(DataError, match="UD_Swahili-PUD/sw_pud-ud-test.conllu: .* found none of that name; name another"):
        ud.matching("UD_Swahili-PUD/sw_pud-ud-test.conllu")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("licens: x", "ud.licens"),
        ("url: ftp://x", "ud.url"),
        ('url: ["https://x/{path}", "http://x/{path}"]', "ud.url.1"),
        ("url: https://x/{missing}", "ud: .*missing"),
        ("files: {a: {sha256: 1}}", "ud.files.a"),
        ("files: {a: {}}", "ud.files.a: .*expected sha256, git_blob or bytes"),
        ("files: {a: {git_blob: 9e3e}}", "ud.files.a.git_blob"),
        ("built: true", "ud: .*expected `manual`"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, line: str, place: str) -> None:
    table = tmp_path / "sources.yaml"
    table.write_text(f"ud:\n  title: t\n  version: v\n  licence: l\n  citation: c\n  example: e\n  {line}\n")
    with pytest.raises(DataError, match=place) as error:
        registry.load(table)
    assert str(error.value).startswith(str(table)) and "\n" not in str(error.value)


@pytest.mark.parametrize("key", SOURCES)
def test_every_entry(key: str) -> None:
    source = SOURCES[key]
    assert re.fullmatch(r"[a-z0-9.-]+", key) and source.mirror[-1] == key
    for text in (source.title, source.version, source.licence, source.citation):
        assert text.strip() == text and "  " not in text and "todo" not in text.lower()
    assert not (source.url and source.built)
    urls = source.urls_of(source.example)
    assert len(urls) == len(source.url) == len(set(urls))
    for url in urls:
        parts = urlsplit(url)
        assert parts.scheme == "https" and "." in parts.netloc and parts.path.endswith(PurePosixPath(source.example).name)
        assert not re.search(r"[{}\s?#]", url)
    for path in [source.example, *source.files]:
        assert not PurePosixPath(path).is_absolute() and ".." not in path
        assert len(source.urls_of(path)) == len(urls)  # of the shape that the entry states


def test_checksum_tables() -> None:
    named = {source.checksums for source in SOURCES.values()} - {None}
    tables = {path.name for path in RESOURCES.glob("*.tsv") if set(rows(path)[0]) == {"path", "sha256", "bytes"}}
    assert named == tables
    for name in tables:
        table = rows(RESOURCES / name)
        paths = [row["path"] for row in table]
        assert paths == sorted(set(paths))
        assert all(re.fullmatch(r"[0-9a-f]{64}|", row["sha256"]) and re.fullmatch(r"\d*", row["bytes"]) for row in table)


@needs_mirror
def test_real_files_do_not_contradict() -> None:
    others = rows(MIRROR / "MANIFEST-other.tsv")
    manifest = [(row["path"], row["sha256_uncompressed"], row["bytes_uncompressed"]) for row in others]
    manifest += [(f"ud/{row['path']}", row["sha256"], row["bytes"]) for row in rows(MIRROR / "ud" / "MANIFEST.tsv")]
    compared = 0
    for path, sha256, size in manifest:
        for source in SOURCES.values():
            for folder in source.mirror:
                known = source.files.get(path.removeprefix(f"{folder}/").removesuffix(".xz"))
                if path.startswith(f"{folder}/") and known:
                    assert (known.sha256, known.bytes) == (sha256, int(size)), path
                    compared += 1
    assert (
        compared == 101 + 1 + 1 + 6 + 4 + 4 + 6 + 1 + 1 + 159
    )  # UD 2.7, 2.5, 1.4, CoNLL-2002, WiLI cut, MUSE, WALS 2020, 2020.4, mBERT, SIB-200


@needs_mirror
def test_vocabulary_of_the_configured_encoder() -> None:
    encoder = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))["encoders"]["mbert"]
    vocabulary = {row["path"]: row for row in rows(MIRROR / "MANIFEST-other.tsv")}["bert-base-multilingual-cased/vocab.txt.xz"]
    source = SOURCES["bert-base-multilingual-cased"]
    known = source.files["vocab.txt"]
    assert source.version == encoder["revision"] and f"/{encoder['id']}/resolve/{encoder['revision']}/" in source.url[0]
    assert (known.sha256, known.bytes) == (vocabulary["sha256_uncompressed"], int(vocabulary["bytes_uncompressed"]))


def test_treebanks_of_wu2019() -> None:
    table = rows(RESOURCES / SOURCES["wu2019-treebanks"].example)
    by_task = {task: [row for row in table if row["task"] == task] for task in ("tagging", "parsing")}
    assert sum(map(len, by_task.values())) == len(table)
    assert [len({row["language"] for row in found}) for found in by_task.values()] == [15, 31]
    for row in table:
        assert row["source"] == {"tagging": "ud-1.4", "parsing": "ud-2.2"}[row["task"]]
        assert len(SOURCES[row["source"]].urls_of(f"{row['repository']}/{row['code']}-ud-test.conllu")) == 1
        assert row["code"].split("_")[0] == row["language"]
