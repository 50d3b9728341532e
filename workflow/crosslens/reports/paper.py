"""What a paper is: data that the rules read. Nothing imported here computes: every Snakemake call pays for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from crosslens.config.draws import Draws
    from crosslens.config.whole import Config
    from crosslens.recipes import Recipe

MODEL_FILES = {"record": "record.json", "history": "history.csv", "predictions": "predictions.parquet"}
"""What an item may need of a training itself, beside measures: kind -> file."""


@dataclass(frozen=True)
class Need:
    """What an item shows of one recipe, or of the trials of a job: a kind of measure, or one of MODEL_FILES, over some seeds.

    recipe: of any paper. settings: of the measure, where they are not those that the paper of the recipe states.
    """

    kind: str
    recipe: str
    seeds: tuple[int, ...]
    settings: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Item:
    """A table or a figure.

    module: of the paper's folder, whose function `table` or `figure` makes the item. settings: what decides it beside its needs,
    as plain values. corpora: keys of the corpora whose tokens it reads; encoder, reading: of these tokens, None: the paper's;
    readings: further ones, under which it reads the same corpora; cites: key of another paper whose published numbers it shows;
    typology: key of the corpus of that kind that it reads; draws: names of those that it reads. caption: for its page and the
    report, in Markdown.
    """

    form: Literal["table", "figure"]
    title: str  # as the paper calls it: Table 1
    shows: str  # in a line, without the paper at hand
    caption: str
    module: str
    needs: tuple[Need, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    corpora: tuple[str, ...] = ()
    encoder: str | None = None
    reading: str | None = None
    readings: tuple[str, ...] = ()
    cites: str | None = None
    typology: str | None = None
    draws: tuple[str, ...] = ()
    tokenizer: bool = False  # whether it reads what is known of the encoder without its weights
    decimals: int | None = 2  # of the numbers on its page; None: counts and hyperparameters, as they are
    searched: bool = False  # whether it shows a search, whose trainings are no part of the tables'


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper. Each function takes the whole configuration; none is called where the paper is not configured.

    recipes: trainings by name, which begins with the key. trials: those of searches, by the name of the job that they share; a
    trial's name is that and a last part of its own. seeds: of a recipe. draws: words or texts, by name, which begins with the
    key; drawn: the name of those whose hidden states are stored under a recipe's model. measures: of a recipe, kind -> settings.
    """

    key: str
    about: str  # citation and content, for pages and the report, in Markdown
    headline: bool = False  # its items lie at the top of the results, those of others in a folder of their key
    recipes: Callable[[Config], Mapping[str, Recipe]]
    trials: Callable[[Config], Mapping[str, Sequence[Recipe]]] = lambda config: {}
    seeds: Callable[[Recipe, Config], tuple[int, ...]] = lambda recipe, config: tuple(config.seeds)
    draws: Callable[[Config], Mapping[str, Draws]] = lambda config: {}
    drawn: Callable[[Recipe, Config], str | None] = lambda recipe, config: None
    measures: Callable[[Recipe, Config], Mapping[str, Mapping[str, Any]]]
    items: Callable[[Config], Mapping[str, Item]]

    def path(self, item: str) -> str:
        """An item's place below the results, without the ending: table2, muller2021/table2."""
        return item if self.headline else f"{self.key}/{item}"
