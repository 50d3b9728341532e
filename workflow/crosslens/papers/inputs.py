"""What a table or a figure is made of, as its module sees it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.reports.cells import Published
from crosslens.reports.paper import MODEL_FILES, Need
from crosslens.storage import records
from crosslens.storage.trainings import trainings


@dataclass(frozen=True)
class Inputs:
    """needs: what the item asked for; files: of each need, one a seed, or one for all seeds; tokens: corpus -> folder, and
    CORPUS/READING -> folder of further readings; draws: name -> folder; tokenizer, typology, cited: where they are read.
    """

    needs: Sequence[Need]
    files: Sequence[Sequence[Path]]
    published: Published
    tokens: Mapping[str, Path]
    draws: Mapping[str, Path]
    tokenizer: Path | None = None
    typology: Path | None = None
    cited: Published | None = None

    def records(self, *kinds: str) -> pd.DataFrame:
        """The records of some kinds of measures, or of all."""
        wanted = kinds or {need.kind for need in self.needs} - MODEL_FILES.keys()
        groups = [paths for need, paths in zip(self.needs, self.files, strict=True) if need.kind in wanted]
        return records.read(dict.fromkeys(path for paths in groups for path in paths))

    def by_seed(self, kind: str) -> Iterator[tuple[str, int, Path]]:
        """(recipe, seed, file) of a kind with a file a seed: a measure of states, or what trainings left."""
        for need, paths in zip(self.needs, self.files, strict=True):
            for seed, path in zip(need.seeds, paths, strict=True) if need.kind == kind else ():
                if kind in MODEL_FILES:
                    yield from ((name, seed, folder / MODEL_FILES[kind]) for name, folder in trainings(path, need.recipe))
                else:
                    yield need.recipe, seed, path


def inputs(settings: Mapping[str, Any], files: Mapping[str, Any]) -> Inputs:
    """From plain values, as a rule passes them.

    settings: needs (the fields of Need, and `files`, how many it has), corpora and draws. files: needs, one list for all;
    tokens, a folder a corpus and reading; draws; published, cited, tokenizer and typology, a file or folder where there is one.
    """
    paths = iter(map(Path, files.get("needs", ())))
    needs = [Need(need["kind"], need["recipe"], tuple(need["seeds"])) for need in settings["needs"]]
    grouped = [[next(paths) for _ in range(need["files"])] for need in settings["needs"]]
    tokens = dict(zip(settings["corpora"], map(Path, files.get("tokens", ())), strict=True))
    tokenizer, typology = (next(map(Path, files.get(name, ())), None) for name in ("tokenizer", "typology"))
    published, cited = (next(map(Published.read, files.get(name, ())), None) for name in ("published", "cited"))
    draws = dict(zip(settings["draws"], map(Path, files.get("draws", ())), strict=True))
    return Inputs(needs, grouped, published or Published.empty(), tokens, draws, tokenizer, typology, cited)
