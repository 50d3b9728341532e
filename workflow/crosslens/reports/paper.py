"""The description of a paper, data that the rules read. Imports here must be cheap: every Snakemake call pays for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from crosslens.config.recipes import Recipe
    from crosslens.config.samples import Samples
    from crosslens.config.whole import Config

MODEL_FILES = {"record": "record.json", "history": "history.csv", "predictions": "predictions.parquet"}
"""Files of a training itself that an item may need beside measures: kind -> file."""


@dataclass(frozen=True)
class Need:
    """A kind of measure, or one of MODEL_FILES, of a recipe or the trials of a job, over some seeds.

    recipe: of any paper; settings: of the measure; None, those that the paper of the recipe states.
    """

    kind: str
    recipe: str
    seeds: tuple[int, ...]
    settings: Mapping[str, Any] | None = None


class Place(NamedTuple):
    """Where a number stands in a table, printed or ours.

    Of ours: definition, by which it is computed, "" for the first that has a printed value beside it; settings, by column, that
    single out one of the rows whose names begin with `row`, such as a trial of a search.
    """

    item: str
    row: str
    column: str
    metric: str
    definition: str = ""
    settings: Mapping[str, float] = {}


def same_place(cell: Place) -> Place | None:
    """A printed cell's own place, since most tables of ours have the names of the printed ones; None of a number in the text."""
    return None if cell.item.startswith("text") else cell


@dataclass(frozen=True)
class TableOrFigure:
    """A table or a figure.

    title: as the paper calls it, such as Table 1; shows: a line that can be understood without the paper; caption: for its page
    and the report, in Markdown; module: of the paper's folder, whose function `table` or `figure` makes the item; settings: that
    the function gets beside the needs, as plain values; corpora: keys of the corpora whose tokens it reads; encoder,
    tokenisation: of these tokens; None, the paper's; tokenisations: further ones, under which it reads the same corpora; cites:
    key of another paper whose published values it shows; typology: key of the corpus of that kind that it reads; samples: names
    of the samples that it reads; tokenizer: whether it reads the encoder's folder, without weights or, if `weights`, with them;
    decimals: of the numbers on its page; None, as they are, for counts and hyperparameters; decides: definitions that its page
    shows beside the printed ones, not folded; searched: whether it shows a search, whose training runs do not belong to the
    tables; page: whether it has a page of the usual layout, and a place in the report.
    """

    form: Literal["table", "figure"]
    title: str
    shows: str
    caption: str
    module: str
    needs: tuple[Need, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    corpora: tuple[str, ...] = ()
    encoder: str | None = None
    tokenisation: str | None = None
    tokenisations: tuple[str, ...] = ()
    cites: str | None = None
    typology: str | None = None
    samples: tuple[str, ...] = ()
    tokenizer: bool = False
    weights: bool = False
    decimals: int | None = 1
    decides: tuple[str, ...] = ()
    searched: bool = False
    page: bool = True


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper. Its functions take the whole configuration; none is called where the paper is not configured.

    key: name of its folder and section; about: citation and content, for pages and the report, in Markdown; headline: whether
    its items lie at the top of the results, and not in a folder of its key; recipes: training runs by name, which begins with the
    key; trials: those of searches by the name of the job that they share; the name of a trial is that and a last part of its
    own; seeds: of a recipe; samples: words or texts by name, which begins with the key; sampled: name of the samples whose hidden
    states are stored for a recipe's model, None for none; measures: of a recipe, kind -> settings; items: by name; place: where
    our tables show a printed cell, None where none does; names: what $NAME stands for in its claims file, where names
    of training runs and rows differ by preset.
    """

    key: str
    about: str
    headline: bool = False
    recipes: Callable[[Config], Mapping[str, Recipe]]
    trials: Callable[[Config], Mapping[str, Sequence[Recipe]]] = lambda config: {}
    seeds: Callable[[Recipe, Config], tuple[int, ...]] = lambda recipe, config: tuple(config.seeds)
    samples: Callable[[Config], Mapping[str, Samples]] = lambda config: {}
    sampled: Callable[[Recipe, Config], str | None] = lambda recipe, config: None
    measures: Callable[[Recipe, Config], Mapping[str, Mapping[str, Any]]]
    items: Callable[[Config], Mapping[str, TableOrFigure]]
    place: Callable[[Place], Place | None] = same_place
    names: Callable[[Config], Mapping[str, str | float | list[int]]] = lambda config: {}

    def path(self, item: str) -> str:
        """Path of an item below the results, without its ending: table2, muller2021/table2."""
        return item if self.headline else f"{self.key}/{item}"
