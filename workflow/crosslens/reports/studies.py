"""The configured studies: training runs, samples, measures, tables and figures of all papers, by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from crosslens.config.base import nearest
from crosslens.config.recipes import Recipe
from crosslens.config.samples import Samples
from crosslens.config.whole import Config
from crosslens.jobs.errors import DataError
from crosslens.measures.kinds import KINDS, expected_settings, kind_of, read_corpora
from crosslens.reports.paper import MODEL_FILES, Need, Paper, TableOrFigure

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Studies:
    """The papers of a configuration, with their training runs, measures, tables and figures.

    A measure of a recipe is named after its kind. If a table, a figure or the configuration states settings of its own, the
    name is KIND@ASKER. ASKER is the key of the paper that asks for the measure, or the measure's name in the configuration.
    """

    config: Config
    listed: Sequence[Paper]  # also papers that are not configured

    @cached_property
    def papers(self) -> list[Paper]:
        """The configured papers."""
        return [paper for paper in self.listed if self.config.paper(paper.key)]

    @cached_property
    def recipes(self) -> dict[str, tuple[Paper, Recipe]]:
        """Training runs by name, with their papers."""
        return {name: (paper, recipe) for paper in self.papers for name, recipe in paper.recipes(self.config).items()}

    @cached_property
    def trials(self) -> dict[str, tuple[Paper, Sequence[Recipe]]]:
        """Trials of searches by the name of the job that runs them, with their papers."""
        return {name: (paper, trials) for paper in self.papers for name, trials in paper.trials(self.config).items()}

    @cached_property
    def samples(self) -> dict[str, Samples]:
        """Sampled words and texts by name."""
        return {name: samples for paper in self.papers for name, samples in paper.samples(self.config).items()}

    @cached_property
    def items(self) -> dict[str, tuple[Paper, str, TableOrFigure]]:
        """Tables and figures by their place below the results (table2, muller2021/table2), with their papers and names."""
        return {paper.path(name): (paper, name, item) for paper in self.papers for name, item in paper.items(self.config).items()}

    def recipe(self, name: str) -> tuple[Paper, Recipe]:
        """Paper and recipe by name. A job of several trials gives the first, since all are read and measured alike.

        Raises DataError for an unknown name.
        """
        if name in self.trials:
            paper, (first, *_) = self.trials[name]
            return paper, first
        if name not in self.recipes:
            names = [*self.recipes, *self.trials]
            raise DataError(f"{name}: expected the name of a configured recipe{nearest(name, names)}")
        return self.recipes[name]

    def seeds(self, name: str) -> tuple[int, ...]:
        """Seeds of a recipe."""
        paper, recipe = self.recipe(name)
        return paper.seeds(recipe, self.config)

    def sampled(self, name: str) -> str | None:
        """Name of the samples for which the hidden states of a recipe's model are stored; None if there are none."""
        paper, recipe = self.recipe(name)
        return paper.sampled(recipe, self.config)

    def measure(self, asker: str, need: Need) -> str:
        """Name of the measure that a need asks for: KIND@ASKER if its settings differ from the recipe's paper, else KIND.

        asker: key of the paper that asks for it. Raises DataError for an unknown kind or recipe.
        """
        if need.kind not in KINDS:
            raise DataError(
                f"{asker}: Need: expected a kind of measure, a line of workflow/crosslens/measures/kinds.py, found "
                f"'{need.kind}'{nearest(need.kind, [*KINDS, *MODEL_FILES])}"
            )
        return need.kind if need.settings in (None, self._usual(need.recipe).get(need.kind)) else f"{need.kind}@{asker}"

    def settings(self, measure: str, recipe: str) -> Settings:
        """Settings of a measure of a recipe. Raises DataError if none are stated, or if they are not those of its kind."""
        settings = self._requested.get((measure, recipe)) if "@" in measure else self._usual(recipe).get(measure)
        if settings is None:
            usual = ", ".join(self._usual(recipe)) or "none"
            raise DataError(
                f"measures/{measure}/{recipe}: expected a measure whose settings the paper of the recipe states ({usual}); "
                "else state them where it is asked for: Need(kind, recipe, seeds, settings), or `measures` of the configuration"
            )
        self._check(measure, recipe, settings)
        return settings

    def _check(self, measure: str, recipe: str, settings: Settings) -> None:
        """Raise DataError if settings are not those of the kind, or name a corpus that the recipe's samples do not have."""
        kind, here = measure.partition("@")[0], f"measures/{measure}/{recipe}"
        expected = expected_settings(kind)
        if unknown := [name for name in settings if name not in expected]:
            names, near = ", ".join(expected) or "none", nearest(unknown[0], expected)
            raise DataError(f"{here}: expected settings of {kind}, {names}, found '{unknown[0]}'{near}")
        if missing := [name for name, needed in expected.items() if needed and name not in settings]:
            raise DataError(f"{here}: expected a value of {', '.join(missing)} too, for which {kind} has no default")
        samples = self.sampled(recipe) if kind_of(measure).source in ("states", "samples") else None
        if samples is None:
            return
        sampled_corpora = self.samples[samples].corpora
        for corpus, setting in read_corpora(settings, self.config.corpora).items():
            if corpus not in sampled_corpora:
                raise DataError(
                    f"{here}: {setting}: expected a corpus that is drawn for the states of this recipe, "
                    f"{' or '.join(sampled_corpora)}, found '{corpus}'{nearest(corpus, sampled_corpora)}"
                )

    def _usual(self, name: str) -> Mapping[str, Settings]:
        """Settings of measures by kind, as the paper of a recipe states them. name: name of the recipe."""
        paper, recipe = self.recipe(name)
        return paper.measures(recipe, self.config)

    @cached_property
    def _requested(self) -> dict[tuple[str, str], Settings]:
        """Settings that tables, figures or the configuration state for measures of their own, by measure and recipe.

        Raises DataError if a paper states different ones for the same measure, or if the configuration names an unknown kind or
        recipe.
        """
        settings_by_measure: dict[tuple[str, str], Settings] = {}
        for paper, _, item in self.items.values():
            for need in item.needs:
                name = self.measure(paper.key, need) if need.kind in KINDS else need.kind
                if "@" in name and settings_by_measure.setdefault((name, need.recipe), need.settings or {}) != need.settings:
                    raise DataError(
                        f"{paper.key}: expected the same settings of {need.kind} of {need.recipe} in all items, found others: "
                        "make one measure of both, or a kind of its own"
                    )
        for key, request in self.config.measures.items():
            if request.kind not in KINDS:
                near = nearest(request.kind, KINDS)
                raise DataError(f"measures.{key}.kind: expected one of {', '.join(KINDS)}, found '{request.kind}'{near}")
            self.recipe(request.recipe)
            settings_by_measure[f"{request.kind}@{key}", request.recipe] = request.settings
        return settings_by_measure
