"""The ledger of a paper, papers/PAPER/claims.yaml: what it claims, and which numbers decide that, as data (docs/claims.md).

Nothing imported here computes, since planning reads ledgers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from crosslens.config.base import Section, nearest
from crosslens.config.scales import read_yaml
from crosslens.runs.errors import DataError, short

SOURCES: dict[str, tuple[str, ...]] = {
    "table": ("row", "column", "metric", "definition"),
    "records": (
        "item", "seed", "task", "corpus", "language", "split", "layer", "subspace", "window", "x", "measure", "definition",
        "weight", "converged",
    ),
    "published": ("row", "column", "metric"),
}  # fmt: skip
"""Where numbers come from, and the columns by which they are selected there: the cells of a table (its name, with the key of its
paper before it where that is another one), the records of a measure, the printed cells of a table or figure."""
RECIPE, SELECTION = "recipe", "selection"
Kind = Literal["direction", "magnitude", "equality", "ranking", "existence", "correlation", "interpretation"]
Axis = str
Scalar = str | bool | int | float


def _several(value: Any) -> Any:
    """One entry as a list."""
    return value if isinstance(value, list) else [value]


Selector = str | dict[str, Scalar | list[Scalar] | None]
"""Columns and the values that they must have, or the name of one of the ledger's `selections`."""
Selectors = Annotated[list[Selector], BeforeValidator(_several)]


class Selection(NamedTuple):
    """Numbers of one source. values: by column, of which a number must have one; recipes: patterns of the names of the trainings
    that they are of: records are selected by them, of cells they are said, () of those that rest on no training.
    """

    source: str
    names: tuple[str, ...]  # of a table, or of several whose cells are taken together; of a measure, of a printed item
    values: Mapping[str, tuple[Scalar | None, ...]]
    recipes: tuple[str, ...] | None  # None: not said


class Region(Section):
    """Where an effect lies if the claim holds: above, below, between both, or so near to a number."""

    above: float | None = None
    below: float | None = None
    within: Annotated[float, Field(gt=0)] | None = None
    of: float = 0  # the number that it is within so much of

    @model_validator(mode="after")
    def _is_bounded(self) -> Region:
        if (self.within is None) == (self.above is None and self.below is None):
            raise ValueError("expected above, below or both, or within")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends; infinite where there is none."""
        if self.within is not None:
            return self.of - self.within, self.of + self.within
        return -math.inf if self.above is None else self.above, math.inf if self.below is None else self.below


class Effect(Section):
    """A number with an interval: the sum of some selections less that of others, or a function of the paper's claims.py."""

    name: str = ""
    of: Selector = {}  # what all selections of the effect share
    plus: Selectors = []
    minus: Selectors = []
    order: list[Selector] = []  # instead: an effect for each two neighbours, the first less the second
    x: Selector | None = None  # instead, with y: a correlation over the units of `over`, or
    y: Selector | None = None
    points: list[Selector] = []  # over these, each with x and with y
    function: str | None = None  # instead: of papers/PAPER/claims.py, called with the numbers that it `reads`, and settings
    reads: Selectors = []
    settings: dict[str, Any] = {}
    over: Axis = "seed"  # what varies: seed, text, language, another column, or none of a number that is exact
    by: Axis | None = None  # an effect for each value of a column
    languages: Literal["row", "column", "item"] | None = None  # their column, where the first that has any is not meant
    without: Annotated[list[str], BeforeValidator(_several)] = []  # units of `over` and `by` that do not count
    scale: float = 100  # of records
    score: bool = True  # whether the selections are from 0 to 100
    ranks: bool = False  # whether a correlation is of ranks
    least: Annotated[int, Field(ge=4)] = 8  # units of a correlation
    expected: Region | None = None  # None: the claim's
    optional: bool = False  # whether the claim is decided without it where a scale has none of its trainings, or no such cell

    @model_validator(mode="after")
    def _is_one_thing(self) -> Effect:
        ways = [bool(self.plus), bool(self.order), bool(self.x and self.y), bool(self.function)]
        if sum(ways) != 1:
            raise ValueError("expected one of plus, order, x with y, or function")
        if self.order and len(self.order) < 2:
            raise ValueError("order: expected two or more selections")
        return self

    def selectors(self) -> Iterator[tuple[str, Selector]]:
        """All of its selections, by their place."""
        for place in ("plus", "minus", "order", "reads"):
            yield from ((place, selector) for selector in getattr(self, place))
        for place in ("x", "y") if self.x is not None else ():
            yield from ((place, selector) for selector in self.points or [getattr(self, place)])

    def shared(self, place: str) -> Selector:
        """What the selections of a place share."""
        return getattr(self, place) if self.points and place in ("x", "y") else self.of


Effects = Annotated[list[Effect], BeforeValidator(_several)]


class Control(Effect):
    """An effect that must not be there: its interval must not lie where that of the claim does."""

    says: str  # what it shows, after "control: "


class Printed(Section):
    """What the paper printed of a claim. effect: of the same definition as the effect's, where there is one."""

    text: str
    holds: Literal["in full", "in part", "not"] | None = None  # whether the claim follows from the print; None: it cannot be told
    effect: float | None = None


