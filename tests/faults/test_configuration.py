"""Nonsense in the configuration: one readable line a key before anything runs; never a traceback, a hang, or a run with it.

Every value of config.yaml and of the demo is replaced by values that are none; then what a person, or a script, writes wrongly.
The library's `load` is what the Snakefile calls; some are tried through Snakemake itself.
"""

import copy
import math
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
import yaml
from crosslens.commands.documents import configuration
from crosslens.config.presets import read_yaml
from crosslens.jobs.errors import DataError
from crosslens.papers.configuration import load
from forked import snakemake
from test_config import merged

ROOT = Path(__file__).parents[2]
Key = tuple[str | int, ...]

WRONG: tuple[Any, ...] = (
    True, False, None, "", "many", "../x", "a\nb", "\0", "４", -1, 0, 1.5, 10**30, -(10**30), 1e400, math.nan, "nan", "inf",
    [], {}, [[]], [None], [True], {"a": 1}, {1: 1}, [{}], "x" * 10_000,
)  # fmt: skip
RANDOM = {"source": "random", "corpora": ["pud"]}
PUD = {"kind": "treebank", "source": "synthetic", "languages": ["de"], "files": {"test": "{code}"}}
NAMES = ("a/b", "../a", "..", "a b", "a\n", "A", "ä", "ａ", "а", "", "-a", "a\0", "x" * 200, 1, True, None)
HUB = (
    "../../etc", "..", "./x", "/etc/passwd", "~/x", "a/..", "a//b", "a/", "/b", "a/b/c", "a\\b", "a b/c", "a/b\n", "-a/b", 
    "a--b/c", "a/b.git", "a/b@main", "https://huggingface.co/a/b", "gооgle-bert/x", "a/" + "x" * 200, "", 3, None, [],
)  # fmt: skip
PATHS = ("../x", "{code}/../../x", "/etc/passwd", "~/x", "a/./b", "a//b", "a\\b", "https://x/y", "", " a", "a\n", "a\0b")
PATTERNS = ("{wikki}", "{", "{}", "{0}", "{code.__class__}", "{code!r}", "{code:>99}", "{code[0]}")
MODELS = ("papers", "liang2021", "models")
HAND: tuple[tuple[Key, Any], ...] = (
    (("seeds",), [0, 0]), (("seeds",), "0"), (("seeds",), [[0]]), (("seeds",), [0, True]),
    (("threads",), True), (("threads",), "true"), (("threads",), math.inf),
    (("results",), "results/../x"), (("results",), "/tmp/x"), (("results",), "results/a\n"), (("results",), "results/dеmo"),
    (("mirror",), ["../mirror", "../mirror"]), (("mirror",), [""]), (("mirror",), ["../m\n"]), (("mirror",), ["a\0b"]),
    *((("encoders", "mbert", "id"), id) for id in HUB),
    *((("encoders", "mbert", "revision"), hash) for hash in ("main", "3F" * 20, "0" * 39, "0" * 40 + "\n", None)),
    *((("encoders", name), RANDOM) for name in NAMES),
    *((("corpora", name), PUD) for name in NAMES),
    *((("tokenisations", name), {}) for name in NAMES),
    *((MODELS + (name,), {}) for name in (*NAMES, "a.b", "a|b")),
    *((("corpora", "wikipedia", "file"), path) for path in (*PATHS, *PATTERNS)),
    *((("corpora", "udpos", "files", "train"), path) for path in (*PATHS, *PATTERNS)),
    *((("corpora", "udpos", "files", "test"), ["{code}", path]) for path in PATHS),
    *((("corpora", "udpos", "files", "test"), {"de": ["de", path]}) for path in PATHS),
    (("corpora", "xnli", "archive"), "../x.zip"), (("corpora", "xnli", "train_archive"), "/x.zip"),
    (("corpora", "wals", "folder"), "../cldf"), (("encoders", "f"), {"source": "folder", "path": ""}),
    (("encoders", "f"), {"source": "folder", "path": "a\nb"}), (("encoders", "f"), {"source": "folder"}),
    (("corpora", "udpos", "files", "train"), ["{code}", "{code}"]),
    *((("corpora", "udpos", "languages"), codes) for codes in (["en", "de", "en"], ["en", "dе"], ["EN"], ["en\n"], "en",
                                                               ["no one"], [False], ["xx"])),
    (("corpora", "udpos", "source_languages"), ["xx"]), (("corpora", "udpos", "source_languages"), ["en", "en"]),
    (("corpora", "udpos", "without"), {"dev": ["xx"]}), (("corpora", "udpos", "limits"), {"train": True}),
    (("corpora", "wikipedia", "shares"), {"train": math.nan, "test": 0.5}), (("corpora", "udpos", "limits"), {"tset": 3}),
    (("corpora", "wikipedia", "shares"), {"train": True}),
    (("encoders", "bert-blank", "corpora"), ["xnli_all", "xnli_all"]),
    (("encoders", "static-blank", "tokenizer"), "static-blank"),
    (("states", "layers"), [1, 1]), (("synthetic", "languages"), ["de", "de"]), (("synthetic", "train_languages"), ["xx"]),
    (("papers",), []), (("papers", "tanti2020"), {}), (("sedes",), [0]),
    (("papers", "tanti2021", "search", "experiments"), ["pos/frozen", "pos/frozen"]),
    (("papers", "tanti2021", "tasks", "pos", "runs", "frozen", "seeds"), [0, 0]),
    (("papers", "liang2021", "sources"), [["en"], ["en", "en"]]), (("papers", "muller2021", "pairs"), [[1, 1]]),
    (("papers", "muller2021", "source_languages"), ["en", "en"]), (("papers", "liu2020", "translation", "drawn"), ["en", "en"]),
    (("papers", "liu2020", "translation", "drawn"), ["en", "../x"]), (("papers", "liu2020", "pretraining", "sizes"), {"a/b": 3}),
    (("papers", "wu2019", "search", "variants"), ["ful"]), (("papers", "wu2019", "frozen"), [0, 0]),
)  # fmt: skip
TWICE = {  # what a file has twice -> the place of the second
    "seeds: [0]\nthreads: 1\nseeds: [1]\n": "3:1: ",
    "synthetic:\n  seed: 1\n  seed: 2\n": "3:3: ",
    "synthetic: {seed: 1, seed: 1}\n": "1:23: ",
    "corpora:\n  a: {}\n  b: {}\n  'a': {}\n": "4:3: ",
    "a: &a {x: 1}\nb: &b {y: 1}\nc:\n  <<: *a\n  <<: *b\n": "5:3: ",
}


