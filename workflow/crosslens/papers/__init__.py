"""The only list of the papers, by key. Each paper is a folder here, described by its module paper.py: docs/new-paper.md."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crosslens.reports.paper import Paper

KEYS = ("tanti2021", "muller2021", "liang2021", "wu2019", "liu2020", "passport")


def papers() -> "list[Paper]":
    """Descriptions of all papers, in the order of KEYS."""
    return [import_module(f"crosslens.papers.{key}.paper").PAPER for key in KEYS]