class Claim(Section):
    """A claim, what decides it, and what would show that the effect is of something else."""

    says: str
    where: str  # section, table or figure of the paper
    kind: Kind
    central: bool = False
    printed: Printed | None = None
    unit: str  # what it generalises over
    items: list[str] = []  # tables and figures that decide it, where they are not those whose cells it reads
    effect: Effects = []
    expected: Region | None = None
    at_least: Annotated[int, Field(ge=1)] | None = None  # effects that must be as expected; None: all
    control: Annotated[list[Control], BeforeValidator(_several)] = []
    rests_on: list[str] = []  # claims that an interpretation points to
    note: str = ""  # what limits it

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
                raise ValueError("effect: expected x and y of a correlation, and of nothing else")
        return self


class Learned(Section):
    """What trainings must exceed to count as having learned: the score `of` each selection, above some levels.

    above: name of a level -> a number, or the selection that has it, of the same score.
    """

    selections: Annotated[list[str], Field(min_length=1)]
    of: Selector
    above: dict[str, float | Selector]
    over: Axis = "seed"
    scale: float = 100


class Ledger(Section):
    """What a paper claims."""

    selections: dict[str, dict[str, Scalar | list[Scalar] | None]] = {}
    learned: list[Learned] = []
    claims: dict[Annotated[str, Field(pattern=r"^c\d+[a-z]?$")], Claim]

    @model_validator(mode="after")
    def _selects_what_there_is(self) -> Ledger:
        for place, of, selector in self._selected():
            try:
                self.selection(of, selector)
            except ValueError as error:
                raise ValueError(f"{place}: {error}") from None
        for key, claim in self.claims.items():
            for other in claim.rests_on:
                if other not in self.claims:
                    raise ValueError(f"claims.{key}.rests_on: expected a claim, found '{other}'{nearest(other, self.claims)}")
        return self

    def selection(self, of: Selector, selector: Selector) -> Selection:
        """Both together, of which the second has the last word. Raises ValueError for what no source has."""
        values = {**self._spelled(of), **self._spelled(selector)}
        sources = [source for source in SOURCES if source in values]
        if len(sources) != 1:
            raise ValueError(f"expected one of {', '.join(SOURCES)}, found {', '.join(sources) or 'none'}")
        name, recipes = values.pop(sources[0]), values.pop(RECIPE, False)
        columns = SOURCES[sources[0]]
        for column in values:
            if column not in columns:
                raise ValueError(f"unknown column '{column}', expected {', '.join(columns)}{nearest(column, columns)}")
        chosen = {column: tuple(_several(value)) for column, value in values.items()}
        return Selection(
            sources[0],
            tuple(map(str, _several(name))),
            chosen,
            None if recipes is False else tuple(map(str, _several(recipes) if recipes else ())),
        )

    def sources(self, claim: Claim) -> list[Selection]:
        """The selections of a claim's effects."""
        chosen = [(effect.shared(place), selector) for effect in claim.effect for place, selector in effect.selectors()]
        return [self.selection(of, selector) for of, selector in chosen]

    def items(self, claim: Claim) -> list[str]:
        """Tables and figures that decide a claim: those that it names, or whose cells it reads, of this scale or printed ones."""
        return claim.items or [name for source in self.sources(claim) if source.source != "records" for name in source.names]

    def _spelled(self, selector: Selector) -> dict[str, Any]:
        """A selector with its named selection written out."""
        values: dict[str, Any] = {SELECTION: selector} if isinstance(selector, str) else dict(selector)
        if (name := values.pop(SELECTION, None)) is None:
            return values
        if name not in self.selections:
            raise ValueError(f"unknown selection {short(name)}{nearest(name, self.selections)}")
        return {**self.selections[name], **values}

    def _selected(self) -> Iterator[tuple[str, Selector, Selector]]:
        """All selections by their place, with what each shares with others."""
        for key, claim in self.claims.items():
            for part, effects in (("effect", claim.effect), ("control", claim.control)):
                for effect in effects:
                    for place, selector in effect.selectors():
                        yield f"claims.{key}.{part}.{place}", effect.shared(place), selector
        for number, learned in enumerate(self.learned):
            levels = [level for level in learned.above.values() if not isinstance(level, int | float)]
            for selector in (*learned.selections, *levels):
                yield f"learned.{number}", learned.of, selector

    def read(self) -> Iterator[Selection]:
        """All selections, of claims that functions decide none."""
        for _, of, selector in self._selected():
            yield self.selection(of, selector)


def read_ledger(file: Path, names: Mapping[str, Scalar] = {}) -> Ledger:
    """The ledger in a file. Raises DataError, one line that names file and key.

    names: what $NAME stands for in it, see Paper.names; one that is not among them stays as it is, and selects nothing.
    """
    try:
        return Ledger.model_validate(_filled(read_yaml(file), names))
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        known = {name for section in (Ledger, Claim, Effect, Control, Region, Printed, Learned) for name in section.model_fields}
        match problem["type"]:
            case "extra_forbidden":
                text = f"unknown key{nearest(problem['loc'][-1], known)}"
            case "missing":
                text = "expected a value, found none"
            case "value_error":
                text = str(problem["ctx"]["error"])
            case _:
                text = f"{problem['msg'][0].lower()}{problem['msg'][1:]}, found {short(problem['input'])}"
        raise DataError(": ".join(filter(None, (str(file), place, text)))) from None


def _filled(value: Any, names: Mapping[str, Scalar]) -> Any:
    """A value of a ledger with $NAMEs filled in: as they are where they stand alone, else as text."""
    if isinstance(value, dict):
        return {key: _filled(of_key, names) for key, of_key in value.items()}
    if isinstance(value, list):
        return [_filled(entry, names) for entry in value]
    if not isinstance(value, str) or "$" not in value:
        return value
    return names[value[1:]] if value[1:] in names else Template(value).safe_substitute(names)
