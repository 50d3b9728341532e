"""The configuration: the real ones load, wrong ones end in one readable line, and what is generated is in step."""

import copy
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from crosslens.config import docs
from crosslens.config.base import ConfigError, Section
from crosslens.config.whole import Config, load
from snakemake.utils import update_config

REPOSITORY = Path(__file__).parents[1]
SCALES = {
    "published": ["config.yaml"],
    "demo": ["config.yaml", "demo/overlay.yaml"],
    "laptop": ["config.yaml", "laptop/overlay.yaml"],
    "tests": ["config.yaml", "tests/workflow/overlay.yaml"],
}
PAPER = "papers.tanti2021"
GONE = object()


def merged(scale: str) -> dict[str, Any]:
    """Configuration of a scale, overlaid as Snakemake does."""
    values: dict[str, Any] = {}
    for name in SCALES[scale]:
        update_config(values, yaml.safe_load((REPOSITORY / name).read_text(encoding="utf-8")))
    return values


def changed(path: str, value: Any) -> dict[str, Any]:
    """The tests' own configuration with one key changed; GONE leaves it out. `/` separates the parts of a path."""
    values = copy.deepcopy(merged("tests"))
    *folders, key = path.split("/")
    node = values
    for folder in folders:
        node = node[folder]
    if value is GONE:
        del node[key]
    else:
        node[key] = value
    return values


# --- the real ones --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
def test_real_configurations_load_and_fit_the_schema(scale):
    values = merged(scale)
    assert load(values).papers.tanti2021.encoder in values["encoders"]
    jsonschema.validate(values, docs.schema(), jsonschema.Draft202012Validator)


def test_overlays_agree_with_their_profiles():
    for scale in ("demo", "laptop"):
        profile = yaml.safe_load((REPOSITORY / scale / "config.yaml").read_text())
        assert profile["configfile"] == SCALES[scale]


def test_an_overlay_replaces_values_section_by_section_and_lists_whole():
    demo, published = load(merged("demo")), load(merged("published"))
    assert demo.corpora["udpos"].source == "phrasebook" and published.corpora["udpos"].source != "phrasebook"
    assert len(demo.corpora["udpos"].languages) < len(published.corpora["udpos"].languages)
    assert demo.tokens.drop_unknown == published.tokens.drop_unknown
    assert "mbert" in demo.encoders


# --- wrong ones -----------------------------------------------------------------------------------------------------------

