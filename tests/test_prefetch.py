"""Files to be fetched for a target, their sizes, and those among them that must be supplied by hand."""

import re
from pathlib import Path

import pytest
from crosslens.monitoring import prefetch
from crosslens.sources import network
from crosslens.sources.prefetch import Amount, Size, amount, size_of, wanted
from crosslens.sources.registry import OfficialFile, Source
from study import copy_repository, plan

SOURCE = Source(
    title="t",
    version="1",
    licence="l",
    citation="c",
    example="a",
    url=["https://never.invalid/{path}"],
    files={"known": OfficialFile(bytes=3_000_000_000)},
    estimates={"big*": 500, "*.xml.bz2": 20},
    mirror=["ud"],
)
LICENSED = SOURCE.model_copy(update={"url": [], "manual": "sign something", "mirror": ["licensed"]})
SOURCES = {"ud": SOURCE, "licensed": LICENSED}


def test_sizes_are_known_estimated_or_unknown() -> None:
    assert size_of("ud/known", SOURCES) == Size(3_000_000_000, True)
    assert size_of("ud/big/file", SOURCES) == Size(500_000_000, False)
    assert size_of("ud/other", SOURCES) == Size(None, False)


def test_a_sample_is_no_larger_than_its_dump() -> None:
    assert size_of("ud-sample/100-0/xwiki/a.xml.bz2", SOURCES) == Size(13_000_000, False)
    assert size_of("ud-sample/600-0/xwiki/a.xml.bz2", SOURCES) == Size(20_000_000, False)
    assert size_of("ud-sample/600-0/xwiki/a.xml", SOURCES) == Size(78_000_000, False)


def test_where_files_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ud").mkdir()
    (tmp_path / "ud" / "mirrored.xz").touch()
    monkeypatch.setattr(network, "size_of", lambda urls: (200_000_000, True) if urls[0].endswith("told") else (None, False))
    files = list(
        wanted(
            ["ud/mirrored", "ud/known", "ud/big", "licensed/x", "ud/told", "ud/silent", "ud/not told"], SOURCES, [str(tmp_path)]
        )
    )
    downloads = [prefetch.DOWNLOAD] * 3
    assert [file.origin for file in files] == [prefetch.MIRROR, *downloads[:2], prefetch.BY_HAND, *downloads]
    assert amount(files) == Amount(7, 3_700_000_000, 500_000_000, 4)
    assert [file.size for file in files[4:]] == [Size(200_000_000, True), Size(None, False), Size(None, False)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_repository(tmp_path_factory.mktemp("prefetch"))


def listed(root: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[list[str]]:
    """Run in a copy of the repository as `make prefetch` does, but for processes; returns the commands that would fetch."""
    commands: list[list[str]] = []
    monkeypatch.chdir(root)
    monkeypatch.setattr(prefetch, "plan", lambda options: plan(root, *options))
    monkeypatch.setattr(prefetch.subprocess, "call", lambda command: commands.append(command) or 0)
    assert prefetch.main(list(arguments)) == 0
    return commands


def test_a_target_needs_its_own_files_alone(root, monkeypatch, capsys):
    """And no network to say which: table 2 of the published study reads neither CC-100 nor anything licensed."""
    assert listed(root, monkeypatch, "--profile", "slurm", "--list", "--", "results/table2.csv") == []
    said = capsys.readouterr().out
    sources = set(re.findall(r"^ *(?:about )?[\d.]+ (?:bytes|kB|MB|GB)  ([\w.-]+)/\S+  to download$", said, re.MULTILINE))
    assert sources == {"hub", "multinli", "ud-2.7", "wikipedia", "wikipedia-sample", "xnli"}
    assert "by hand" not in said and "unknown size  " not in said
    assert re.search(r"all +│ to download │ +220 │ +4\.\d GB │ +4\.\d GB │ +│", said), said


def test_licensed_files_are_asked_of_those_who_need_them(root, monkeypatch, capsys):
    assert listed(root, monkeypatch, "--profile", "slurm", "--list", "--", "results/muller2021/table1.csv") == []
    said = capsys.readouterr().out
    assert re.findall(r"^\S+: in no mirror, and cannot be downloaded \(sign NIST's", said, re.MULTILINE)
    assert re.search(r"conll-2003/conll2003\.zip  to supply by hand", said) and "reuters" not in said.partition("┏")[0]


def test_what_is_listed_is_fetched(root, monkeypatch, capsys):
    commands = listed(root, monkeypatch, "--profile", "slurm", "--", "results/wu2019/table6.csv")
    files = commands[0][commands[0].index("--") + 1 :]
    assert files and all(file.startswith("results/sources/") for file in files) and len(commands) == 1
    assert f"{len(files):,} │" in capsys.readouterr().out


def test_nothing_to_fetch(root, monkeypatch, capsys):
    assert listed(root, monkeypatch, "--profile", "demo", "--", "results/demo/table1.csv") == []
    assert capsys.readouterr().out == "prefetch: every official file that is read is here\n"


def test_no_server_answers() -> None:
    assert network.size_of(["http://127.0.0.1:9/"]) == (None, False)
    assert network.size_of([]) == (None, True)