def leaves(node: Any, key: Key = ()) -> Iterator[Key]:
    """The keys of all values that are no section, and of sections too: all can be replaced."""
    if key:
        yield key
    for name, value in node.items() if isinstance(node, dict) else ():
        yield from leaves(value, (*key, name))


def replaced(values: dict[str, Any], key: Key, value: Any) -> dict[str, Any]:
    """A configuration with another value at a key."""
    node = changed = copy.deepcopy(values)
    for name in key[:-1]:
        node[name] = node.get(name) or {}
        node = node[name]
    node[key[-1]] = value
    return changed


def tried(values: dict[str, Any], origin: str) -> tuple[str, str]:
    """('', '') where a configuration is accepted; its message where it is refused; what is wrong with that message."""
    try:
        load(values, origin)
        return "", ""
    except DataError as error:
        message = str(error)
    except Exception as error:
        return "", f"{type(error).__name__}: {error!s:.200}"
    lines = message.split("\n")
    keys = [line.removeprefix(f"{origin}: ").partition(": ")[0] for line in lines]
    if not all(line.isprintable() and line.startswith(f"{origin}: ") for line in lines):
        return message, f"no readable line: {message!r:.300}"
    return message, "" if len(set(keys)) == len(keys) else f"a key in two lines: {message:.300}"


@pytest.mark.parametrize("scale", ["published", "demo"])
def test_wrong_values_in_the_place_of_each_right_one(scale: str, often, tally) -> None:
    counts, values = tally(f"wrong values in the configuration, {scale}"), merged(scale)
    check = jsonschema.Draft202012Validator(configuration.schema())
    choices = [(key, value) for key in leaves(values) for value in WRONG]
    for key, value in Random(0).sample(choices, often(2000, 100)):
        changed, name = replaced(values, key, value), ".".join(map(str, key))
        message, fault = tried(changed, "config.yaml")
        if fault:
            counts.silent.append(f"{name} = {value!r:.40}: {fault}")
        elif message:
            counts.refused += 1
            counts.seen = counts.seen or message
        elif not check.is_valid(changed):
            counts.silent.append(f"{name} = {value!r:.40}: accepted")
        else:
            counts.survived += 1  # a value that this key may have: null, or another number
    assert not counts.silent, "\n".join(counts.silent)