CASES = {
    "unknown key": ("sedes", [1], "sedes: unknown key; did you mean 'seeds'?"),
    "unknown key of a section": (f"{PAPER}.runs.finetuned.bacth", 3, "{key}: unknown key; did you mean 'batch'?"),
    "unknown key of a form": ("corpora.udpos.langauges", ["en"], "{key}: unknown key; did you mean 'languages'?"),
    "unknown key, like none": ("qqqq", 1, "qqqq: unknown key"),
    "unknown run": (
        f"{PAPER}.runs.fintuned",
        {"batch": 3},
        "{key}: unknown key, 'frozen', 'finetuned', 'gradient_reversal', 'entropy_maximisation' or 'untrained' expected; "
        "did you mean 'finetuned'?",
    ),
    "unknown split": (
        "corpora.wikipedia.shares",
        {"train": 0.5, "tset": 0.5},
        "{key}.tset: unknown key, 'train', 'validation', 'dev' or 'test' expected; did you mean 'test'?",
    ),
    "wrong type, number": (f"{PAPER}.runs.finetuned.batch", "many", "{key}: a whole number expected, found 'many'"),
    "wrong type, fraction": (f"{PAPER}.runs.finetuned.batch", 2.5, "{key}: a whole number expected, found 2.5"),
    "wrong type, list": ("mirror", "../mirror", "mirror: a list expected, found '../mirror'"),
    "wrong type, section": ("encoders", [], "encoders: a section expected, found []"),
    "wrong type, text or section": ("corpora.udpos.files", {"train": 3}, "{key}.train: text or a section expected, found 3"),
    "wrong type, truth": ("tokens.drop_unknown", "perhaps", "{key}: true or false expected, found 'perhaps'"),
    "Norwegian is not false": (
        "corpora.udpos.languages",
        [False],
        "{key}.0: text expected, found False (YAML reads yes, no, on and off so: put it in quotes)",
    ),
    "batch 0": (f"{PAPER}.runs.finetuned.batch", 0, "{key}: at least 1 expected, found 0"),
    "share of 1": (f"{PAPER}.training.dropout", 1.5, "{key}: below 1.0 expected, found 1.5"),
    "negative seed": ("seeds", [0, -1], "seeds.1: at least 0 expected, found -1"),
    "rate above 1": (f"{PAPER}.runs.frozen.head_rate", 10, "{key}: at most 1.0 expected, found 10"),
    "negative lambda": (f"{PAPER}.runs.gradient_reversal.reversal", -1, "{key}: above 0.0 expected, found -1"),
    "no seeds": ("seeds", [], "seeds: at least 1 in the list expected, found []"),
    "folder outside": ("results", "/tmp/x", "results: text like ^results(/[a-z0-9_-]+)?$ expected, found '/tmp/x'"),
    "choice": (
        "tokens.labelled_piece",
        "fist",
        "{key}: 'first', 'first_visible' or 'word_starts' expected, found 'fist'; did you mean 'first'?",
    ),
    "missing": (f"{PAPER}.encoder", GONE, "{key}: missing: a value is expected"),
    "missing section": ("papers", GONE, "papers: missing: a value is expected"),
    "shares": ("corpora.wikipedia.shares", {"train": 0.5, "test": 0.4}, "corpora.wikipedia: shares must add up to 1, not 0.9"),
    "missing files": (
        "corpora.udpos.files",
        {"train": "{code}.conllu", "test": {"en": ["a"], "de": ["b"]}},
        "corpora.udpos: no files for tr.test: list them under files",
    ),
    "pattern": (
        "corpora.wikipedia.file",
        "{wikki}.xml",
        "corpora.wikipedia: pattern '{wikki}.xml': {code}, {name}, {wiki} expected in braces, and nothing else",
    ),
    "unknown language": (
        "corpora.udpos.languages",
        ["en", "xx"],
        "corpora.udpos: xx not in resources/languages.csv: correct the code or add a line for each",
    ),
    "language by name": (
        "corpora.udpos.languages",
        ["en", "German"],
        "{key}.1: a language code of two or three letters expected, found 'German'",
    ),
    "language twice": (
        "corpora.udpos.languages",
        ["en", "de", "en"],
        "corpora.udpos: en named twice under languages: leave one out",
    ),
    "language that the phrasebook does not write": (
        "phrasebook.languages",
        ["de", "en"],
        "corpora.udpos.languages: phrasebook.languages has no tr: name them there too",
    ),
    "source language without training data": (
        f"{PAPER}.source_language",
        "de",
        "{key}: corpora.udpos has no training data of 'de': name it there under languages and source_languages, or take another",
    ),
    "unknown encoder": (
        f"{PAPER}.encoder",
        "mbret",
        "{key}: one of mbert, random expected, found 'mbret'; did you mean 'mbert'?",
    ),
    "unknown corpus": (
        f"{PAPER}.corpus",
        "udpso",
        "{key}: one of udpos, wikipedia expected, found 'udpso'; did you mean 'udpos'?",
    ),
    "corpus of another kind": (f"{PAPER}.corpus", "wikipedia", "corpora.wikipedia: kind 'treebank' expected by papers.tanti2021"),
    "unknown form": (
        "encoders.random.source",
        "randon",
        "{key}: 'hub', 'folder', 'packaged', 'random' expected, found 'randon'; did you mean 'random'?",
    ),
    "missing form": ("corpora.udpos.kind", GONE, "{key}: missing: a value is expected"),
    "branch for a revision": (
        "encoders.mbert.revision",
        "main",
        "{key}: text like ^[0-9a-f]{40}$ expected, found 'main'",
    ),
    "heads": (
        "encoders.tiny",
        {"source": "random", "hidden": 30, "heads": 4},
        "encoders.tiny: hidden (30) must be a multiple of heads (4)",
    ),
    "name that is no folder": (
        "encoders.a/b",
        {"source": "random"},
        "encoders.a/b: a name of small letters, digits and . _ - expected",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_configuration_ends_in_one_line(case):
    key, value, message = CASES[case]
    path = "encoders/a/b" if key == "encoders.a/b" else key.replace(".", "/")
    values = changed(path, value) if key != "encoders.a/b" else changed("encoders", merged("tests")["encoders"] | {"a/b": value})
    with pytest.raises(ConfigError) as caught:
        load(values, "demo/overlay.yaml")
    assert str(caught.value) == "demo/overlay.yaml: " + message.replace("{key}", key)


def test_every_wrong_key_is_named_at_once():
    values = changed("sedes", [1])
    values["threads"] = "two"
    with pytest.raises(ConfigError) as caught:
        load(values)
    assert sorted(str(caught.value).split("\n")) == [
        "config.yaml: sedes: unknown key; did you mean 'seeds'?",
        "config.yaml: threads: a whole number expected, found 'two'",
    ]


# --- what is generated ----------------------------------------------------------------------------------------------------


def test_generated_files_are_in_step():
    assert docs.stale() == [], "run make config-docs"


def test_stale_files_are_named_and_rewritten(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    monkeypatch.setattr(docs, "stale", lambda: stale(tmp_path))
    assert docs.main(["--check"]) == 1
    assert docs.MARKDOWN in capsys.readouterr().out and not list(tmp_path.iterdir())
    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0
    (tmp_path / docs.SCHEMA).write_text("{}")
    assert docs.main(["--check"]) == 1
    assert docs.SCHEMA in capsys.readouterr().out


stale = docs.stale


def keys(section: type[Section], seen: set[type]) -> list[tuple[str, str | None]]:
    """Names and descriptions of all keys of a section and of the sections inside it."""
    found = []
    for name, field in section.model_fields.items():
        found.append((f"{section.__name__}.{name}", field.description))
    for inner in Section.__subclasses__():
        if inner not in seen and re.search(rf"\b{inner.__name__}\b", str(section.model_fields)):
            seen.add(inner)
            found += keys(inner, seen)
    return found


def test_every_key_is_described_in_the_documentation():
    text = docs.markdown()
    for name, description in keys(Config, set()):
        key = name.partition(".")[2]
        assert re.search(rf"^(\| `(\S*\.)?{key}`|#+ `(\S*\.)?{key}(\.NAME)?`)", text, re.MULTILINE), name
        if description and f"| `{key}`" in text:
            assert description.replace("|", "\\|") in text, name


def test_documentation_gives_type_range_default_and_meaning():
    text = docs.markdown()
    assert "| `threads` | whole number, at least 1 | `2` | threads of a training or extraction on a CPU |" in text
    assert "| `corpora.NAME.kind` | `treebank` | *required* | chooses this form |" in text
    assert "### `source: random`" in text
