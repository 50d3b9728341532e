"""The claims file of a paper, papers/PAPER/claims.yaml: its claims, and the numbers that decide them, as data (docs/claims.md).

Nothing that computes is imported here, since planning reads claims files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from crosslens.config.base import Section, nearest
from crosslens.config.presets import read_yaml
from crosslens.jobs.errors import DataError, short

SOURCES: dict[str, tuple[str, ...]] = {
    "table": ("row", "column", "metric", "definition"),
    "records": (
        "item", "seed", "task", "corpus", "language", "split", "layer", "subspace", "window", "x", "measure", "definition",
        "weight", "converged",
    ),
    "published": ("row", "column", "metric"),
}  # fmt: skip
"""Source of numbers -> columns by which they are selected. Sources are cells of our tables, records of measures, and printed
cells of tables or figures. The name of a table of another paper begins with the key of that paper: wu2019/table6."""
RECIPE, SELECTION = "recipe", "selection"
Kind = Literal["direction", "magnitude", "equality", "ranking", "existence", "correlation", "interpretation"]
Axis = str
Scalar = str | bool | int | float


def _as_list(value: Any) -> Any:
    """A list, which a single entry becomes too."""
    return value if isinstance(value, list) else [value]


Selector = str | dict[str, Scalar | list[Scalar] | None]
"""Column -> value or values that it must have; or the name of one of the claims file's `selections`."""
Selectors = Annotated[list[Selector], BeforeValidator(_as_list)]


class Selection(NamedTuple):
    """Numbers of one source, selected by the values of its columns.

    source: a key of SOURCES.
    names: names of tables or figures, whose cells are taken together, or of measures.
    values: column -> values, of which a number must have one.
    recipes: patterns of the names of the training runs that the numbers rest on. Records are selected by them. For cells they are
    only stated, since a table does not say which training a cell is of; () where there is none, None where the claims file is
    silent.
    """

    source: str
    names: tuple[str, ...]
    values: Mapping[str, tuple[Scalar | None, ...]]
    recipes: tuple[str, ...] | None


