"""A run without a network ends before its first job, with one list of what is missing."""

import socket
import time

import pytest
from crosslens.sources import offline
from crosslens.sources.offline import by_hand, out_of_reach
from crosslens.sources.registry import Source

SHARED = {"title": "t", "version": "1", "licence": "l", "citation": "c", "example": "a"}
SOURCES = {
    "ud": Source(url=["https://ud.invalid/{path}"], mirror=["ud"], **SHARED),
    "wikipedia": Source(url=["https://wiki.example/{path}", "https://wiki.invalid/{path}"], mirror=["wikipedia"], **SHARED),
    "rcv1": Source(url=[], manual="ask NIST", mirror=["rcv1"], **SHARED),
}


@pytest.fixture
def asked(monkeypatch):
    """Names that were looked up; .invalid ones do not exist."""
    names = []

    def look_up(host, port):
        names.append(host)
        if host.endswith(".invalid"):
            raise socket.gaierror("unknown")
        return ["an address"]

    monkeypatch.setattr(offline.socket, "getaddrinfo", look_up)
    monkeypatch.setattr(offline, "getproxies", dict)
    return names


def test_what_is_missing_is_listed_by_source_and_each_host_is_asked_once(tmp_path, asked):
    (tmp_path / "ud").mkdir()
    (tmp_path / "ud" / "c.conllu.xz").touch()
    files = [f"ud/{name}.conllu" for name in "edcba"] + ["wikipedia-sample/600-0/dewiki/dump.bz2", "rcv1/rcv1.tar.xz"]
    assert out_of_reach(files, SOURCES, [str(tmp_path)]) == (
        f"no network: ud.invalid cannot be found, and no mirror has these files; put them below {tmp_path}\n"
        "  ud/a.conllu, ud/b.conllu, ud/d.conllu and 1 more"
    )
    assert sorted(asked) == ["ud.invalid", "wiki.example", "wiki.invalid"]


def test_nothing_is_asked_for_files_of_a_mirror_by_hand_or_behind_a_proxy(tmp_path, asked, monkeypatch):
    (tmp_path / "ud").mkdir()
    (tmp_path / "ud" / "a.conllu").touch()
    assert out_of_reach(["ud/a.conllu", "rcv1/rcv1.tar.xz"], SOURCES, [str(tmp_path)]) is None
    monkeypatch.setattr(offline, "getproxies", lambda: {"https": "http://proxy"})
    assert out_of_reach(["ud/b.conllu"], SOURCES, []) is None
    assert not asked


def test_what_is_supplied_by_hand_is_named_in_a_line_a_source(tmp_path, asked):
    (tmp_path / "rcv1").mkdir()
    (tmp_path / "rcv1" / "here.xz").touch()
    files = ["rcv1/rcv2.tar.xz", "ud/a.conllu", "rcv1/here", "rcv1/rcv1.tar.xz"]
    rest = "in no mirror, and cannot be downloaded (ask NIST); put what is missing below"
    assert by_hand(files, SOURCES, [str(tmp_path)]) == [f"rcv1/rcv1.tar.xz, rcv1/rcv2.tar.xz: {rest} {tmp_path}"]
    (line,) = by_hand(files, SOURCES, [])
    assert line.startswith("rcv1/here, rcv1/rcv1.tar.xz, ") and line.endswith(
        "below a folder MIRROR, and add `mirror: [MIRROR]` to the configuration, or to an overlay"
    )
    assert not asked


def test_without_a_mirror_the_message_says_how_to_name_one(asked):
    assert "put them below a folder MIRROR, and add `mirror: [MIRROR]`" in out_of_reach(["ud/a.conllu"], SOURCES, [])


def test_a_name_server_that_does_not_answer_is_none(monkeypatch):
    monkeypatch.setattr(offline, "WAIT", 0.05)
    monkeypatch.setattr(offline, "getproxies", dict)
    monkeypatch.setattr(offline.socket, "getaddrinfo", lambda host, port: time.sleep(0.3))
    assert "ud.invalid cannot be found" in out_of_reach(["ud/a.conllu"], SOURCES, [])


def test_the_hub_is_looked_for_at_the_endpoint_of_the_user(asked, monkeypatch):
    monkeypatch.setattr("crosslens.sources.network.ENDPOINT", "https://hub.invalid/")
    hub = Source(url=["https://huggingface.co/{path}"], mirror=["hub"], **SHARED)
    assert "hub.invalid cannot be found" in out_of_reach(["hub/a"], {"hub": hub}, [])
    assert asked == ["hub.invalid"]
