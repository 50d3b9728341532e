"""Reports of committed runs for the site: docs/results/PRESET/[PAPER/]report.html has the tables of a run, and links lead there.

Only the site has them. In the repository a link leads to the table itself, a CSV.
"""

import re
from collections.abc import Container
from functools import partial
from pathlib import Path
from typing import Any

from snakemake.utils import update_config

from crosslens.commands.documents.templates import TABLES, TERMS
from crosslens.config.presets import read_yaml
from crosslens.corpora.sources.registry import load as load_sources
from crosslens.graph.artefacts import claims_file
from crosslens.jobs.checksums import write_checksums
from crosslens.papers import papers
from crosslens.papers.configuration import load
from crosslens.reports import spread
from crosslens.reports.about import About
from crosslens.reports.claims.decisions import main_result
from crosslens.reports.pages import page
from crosslens.reports.paper import Paper, TableOrFigure
from crosslens.reports.studies import Studies

PUBLISHED = "config.yaml"
OVERLAYS = {"demo": ["demo/overlay.yaml"], "laptop": ["laptop/overlay.yaml", "laptop/extracted.yaml"]}
"""Preset -> overlays of config.yaml in its committed runs."""

LINK = re.compile(rf"\]\((?P<folder>(?:[\w./-]*/)?{Path(TABLES).name}/[\w/-]+/)(?P<name>\w+)\.csv\)")


def configuration(root: Path, *overlays: str) -> dict[str, Any]:
    """Values of config.yaml, overridden by those of overlays."""
    values = read_yaml(root / PUBLISHED)
    for file in overlays:
        update_config(values, read_yaml(root / file))
    return values


def write(root: Path, site: Path) -> None:
    """Write the reports into a copy of the documents, and change the copy's links to tables into links to reports.

    root: the repository.
    site: the copy.
    """
    terms, sources = read_yaml(root / TERMS), load_sources()
    published = Studies(load(configuration(root)), papers())
    tables = set()
    for preset, overlays in OVERLAYS.items():
        folder = site / TABLES / preset
        about = About(Studies(load(configuration(root, *overlays)), papers()), published, sources)
        for paper in about.here.papers:
            items = committed(paper, about, folder)
            files = [folder / f"{paper.path(name)}.csv" for name in items]
            for file in (*files, *(file.with_name(f"{file.name}.json") for file in files)):
                write_checksums(file)
            if items:
                several = spread.tables(root, preset, map(paper.path, items))
                claims, tables_by_name = root / claims_file(paper.key), dict(zip(items, files, strict=True))
                result = main_result(claims, paper.names(about.config), tables_by_name) if claims.is_file() else ""
                text = page(about.page(paper, items, report=True), files, terms, None, several, result=result)
                (folder / f"{paper.path('report')}.html").write_text(text, "utf-8")
            tables |= {file.relative_to(site).as_posix() for file in files}
    for document in site.rglob("*.md"):
        text = document.read_text("utf-8")
        document.write_text(LINK.sub(partial(_to_report, document.parent, site, tables), text), "utf-8")


def committed(paper: Paper, about: About, folder: Path) -> dict[str, TableOrFigure]:
    """Tables of a paper that are in a folder of results, by name."""
    return {name: item for name, item in paper.items(about.config).items() if (folder / f"{paper.path(name)}.csv").is_file()}


def _to_report(folder: Path, site: Path, tables: Container[str], link: re.Match[str]) -> str:
    """Link to the section of a report, instead of a link to a table; unchanged if no report has the table.

    folder: folder of the document.
    tables: paths of the tables in reports, below `site`.
    """
    table = (folder / link["folder"] / f"{link['name']}.csv").resolve().relative_to(site.resolve()).as_posix()
    return f"]({link['folder']}report.html#{link['name']})" if table in tables else link[0]
