"""Facts of a release: its version, what CITATION.cff cites, and licences."""

import csv
import re
import tomllib
from decimal import Decimal

import pytest
import yaml
from crosslens.commands.documents.templates import printed
from crosslens.papers import papers
from study import REPOSITORY

VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
CITATION = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
STUDIES = [paper for paper in papers() if re.search(r"\(\d{4}\), \*", paper.about)]  # all but the passport


def test_the_version_is_the_same_everywhere():
    """Project, citations, latest changes, site, and the tag that another study deploys, have one version."""
    places = {
        "CHANGELOG.md": r"^## ([\d.]+)",
        "README.md": r"^ +version = {([\d.]+)},$",
        "docs/site/mkdocs.yml": r"^site_name: crosslens ([\d.]+)$",
        "docs/module.md": r"--tag v([\d.]+)$",
    }
    texts = {name: (REPOSITORY / name).read_text(encoding="utf-8") for name in places}
    versions = {name: re.search(pattern, texts[name], re.MULTILINE)[1] for name, pattern in places.items()}
    assert versions | {"CITATION.cff": CITATION["version"]} == dict.fromkeys([*places, "CITATION.cff"], VERSION)


@pytest.mark.parametrize("paper", STUDIES, ids=lambda paper: paper.key)
def test_each_paper_is_cited(paper):
    """Authors, year and title as its pages have them."""
    authors, year, title = re.match(r"(.+) \((\d{4})\), \*([^*]+)\*", paper.about).groups()
    (reference,) = [entry for entry in CITATION["references"] if entry["title"].lower().startswith(title.lower())]
    names = [" ".join(filter(None, (name.get("name-particle"), name["family-names"]))) for name in reference["authors"]]
    assert names == re.split(", | and ", authors) and reference["year"] == int(year)
    assert reference["doi"].startswith("10.") and reference["url"].startswith("https://")


def test_the_readme_cites_as_the_citation_file_does():
    """The BibTeX entry has title, authors and year of CITATION.cff, and only the latter has places to fill in."""
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    entry = dict(re.findall(r"^ +(\w+) += {+(.+?)}+,?$", readme.partition("@software{crosslens,")[2], re.MULTILINE))
    author, year = CITATION["authors"][0]["name"], str(CITATION["date-released"].year)
    assert entry == {"author": author, "title": CITATION["title"], "version": CITATION["version"], "year": year}


def test_the_headline_of_the_readme_is_that_of_its_table():
    """Before and after fine-tuning, and with random weights, from docs/results/laptop/table1.csv."""
    with (REPOSITORY / "docs/results/laptop/table1.csv").open(newline="", encoding="utf-8") as stream:
        cells = [cell for cell in csv.DictReader(stream) if cell["row"] == "Lang. ID (Target)"]
    values = {(cell["column"], cell["definition"]): printed(Decimal(cell["here"])) for cell in cells}
    definitions = [next(name for _, name in values if name.startswith("paper: macro F1")), "accuracy"]
    definitions += ["accuracy, probe trained on paragraphs", "accuracy, probe trained on the same corpus"]
    expected = [tuple(values[f"UDPOS {column}", name] for column in ("Init.", "Fine-T.", "Untrained")) for name in definitions]
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| .+? \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", readme, re.MULTILINE) == expected
    assert f"spelling ({values['UDPOS Spelling alone', 'accuracy']} %)" in readme


def test_every_table_among_the_resources_has_a_licence():
    named = (REPOSITORY / "docs/data.md").read_text(encoding="utf-8").partition("\n## Licences\n")[2]
    project_texts = {"config.schema.json", "sources.yaml", "terms.yaml"}  # written here; the rest, Apache-2.0
    paths = {path.name for path in (REPOSITORY / "resources").iterdir() if path.suffix != ".tsv"} - project_texts
    assert [name for name in paths if f"`resources/{name}`" not in named] == []
