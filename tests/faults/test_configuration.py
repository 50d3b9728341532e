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
TWICE = {  # what a file has twice -> the place of the second
    "seeds: [0]\nthreads: 1\nseeds: [1]\n": "3:1: ",
    "synthetic:\n  seed: 1\n  seed: 2\n": "3:3: ",
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
    "encoders: {mbert: {id: ../../etc}}": "encoders.mbert.id: expected a name on the hub, OWNER/NAME or NAME, found '../../etc'",
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
