"""The papers, by key: the only list of them. A paper is a folder here whose module paper.py describes it: docs/new-paper.md."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crosslens.reports.paper import Paper

KEYS = ("tanti2021", "muller2021", "liang2021", "wu2019", "liu2020", "passport")


def papers() -> "list[Paper]":
    """The papers in their order."""
    return [import_module(f"crosslens.papers.{key}.paper").PAPER for key in KEYS]