class Region(Section):
    """Region in which an effect lies if the claim holds: above a number, below one, between two, or near one."""

    above: float | None = None
    below: float | None = None
    within: Annotated[float, Field(gt=0)] | None = None  # largest distance from the number `of`
    of: float = 0

    @model_validator(mode="after")
    def _is_bounded(self) -> Region:
        if (self.within is None) == (self.above is None and self.below is None):
            raise ValueError("expected above, below or both, or within")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end of the region; infinite where there is none."""
        if self.within is not None:
            return self.of - self.within, self.of + self.within
        return -math.inf if self.above is None else self.above, math.inf if self.below is None else self.below


class Effect(Section):
    """A number with an interval, in one of four ways.

    It is the sum of the selections in `plus` less the sum of those in `minus`; or, for each two neighbours in `order`, the first
    less the second; or the correlation of `x` with `y`; or the result of a function of papers/PAPER/claims.py.
    """

    name: str = ""
    of: Selector = {}  # columns and values that all selections of the effect share
    plus: Selectors = []
    minus: Selectors = []
    order: list[Selector] = []
    x: Selector | None = None
    y: Selector | None = None
    points: list[Selector] = []  # units of a correlation, such as models; none: the units of `over`
    function: str | None = None  # its arguments are the numbers of the selections in `reads`, and `settings` by keyword
    reads: Selectors = []
    settings: dict[str, Any] = {}
    over: Axis = "seed"  # what varies: seed, text, language or another column; "none" for an exact number
    by: Axis | None = None  # column, for each of whose values there is an effect
    languages: Literal["row", "column", "item"] | None = None  # column with the languages; None: the first that has any
    without: Annotated[list[str], BeforeValidator(_as_list)] = []  # values of `over` and `by` that are left out
    scale: float = 100  # factor by which records are multiplied
    score: bool = True  # whether the selected numbers are scores from 0 to 100
    ranks: bool = False  # whether the correlation is one of ranks
    least: Annotated[int, Field(ge=4)] = 8  # fewest units of a correlation that is decided
    expected: Region | None = None  # None: the region that the claim states
    optional: bool = False  # whether the effect is left out where a scale has none of its training runs, or no such cell

    @model_validator(mode="after")
    def _is_one_thing(self) -> Effect:
        ways = [bool(self.plus), bool(self.order), bool(self.x and self.y), bool(self.function)]
        if sum(ways) != 1:
            raise ValueError("expected one of plus, order, x with y, or function")
        if self.order and len(self.order) < 2:
            raise ValueError("order: expected two or more selections")
        return self

    def selectors(self) -> Iterator[tuple[str, Selector]]:
        """All selections of the effect, each after the key that it stands under."""
        for place in ("plus", "minus", "order", "reads"):
            yield from ((place, selector) for selector in getattr(self, place))
        for place in ("x", "y") if self.x is not None else ():
            yield from ((place, selector) for selector in self.points or [getattr(self, place)])

    def shared(self, place: str) -> Selector:
        """Columns and values that the selections under a key share."""
        return getattr(self, place) if self.points and place in ("x", "y") else self.of


Effects = Annotated[list[Effect], BeforeValidator(_as_list)]


class Control(Effect):
    """An effect that must be absent if the claim holds: its interval must not lie in the region that the claim expects."""

    says: str  # what it would show, as a clause: labels do not matter


class Printed(Section):
    """Printed evidence for a claim."""

    text: str
    holds: Literal["in full", "in part", "not"] | None = None  # whether the print supports the claim; None: unclear
    effect: float | None = None  # printed number of the same definition as the claim's effect


class Claim(Section):
    """A claim, the effects that decide it, and controls that would show that the effect has another cause."""

    says: str
    where: str  # section, table or figure of the paper
    kind: Kind
    central: bool = False
    printed: Printed | None = None
    unit: str  # units that the claim generalises over
    items: list[str] = []  # tables and figures that decide the claim; if none, those whose cells it reads
    effect: Effects = []
    expected: Region | None = None
    at_least: Annotated[int, Field(ge=1)] | None = None  # number of effects that must be as expected; None: all
    control: Annotated[list[Control], BeforeValidator(_as_list)] = []
    rests_on: list[str] = []  # claims that an interpretation points to
    note: str = ""  # limits of the evidence

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Claim:
        if self.kind == "interpretation":
            if self.effect:
                raise ValueError("effect: expected none, since an interpretation is not decided; name claims in rests_on")
            return self
        if not self.effect and not self.note:
            raise ValueError("effect: expected one, or a note that says why there is none")
        for effect in self.effect:
            region = effect.expected or self.expected
            if region is None and not effect.order:
                raise ValueError("expected: expected above, below or within, here or in each effect")
            if self.kind == "equality" and region and math.inf in map(abs, region.ends):
                raise ValueError("expected: an equality needs a margin: within, or above and below")
            if (self.kind == "correlation") != (effect.x is not None) and not effect.function:
                raise ValueError("effect: expected x and y in a correlation, and in no other kind of claim")
        return self


class Learned(Section):
    """Levels that the score of a training must exceed for the training run to count as having learned."""

    selections: Annotated[list[str], Field(min_length=1)]  # names of the training runs' selections
    of: Selector  # the score
    says: str = "its score"  # what the score is, as the subject of a sentence
    above: dict[str, float | Selector]  # name of a level -> a number, or the selection whose score is the level
    over: Axis = "seed"
    scale: float = 100


class ClaimsFile(Section):
    """All claims of a paper."""

    selections: dict[str, dict[str, Scalar | list[Scalar] | None]] = {}
    learned: list[Learned] = []
    claims: dict[Annotated[str, Field(pattern=r"^c\d+[a-z]?$")], Claim]

    @model_validator(mode="after")
    def _selects_from_known_sources(self) -> ClaimsFile:
        for place, common, selector in self._selectors():
            try:
                self.selection(common, selector)
            except ValueError as error:
                raise ValueError(f"{place}: {error}") from None
        for key, claim in self.claims.items():
            for premise in claim.rests_on:
                if premise not in self.claims:
                    raise ValueError(f"claims.{key}.rests_on: expected a claim, found '{premise}'{nearest(premise, self.claims)}")
        return self

    def selection(self, common: Selector, selector: Selector) -> Selection:
        """The selection by two selectors together; where both name a column, the value in `selector` counts.

        Raises ValueError where they name no source, several sources, or a column that the source does not have.
        """
        values = {**self._expanded(common), **self._expanded(selector)}
        sources = [source for source in SOURCES if source in values]
        if len(sources) != 1:
            raise ValueError(f"expected one of {', '.join(SOURCES)}, found {', '.join(sources) or 'none'}")
        name, recipes = values.pop(sources[0]), values.pop(RECIPE, False)
        columns = SOURCES[sources[0]]
        for column in values:
            if column not in columns:
                raise ValueError(f"unknown column '{column}', expected {', '.join(columns)}{nearest(column, columns)}")
        return Selection(
            sources[0],
            tuple(map(str, _as_list(name))),
            {column: tuple(_as_list(value)) for column, value in values.items()},
            None if recipes is False else tuple(map(str, _as_list(recipes) if recipes else ())),
        )

    def sources(self, effects: Iterable[Effect]) -> list[Selection]:
        """Selections of all numbers that some effects are made of."""
        pairs = [(effect.shared(place), selector) for effect in effects for place, selector in effect.selectors()]
        return [self.selection(common, selector) for common, selector in pairs]

    def items(self, claim: Claim) -> list[str]:
        """Tables and figures that decide a claim: those that it names or, without any, those whose cells it reads."""
        sources = [source for source in self.sources(claim.effect) if source.source != "records"]
        return claim.items or [name for source in sources for name in source.names]

    def _expanded(self, selector: Selector) -> dict[str, Any]:
        """Columns and values of a selector, with those of the selection that it names."""
        values: dict[str, Any] = {SELECTION: selector} if isinstance(selector, str) else dict(selector)
        if (name := values.pop(SELECTION, None)) is None:
            return values
        if name not in self.selections:
            raise ValueError(f"unknown selection {short(name)}{nearest(name, self.selections)}")
        return {**self.selections[name], **values}

    def _selectors(self) -> Iterator[tuple[str, Selector, Selector]]:
        """Place in the claims file of each selector, the selector that it shares with its neighbours, and the selector itself."""
        for key, claim in self.claims.items():
            for part, effects in (("effect", claim.effect), ("control", claim.control)):
                for effect in effects:
                    for place, selector in effect.selectors():
                        yield f"claims.{key}.{part}.{place}", effect.shared(place), selector
        for number, learned in enumerate(self.learned):
            levels = [level for level in learned.above.values() if not isinstance(level, int | float)]
            for selector in (*learned.selections, *levels):
                yield f"learned.{number}", learned.of, selector

    def all_selections(self) -> Iterator[Selection]:
        """Selections of all effects and controls, and of the levels that training runs must exceed."""
        for _, common, selector in self._selectors():
            yield self.selection(common, selector)


def read_claims_file(file: Path, names: Mapping[str, Any] = {}) -> ClaimsFile:
    """The claims file in a file. Raises DataError, one line that names file and key.

    names: NAME -> value, or list of values, that $NAME stands for in the file, see Paper.names. A $NAME without a value stays as
    it is, and so selects nothing.
    """
    try:
        return ClaimsFile.model_validate(_fill_in(read_yaml(file), names))
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        keys = {
            name for section in (ClaimsFile, Claim, Effect, Control, Region, Printed, Learned) for name in section.model_fields
        }
        match problem["type"]:
            case "extra_forbidden":
                text = f"unknown key{nearest(problem['loc'][-1], keys)}"
            case "missing":
                text = "expected a value, found none"
            case "value_error":
                text = str(problem["ctx"]["error"])
            case _:
                text = f"{problem['msg'][0].lower()}{problem['msg'][1:]}, found {short(problem['input'])}"
        raise DataError(": ".join(filter(None, (str(file), place, text)))) from None


def _fill_in(value: Any, names: Mapping[str, Any]) -> Any:
    """A value of a claims file with each $NAME replaced by its value; within a text it becomes text, alone it keeps its type."""
    if isinstance(value, dict):
        return {key: _fill_in(entry, names) for key, entry in value.items()}
    if isinstance(value, list):
        return [_fill_in(entry, names) for entry in value]
    if not isinstance(value, str) or "$" not in value:
        return value
    return names[value[1:]] if value[1:] in names else Template(value).safe_substitute(names)
