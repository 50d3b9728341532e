"""The papers, by key: the only list of them. A paper is a folder here whose module paper.py describes it: docs/new-paper.md."""

KEYS = ("tanti2021", "muller2021", "liang2021", "wu2019", "liu2020")
