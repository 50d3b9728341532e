"""Facts of a release: its version, what CITATION.cff cites, and licences."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata

import pytest
import yaml
from crosslens.commands.documents import licences
from crosslens.jobs.errors import DataError
from crosslens.papers import papers
from study import REPOSITORY, edit

VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
CITATION = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
STUDIES = [paper for paper in papers() if re.search(r"\(\d{4}\), \*", paper.about)]  # all but the passport


def test_the_version_is_the_same_everywhere():
    """Project, citation, latest changes, site, and the tag that another study deploys, have one version."""
    places = {
        "CHANGELOG.md": r"^## ([\d.]+)",
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


def test_every_table_among_the_resources_has_a_licence():
    named = (REPOSITORY / "docs/licences.md").read_text(encoding="utf-8")
    project_texts = {"config.schema.json", "licences.csv", "sources.yaml", "terms.yaml"}  # written here; the rest, Apache-2.0
    paths = {path.name for path in (REPOSITORY / "resources").iterdir() if path.suffix != ".tsv"} - project_texts
    assert [name for name in paths if f"`resources/{name}`" not in named] == []


def test_licences_are_those_that_the_installed_packages_state():
    """Where a package states an SPDX expression; the lock has packages of other platforms too."""
    expressions = {}
    for name, licence in licences.package_licences(REPOSITORY).items():
        try:
            expressions[name] = (metadata(name)["License-Expression"] or licence, licence)
        except PackageNotFoundError:
            continue
    assert {name: pair for name, pair in expressions.items() if len({*pair}) > 1} == {} and len(expressions) > 100


def test_a_package_without_a_licence_is_named(tmp_path):
    for name in (licences.PACKAGES, "requirements.lock"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((REPOSITORY / name).read_text(encoding="utf-8"))
    edit(tmp_path / licences.PACKAGES, ("\ntorch,", "\ntorchvision,"))
    with pytest.raises(DataError, match="expected a line for each package of requirements.lock, found none for torch; add them"):
        licences.of_lock(tmp_path, "requirements.lock")
