"""The wording of docs and captions: one word for each thing, and as many seeds as there are."""

import ast
import re
import subprocess
from copy import deepcopy
from pathlib import Path

import pytest
from crosslens.config.presets import read_yaml
from crosslens.papers import papers
from crosslens.papers.configuration import load
from crosslens.papers.wording import by_seeds, interval
from crosslens.reports.studies import Studies

OVER_SEEDS = re.compile(r"over (the |\d+ )?seeds|of a single seed")
SAY_INTERVALS = {
    "tanti2021": {"table1", "table2", "table3", "footnote6", "findings", "languages", "epochs", "units"},
    "muller2021": {"table1", "table2", "table5", "table6", "table7", "table8", "change"},
    "liang2021": {f"table{number}" for number in range(1, 7)},
    "wu2019": {"table2", "table3", "table4", "table5", "table6", "figure1", "figure1_cells", "figure3"},
    "liu2020": {"figure2", "figure4", "figure6", "table4", "nli", "languages"},
}


def captions(values, seeds):
    """Paper -> item -> caption, with these seeds for every training run."""
    values = deepcopy(values) | {"seeds": seeds}
    for section in values["papers"].values():
        section["seeds"] = seeds
    del values["papers"]["tanti2021"]["seeds"]
    for task in values["papers"]["tanti2021"]["tasks"].values():
        for run in task["runs"].values():
            run.pop("seeds", None)
    config = load(values)
    return {
        paper.key: {name: item.caption for name, item in paper.items(config).items()}
        for paper in Studies(config, papers()).papers
    }


def test_no_caption_speaks_of_intervals_over_seeds_where_there_is_one(values):
    for paper, by_item in captions(values, [7]).items():
        said = {name: OVER_SEEDS.findall(text) for name, text in by_item.items()}
        assert not {name: words for name, words in said.items() if words}, paper


def test_captions_say_over_how_many_seeds_intervals_are(values):
    by_paper = captions(values, [7, 8, 9, 10])
    for paper, names in SAY_INTERVALS.items():
        assert {name for name, text in by_paper[paper].items() if "over 4 seeds" in text} == names
    for by_item in by_paper.values():
        assert not {name for name, text in by_item.items() if re.search(r"over (the )?seeds", text)}


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([1], "a bootstrap"),
        ([3, 3], "over 3"),
        ([5, 3], "over 3 or 5"),
        ([1, 3], "over 3 or, of a single seed, a bootstrap"),
        ([], ""),
    ],
)
def test_clauses(numbers, text):
    assert by_seeds(numbers, "over {}", "a bootstrap") == text
    assert interval([2]) == "Student's t over 2 seeds"


# The glossary

ROOT = Path(__file__).parents[1]
GLOSSARY = "docs/glossary.md"
CODE = re.compile(r"```.*?```|`[^`]*`|<!--.*?-->", re.DOTALL)
MARKUP = re.compile(r"{[{%#].*?[}%#]}|<[^>]*>", re.DOTALL)


def preferred_wording():
    """Preferred wording of the glossary by the wording that it avoids."""
    rows = re.findall(r"^\| (.+) \| (`.+`) \|$", (ROOT / GLOSSARY).read_text(encoding="utf-8"), re.MULTILINE)
    return {avoided: preferred for preferred, cell in rows for avoided in re.findall(r"`([^`]+)`", cell)}


def prose(name):
    """Text of a file that readers see: of a page or template without its code, of data without keys, of code its strings."""
    text = (ROOT / name).read_text(encoding="utf-8")
    match Path(name).suffix:
        case ".md":
            return CODE.sub("", text)
        case ".j2":
            return CODE.sub("", MARKUP.sub("", text))
        case ".py":
            return "\n".join(CODE.sub("", KEPT.sub("", string)) for string in strings(text))
        case "":  # the Makefile
            return "\n".join(re.findall("## (.*)", text))
    return "\n".join(visible_texts(read_yaml(ROOT / name)))


def strings(source):
    """Strings of a module that have a space, as messages do, without docstrings."""
    tree = ast.parse(source)
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and id(node) not in docstrings:
            yield node.value


def visible_texts(content, is_visible=False):
    """Texts of a YAML file that readers see: values of captions, terms and claims."""
    if isinstance(content, str):
        yield from [content] * is_visible
    elif isinstance(content, dict):
        for key, value in content.items():
            yield from visible_texts(value, is_visible or key in VISIBLE)


# Names in records and tables, and data.
KEPT = re.compile("cka floor|at its floor|crosslens phrasebook")
VISIBLE = {"title", "shows", "caption", "says", "note", "definitions", "names"}


def test_docs_captions_and_messages_use_the_words_of_the_glossary():
    preferred = preferred_wording()
    assert len(preferred) > 30
    pattern = re.compile(rf"(?<![\w/-])({'|'.join(map(re.escape, preferred))})(?![\w-])", re.IGNORECASE)
    patterns = ["*.md", "*/captions.yaml", "*/claims.yaml", "resources/terms.yaml", "workflow/*.py", "*.j2", "Makefile"]
    names = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert len(names) > 400
    lapses = [
        f"{name}: '{wording}': write {preferred[wording.lower()]}"
        for name in sorted({*names} - {GLOSSARY})
        for wording in pattern.findall(prose(name))
    ]
    assert not lapses
