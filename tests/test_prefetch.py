"""What a prefetch says before it starts."""

from pathlib import Path

import pytest
from crosslens.sources import network
from crosslens.sources.prefetch import announcement
from crosslens.sources.registry import OfficialFile, Source

SOURCE = Source(
    title="t",
    version="1",
    licence="l",
    citation="c",
    example="a",
    url=["https://never.invalid/{path}"],
    files={"known": OfficialFile(bytes=3_000_000_000)},
    mirror=["ud"],
)


def test_announcement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def size_of(urls: list[str]) -> tuple[int | None, bool]:
        asked.extend(urls)
        return (200_000_000, True) if urls[0].endswith("told") else (None, False)

    monkeypatch.setattr(network, "size_of", size_of)
    (tmp_path / "ud").mkdir()
    for name in ("ud/here", "mirrored.xz"):
        (tmp_path / name).touch()
    (tmp_path / "mirror" / "ud").mkdir(parents=True)
    (tmp_path / "mirror" / "ud" / "mirrored.xz").touch()
    files = [f"ud/{name}" for name in ("here", "mirrored", "known", "told", "silent", "not asked any more")]
    files += ["wikipedia-sample/200-0/xwiki/1/a.xml.bz2", "wikipedia-sample/100-0/ywiki/1/a.xml.bz2"]
    assert announcement(files, tmp_path, {"ud": SOURCE}, [str(tmp_path / "mirror")]) == (
        "prefetch: 8 files, 1 already present, 1 in a mirror, 4 to download: 3.2 GB, and 2 of unknown size, "
        "and 2 samples of dumps, about 39.0 MB"
    )
    assert asked == ["https://never.invalid/told", "https://never.invalid/silent"]


def test_no_server_answers() -> None:
    assert network.size_of(["http://127.0.0.1:9/"]) == (None, False)
    assert network.size_of([]) == (None, True)
