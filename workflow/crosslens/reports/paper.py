"""Description of a paper, read by the rules. Imports here must be cheap, since every Snakemake call pays for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from crosslens.config.recipes import Recipe
    from crosslens.config.samples import Samples
    from crosslens.config.whole import Config

MODEL_FILES = {"record": "record.json", "history": "history.csv", "predictions": "predictions.parquet"}
"""Files of a training run that a table or figure may need in addition to measures: kind -> file."""


@dataclass(frozen=True)
class Need:
    """A measure, or a file, of some training runs that a table or figure reads.

    kind: kind of measure, or a key of MODEL_FILES.
    recipe: name of a recipe of any paper, or of the job that runs the trials of a search.
    seeds: seeds of the training runs.
    settings: settings of the measure; None: those that the recipe's paper states.
    """

    kind: str
    recipe: str
    seeds: tuple[int, ...]
    settings: Mapping[str, Any] | None = None


class Place(NamedTuple):
    """Place of a number in a table, printed or ours.

    definition: in our tables, how the number is computed; "" for the first definition that has a printed value.
    settings: in our tables, column -> value, to select one of the rows with names that begin with `row`, such as the trials of
    a search.
    """

    item: str
    row: str
    column: str
    metric: str
    definition: str = ""
    settings: Mapping[str, float] = {}


def same_place(cell: Place) -> Place | None:
    """The place of a printed cell itself, since most of our tables use the printed names; None for a number in the text."""
    return None if cell.item.startswith("text") else cell


@dataclass(frozen=True)
class TableOrFigure:
    """A table or a figure.

    title: name in the paper, such as Table 1.
    shows: one line that can be understood without the paper.
    caption: text for its page and the report, in Markdown.
    module: module in the paper's folder; its function `table` or `figure` makes the item.
    needs: measures and files of training runs that it reads.
    settings: plain values that the function gets in addition to the needs.
    corpora: keys of the corpora that it reads, as tokens.
    encoder, tokenisation: encoder and tokenisation of these tokens; None: the paper's.
    tokenisations: further tokenisations in which it reads the same corpora.
    cites: key of another paper; the item shows that paper's published values.
    typology: key of the typology corpus that it reads.
    samples: names of the samples that it reads.
    tokenizer: whether it reads the encoder's folder.
    weights: whether that folder must have the weights.
    decimals: decimals of the numbers on its page; None, for counts and hyperparameters: as they are.
    decides: definitions that its page shows in full together with the printed ones, not folded.
    searched: whether it shows a search; the training runs of a search do not belong to the tables.
    page: whether it has a page of the usual layout, and a place in the report.
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
    """A paper. Its functions take the whole configuration, and are called only if the paper is configured.

    key: name of its folder, and of its section in the configuration.
    about: citation and content, in Markdown, for pages and the report.
    headline: whether its tables and figures are at the top of the results, not in a folder named after the key.
    recipes: training runs by name; names begin with the key.
    trials: trials of searches, by the name of the job that runs them. A trial adds a last part to that name.
    seeds: seeds of a recipe.
    samples: sampled words or texts by name; names begin with the key.
    sampled: name of the samples for which the hidden states of a recipe's model are stored; None for none.
    measures: measures of a recipe, kind -> settings.
    items: tables and figures by name.
    place: place of a printed cell in our tables; None if they do not have it.
    names: values of $NAME in its claims file, for names of training runs and rows that differ by preset.
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
        """Path of a table or figure below the results, without extension: table2 or muller2021/table2."""
        return item if self.headline else f"{self.key}/{item}"
