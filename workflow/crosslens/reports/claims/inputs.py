"""Tables and records that decide the claims of a preset, and the training runs behind them. Used when a run is planned."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import reduce
from pathlib import Path
from typing import Any

from crosslens.config.base import nearest
from crosslens.config.recipes import Recipe
from crosslens.jobs.errors import DataError
from crosslens.measures.kinds import KINDS, kind_of
from crosslens.reports.about import About, Uses
from crosslens.reports.claims.claims_file import ClaimsFile, Selection
from crosslens.reports.paper import Paper


class Plan:
    """Tables, records and training runs of a preset, as claims files name them."""

    def __init__(self, about: About) -> None:
        self.about, self.studies, self.results = about, about.here, Path(about.config.results)

    def settings(self, paper: Paper, claims_file: ClaimsFile, texts: Sequence[str]) -> dict[str, Any]:
        """Settings for deciding the claims of a paper, as plain values.

        evidence: see `Plan.evidence`.
        texts: names of the claims file and, if there is one, of the table of printed cells.
        names: see `Plan.names`.
        study: citation and content of the paper.
        preset: name of the preset.
        encoders: name of a training run, or of a table that reads another encoder's folder than the paper's -> this encoder as
            text; "" -> the paper's encoder.
        apart: reasons why numbers are not comparable with the paper's.
        synthetic: whether all texts are those of the synthetic corpus.
        departures: one line on the seeds, languages and numbers of training texts that differ from the full study.
        items: name of a table or figure in the claims file -> its place below the results.
        report: place of the page of all tables and figures.
        """
        evidence = self.evidence(paper, claims_file)
        items = paper.items(self.studies.config)
        regular = [item for item in items.values() if not item.searched]
        names = [name for name in evidence["tables"] if self._place(paper, name)]
        facts = {name: fact for recipes in evidence["recipes"].values() for name, fact in recipes.items()}
        section = self.studies.config.paper(paper.key)
        uses = reduce(Uses.__or__, (self.about.uses(paper, item) for item in regular))
        return {
            "evidence": evidence,
            "texts": list(texts),
            "names": dict(self.names(paper)),
            "study": paper.about,
            "preset": self.about.preset,
            "encoders": {
                "": self.about.encoder(section.encoder) if section else "",
                **{name: self.about.encoder(fact["encoder"]) for name, fact in facts.items()},
                **{name: self.about.encoder(item.encoder) for name, item in items.items() if item.encoder},
            },
            "apart": self.about.apart(paper, uses),
            "synthetic": all(self.studies.config.corpora[key].sources() == {"synthetic"} for key in uses.corpora),
            "departures": self.about.departures(paper, uses),
            "items": {name: self._place(paper, name) for name in names},
            "report": paper.path("report"),
        }

    def names(self, paper: Paper) -> Mapping[str, Any]:
        """NAME -> value that replaces $NAME in the claims file of a paper; empty if the paper is not configured."""
        return paper.names(self.studies.config) if self.studies.config.paper(paper.key) else {}

    def evidence(self, paper: Paper, claims_file: ClaimsFile) -> dict[str, Any]:
        """Files of the tables and records that the claims of a paper read, and facts about its training runs.

        Raises DataError if the claims file reads a table that shows training runs but does not state which of them.

        tables: name of a table or figure in the claims file -> its file; None if the preset does not have it.
        records: measure -> recipe -> files that exist.
        recipes: pattern in the claims file -> name of a training run -> facts about it. `encoder` is the key of its encoder;
        `trained`, whether the run or its pretraining trains an encoder; `pretrainings`, the number of pretraining runs, None if
        the encoder is not pretrained here.
        """
        tables: dict[str, str | None] = {}
        records: dict[str, dict[str, list[str]]] = {}
        recipes: dict[str, dict[str, Any]] = {}
        for selection in claims_file.selections:
            for pattern in selection.recipes or ():
                recipes[pattern] = {name: self._recipe(recipe) for name, recipe in self._recipes(pattern)}
            if selection.source == "table":
                for name in selection.names:
                    place = self._place(paper, name)
                    tables[name] = place and f"{self.results}/{place}.csv"
                    self._check_recipes(paper, selection, place)
            elif selection.source == "records":
                names = [name for pattern in selection.recipes or () for name, _ in self._recipes(pattern)]
                for measure in selection.names:
                    records.setdefault(measure, {}).update({name: list(self._records(measure, name)) for name in names})
        figure = [claims_file.finding.figure] if claims_file.finding and claims_file.finding.figure else []
        for item in (*figure, *(item for claim in claims_file.claims.values() for item in claim.decided_by)):
            place = self._place(paper, item)
            is_figure = place and self.studies.items[place][2].form == "figure"
            tables.setdefault(item, place and f"{self.results}/{place}.{'svg' if is_figure else 'csv'}")
        return {"tables": tables, "records": records, "recipes": recipes}

    def _place(self, paper: Paper, name: str) -> str | None:
        """Place of a table or figure below the results, by its name in a claims file; None if the preset has none."""
        key, _, item = name.rpartition("/")
        owner = next((candidate for candidate in self.studies.papers if candidate.key == key), paper)
        place = owner.path(item)
        return place if place in self.studies.items else None

    def _check_recipes(self, paper: Paper, selection: Selection, place: str | None) -> None:
        """Raise DataError if a selection of cells does not state which of the table's training runs are behind them."""
        if place and selection.recipes is None:
            needs = self.studies.items[place][2].needs
            if any(trained(self.studies.recipe(need.recipe)[1]) for need in needs):
                raise DataError(
                    f"papers/{paper.key}/claims.yaml: {place} shows training runs: expected `recipe` beside "
                    f"{dict(selection.values)}: the training runs that the number rests on, or null for none"
                )

    def _recipes(self, pattern: str) -> Iterator[tuple[str, Recipe]]:
        """Names and recipes of training runs that match a pattern; a search that matches has the recipe of its first trial."""
        for name, (_, recipe) in self.studies.recipes.items():
            if fnmatchcase(name, pattern):
                yield name, recipe
        for name, (_, trials) in self.studies.trials.items():
            if fnmatchcase(name, pattern):
                yield name, trials[0]

    def _recipe(self, recipe: Recipe) -> dict[str, Any]:
        """Facts about a training run, see `Plan.evidence`."""
        pretrained = recipe.pretrained
        pretraining = self.studies.recipe(pretrained.recipe)[1] if pretrained else None
        return {
            "encoder": recipe.encoder,
            "trained": trained(recipe) or bool(pretraining and trained(pretraining)),
            "pretrainings": len(pretrained.seeds) if pretrained and pretraining and trained(pretraining) else None,
        }

    def _records(self, measure: str, recipe: str) -> Iterator[str]:
        """Existing files of a measure of a recipe."""
        kind = measure.partition("@")[0]
        if kind not in KINDS:
            raise DataError(f"records: expected one of {', '.join(KINDS)}, found '{measure}'"
                            f"{nearest(kind, KINDS)}")  # fmt: skip
        folder = self.results / "measures" / measure
        names = [f"{recipe}.parquet"]
        if kind_of(measure).by_seed:
            names = [f"{recipe}/seed{seed}.parquet" for seed in self.studies.seeds(recipe)]
        yield from (f"{folder}/{name}" for name in names if (folder / name).exists())


def trained(recipe: Recipe) -> bool:
    """Whether a recipe trains the weights of an encoder, so that another seed would give another encoder."""
    return recipe.trains_encoder() or recipe.static is not None


def evidence_files(evidence: Mapping[str, Any]) -> Iterator[Path]:
    """Files of the tables and records that the claims of a paper read, whether they exist or not."""
    yield from (Path(file) for file in evidence["tables"].values() if file)
    yield from (Path(file) for recipes in evidence["records"].values() for files in recipes.values() for file in files)
