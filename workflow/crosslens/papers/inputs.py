"""Records, files and published values that the module of a table or figure reads."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.compute as pc

from crosslens.jobs import parquet, records
from crosslens.jobs.training_folders import training_runs
from crosslens.measures.shared.unseen import UNSEEN
from crosslens.reports.cells import Published
from crosslens.reports.paper import MODEL_FILES, Need


@dataclass(frozen=True)
class Inputs:
    """Inputs of a table or figure.

    needs: measures and model files that it needs.
    files: files of each need, one per seed or one for all seeds.
    published: the paper's printed values.
    tokens: corpus -> folder of its tokens, and CORPUS/TOKENISATION -> folder for each further tokenisation.
    samples: name of the samples -> folder.
    tokenizer, typology: folder and file; None if they are not read.
    cited: published values of another paper; None if none is cited.
    """

    needs: Sequence[Need]
    files: Sequence[Sequence[Path]]
    published: Published
    tokens: Mapping[str, Path]
    samples: Mapping[str, Path]
    tokenizer: Path | None = None
    typology: Path | None = None
    cited: Published | None = None
    unseen: bool = False  # whether to use scores on texts unseen in training, if there are any

    def records(self, *kinds: str) -> pd.DataFrame:
        """Records of these kinds of measures, or of all kinds if none is named."""
        rows = records.read(self._paths(kinds))
        is_unseen, definitions = rows["definition"].str.endswith(UNSEEN, na=False), rows["definition"].str.removesuffix(UNSEEN)
        columns = [name for name in rows if name not in ("value", "low", "high", "n")]
        return rows.assign(definition=definitions).drop_duplicates(columns, keep="last") if self.unseen else rows[~is_unseen]

    def has_unseen(self) -> bool:
        """Whether any record is a score on texts unseen in training."""
        scored = (path for path in self._paths() if "definition" in parquet.schema(path).names)  # not all measures have it
        definitions = (parquet.read(path, columns=["definition"])["definition"] for path in scored)
        return any(pc.any(pc.ends_with(part, UNSEEN)).as_py() for part in definitions)

    def _paths(self, kinds: Collection[str] = ()) -> dict[Path, None]:
        """Files with records of these kinds of measures, by default of all kinds, without duplicates."""
        kinds = kinds or {need.kind for need in self.needs} - MODEL_FILES.keys()
        groups = (paths for need, paths in zip(self.needs, self.files, strict=True) if need.kind in kinds)
        return dict.fromkeys(path for paths in groups for path in paths)

    def by_seed(self, kind: str) -> Iterator[tuple[str, int, Path]]:
        """(recipe, seed, file) for a kind with one file per seed: a measure of hidden states, or a file of training runs."""
        for need, paths in zip(self.needs, self.files, strict=True):
            for seed, path in zip(need.seeds, paths, strict=True) if need.kind == kind else ():
                if kind in MODEL_FILES:
                    yield from ((name, seed, folder / MODEL_FILES[kind]) for name, folder in training_runs(path, need.recipe))
                else:
                    yield need.recipe, seed, path


def with_unseen(table: Callable[..., pd.DataFrame], item: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Return a table in which each line is followed by the score on texts unseen in training, if that differs."""
    cells = table(item, inputs, settings)
    if not inputs.has_unseen():
        return cells
    further = table(item, replace(inputs, unseen=True), settings)
    names = ["row", "column", "metric", "definition", "here", "n"]
    further = further[~pd.concat([cells, further]).duplicated(names).to_numpy()[len(cells) :]]
    further = further.assign(definition=further["definition"] + UNSEEN, published=None, difference=None)
    return pd.concat([cells, further]).sort_index(kind="stable", ignore_index=True) if len(further) else cells


def inputs(settings: Mapping[str, Any], files: Mapping[str, Any]) -> Inputs:
    """Inputs of a table or figure from the plain values that a rule passes.

    settings: `needs`, each with the fields of Need and `files`, the number of its files; `corpora` and `samples`, their names.
    files: `needs`, one list with the files of all needs; `tokens`, a folder for each of `corpora`; `samples`, a folder for each
    of `samples`; `published`, `cited`, `tokenizer` and `typology`, each a list of at most one file or folder.
    """
    paths = iter(map(Path, files.get("needs", ())))
    needs = [Need(need["kind"], need["recipe"], tuple(need["seeds"])) for need in settings["needs"]]
    grouped = [[next(paths) for _ in range(need["files"])] for need in settings["needs"]]
    tokens = dict(zip(settings["corpora"], map(Path, files.get("tokens", ())), strict=True))
    tokenizer, typology = (next(map(Path, files.get(name, ())), None) for name in ("tokenizer", "typology"))
    published, cited = (next(map(Published.read, files.get(name, ())), None) for name in ("published", "cited"))
    samples = dict(zip(settings["samples"], map(Path, files.get("samples", ())), strict=True))
    return Inputs(needs, grouped, published or Published.empty(), tokens, samples, tokenizer, typology, cited)