def test_nonsense_that_a_person_writes(often, tally) -> None:
    counts, values = tally("nonsense in the configuration, by hand"), merged("demo")
    for key, value in HAND[:: often(1, 2)]:
        message, fault = tried(replaced(values, key, value), "config.yaml, demo/overlay.yaml")
        place = next((f"{part!s:.80}" for part in reversed(key) if isinstance(part, str) and part.isprintable() and part), "")
        if fault or not message or not any(f"{part!s:.60}" in message for part in (place, *map(str, key[:-1]))):
            counts.silent.append(f"{key} = {value!r:.60}: {fault or message or 'accepted'}")
        else:
            counts.refused += 1
            counts.seen = counts.seen or message
    assert not counts.silent, "\n".join(counts.silent)
    assert len(HAND) >= 100


def test_a_key_that_is_there_twice(tmp_path: Path, tally) -> None:
    counts = tally("a key twice in a YAML file")
    for number, (text, place) in enumerate(TWICE.items()):
        path = tmp_path / f"{number}.yaml"
        path.write_text(text)
        assert yaml.safe_load(text), "others take the last"
        with pytest.raises(DataError) as caught:
            read_yaml(path)
        message = str(caught.value)
        assert message.startswith(f"{path}:{place}not valid YAML: key '") and message.isprintable()
        counts.refused += 1
        counts.seen = counts.seen or message.replace(f"{tmp_path}/", "")
    for path in (*ROOT.glob("*/*.yaml"), *ROOT.glob("profiles/*/*.yaml"), ROOT / "config.yaml"):
        read_yaml(path)  # none of ours has one; merged keys (<<) may be given anew


SAID = {  # what a file beside config.yaml says -> the last part of what Snakemake says
    "seeds: [0, 0]": "seeds: expected each entry once, found 0 a second time; remove the repetition",
    "threads: true": "threads: expected a number, found True (YAML reads yes, no, on and off as truth values)",
    "threads: 1\nthreads: 2": "more.yaml:2:1: not valid YAML: key 'threads' a second time; correct it near that line",
    "encoders: {mbert: {id: ../../etc}}": "encoders.mbert.id: expected a name on the hub, OWNER/NAME or NAME, found '../../etc'",
    "corpora: {wals: {folder: ../x}}": "corpora.wals: folder: expected a path within the source, without .. and not absolute, "
    "found '../x'",
    "papers: {tanti2021: {probe: {train_words: .nan}}}": "probe.train_words: input should be a finite number, found nan",
    "sedes: [1]": "sedes: unknown key; did you mean 'seeds'?",
}


def test_snakemake_says_it_in_one_line(tmp_path: Path, often, tally) -> None:
    """Through the Snakefile, which finds the files that Snakemake has read: before any job, with nothing made."""
    counts = tally("nonsense in the configuration, through snakemake")
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}  # without the profile, Snakemake itself needs a cache
    options = ["-n", "--profile", "none", "--workflow-profile", "none", "--snakefile", str(ROOT / "Snakefile"), "--directory"]
    for text, expected in [*SAID.items()][: often(len(SAID), 1)]:
        file = tmp_path / "more.yaml"
        file.write_text(f"{text}\n")
        folder = tmp_path / "work"
        folder.mkdir(exist_ok=True)
        overlays = [str(ROOT / "demo/overlay.yaml"), str(file)]
        status, said = snakemake([*options, str(folder), "--configfile", *overlays], folder, environment)
        lines = [line for line in said.splitlines() if expected in line]
        if status == 0 or len(lines) != 1 or "Traceback" in said or (folder / "results").exists():
            counts.silent.append(f"{text}: {said}")
        else:
            counts.refused += 1
            counts.seen = counts.seen or expected
    assert not counts.silent, "\n".join(counts.silent)
