"""The claims file of a paper, papers/PAPER/claims.yaml: its claims, and the numbers that decide them, as data (docs/claims.md).

Nothing that computes is imported here, since planning reads claims files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
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
RECIPE, SELECTION, SHARED = "recipe", "selection", "shared"
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
    shared: share of their data that seeds have in common.
    """

    source: str
    names: tuple[str, ...]
    values: Mapping[str, tuple[Scalar | None, ...]]
    recipes: tuple[str, ...] | None
    shared: float = 0.0


class Region(Section):
    """Region in which an effect lies if the claim holds: `above 0`, `below 5`, `within 1`, `within 0.2 of 1`."""

    above: float | None = None
    below: float | None = None
    within: Annotated[float, Field(gt=0)] | None = None  # largest distance from the number `of`
    of: float = 0

    @model_validator(mode="before")
    @classmethod
    def _from_words(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        words = value.replace("−", "-").split()
        try:
            return dict(zip(words[::2], map(float, words[1::2]), strict=True))
        except ValueError:
            raise ValueError(f"expected words such as 'above 0' or 'within 1 of 5', found {short(value)}") from None

    @model_validator(mode="after")
    def _is_one_side_or_a_margin(self) -> Region:
        if sum(end is not None for end in (self.above, self.below, self.within)) != 1:
            raise ValueError("expected one of above, below and within")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end of the region; infinite where there is none."""
        if self.within is not None:
            return self.of - self.within, self.of + self.within
        return -math.inf if self.above is None else self.above, math.inf if self.below is None else self.below

    @property
    def side(self) -> int:
        """1 where larger effects are claimed, -1 where smaller ones are, 0 where the effect is claimed to be near a number."""
        return 0 if self.within is not None else 1 if self.above is not None else -1

    def __str__(self) -> str:
        if self.within is not None:
            return f"within {self.within:g}" + f" of {self.of:g}" * bool(self.of)
        return (f"above {self.above:g}" if self.above is not None else f"below {self.below:g}").replace("-", "−")


class Effect(Section):
    """A number with an interval, in one of three ways.

    It is the sum of the selections in `plus` less the sum of those in `minus`; or the correlation of `x` with `y`; or the result
    of a function of papers/PAPER/claims.py.
    """

    name: str = ""
    of: Selector = {}  # columns and values that all selections of the effect share
    plus: Selectors = []
    minus: Selectors = []
    x: Selector | None = None
    y: Selector | None = None
    function: str | None = None  # its arguments are the numbers of the selections in `reads`, and `settings` by keyword
    reads: Selectors = []
    settings: dict[str, Any] = {}
    over: Axis = "seed"  # what varies: seed, text, language or another column; "none" for an exact number
    by: Axis | None = None  # column, for each of whose values there is an effect
    without: Annotated[list[str], BeforeValidator(_as_list)] = []  # values of `over` and `by` that are left out
    scale: float = 100  # factor by which records are multiplied
    score: bool = True  # whether the selected numbers are scores from 0 to 100
    ranks: bool = False  # whether the correlation is one of ranks
    least: Annotated[int, Field(ge=4)] = 8  # fewest units of a correlation that is decided
    claimed: Region | None = None  # None: the region that the claim states
    optional: bool = False  # whether the effect is left out where a scale has none of its training runs, or no such cell

    @model_validator(mode="after")
    def _is_one_thing(self) -> Effect:
        if sum([bool(self.plus), bool(self.x and self.y), bool(self.function)]) != 1:
            raise ValueError("expected one of plus, x with y, or function")
        return self

    def selectors(self) -> Iterator[tuple[str, Selector]]:
        """All selections of the effect, each after the key that it stands under."""
        for place in ("plus", "minus", "reads"):
            yield from ((place, selector) for selector in getattr(self, place))
        if self.x is not None and self.y is not None:
            yield from (("x", self.x), ("y", self.y))


def _for_each(value: Any) -> list[Any]:
    """Entries of a list, where one with the key `each` stands for several: one for each of its rows, or each combination of its
    values, in which $NAME stands for the value of that name.
    """
    entries = []
    for entry in _as_list(value):
        each = entry.get("each") if isinstance(entry, dict) else None
        rows = [dict(zip(each, values, strict=True)) for values in product(*each.values())] if isinstance(each, dict) else each
        rest = {key: part for key, part in entry.items() if key != "each"} if each else entry
        entries += [_fill_in(rest, row) for row in rows] if rows else [entry]
    return entries


Effects = Annotated[list[Effect], BeforeValidator(_for_each)]


class Control(Effect):
    """An effect that must be absent if the claim holds, or else smaller than the claim's.

    It belongs to the effect of the same name, or else to the claim's least certain one.
    """

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
    central: bool = False
    printed: Printed | None = None
    items: list[str] = []  # tables and figures that decide the claim; if none, those whose cells it reads
    effect: Effects = []
    claimed: Region | None = None
    at_least: Annotated[int, Field(ge=1)] | None = None  # number of effects, or of claims, that must be as claimed; None: all
    control: Annotated[list[Control], BeforeValidator(_for_each)] = []
    follows_from: list[str] = []  # claims that imply this one, which has no effect of its own
    rests_on: list[str] = []  # claims that an interpretation points to
    note: str = ""  # limits of the evidence

    @model_validator(mode="after")
    def _has_effects_with_regions(self) -> Claim:
        if self.effect and (self.follows_from or self.rests_on):
            raise ValueError("effect: expected none where the claim follows from others, or rests on them as an interpretation")
        if not (self.effect or self.follows_from or self.rests_on or self.note):
            raise ValueError("effect: expected one, or a note that says why there is none")
        if any(effect.claimed is None and self.claimed is None for effect in self.effect):
            raise ValueError("claimed: expected above, below or within, here or in each effect")
        return self


class Learned(Section):
    """Levels that the score of a training must exceed for the training run to count as having learned."""

    selections: Annotated[list[str], Field(min_length=1)]  # names of the training runs' selections
    of: Selector  # the score
    says: str = "its score"  # what the score is, as the subject of a sentence
    above: dict[str, float | Selector]  # name of a level -> a number, or the selection whose score is the level
    over: Axis = "seed"
    scale: float = 100


def _named_for_each(value: Any) -> Any:
    """Selections by name, where one with the key `each` stands for several (`_for_each`), whose names have $NAME in them, too."""
    if not isinstance(value, dict):
        return value
    entries = [entry for name, fields in value.items() for entry in _for_each({"name": name} | (fields or {}))]
    return {entry["name"]: {key: part for key, part in entry.items() if key != "name"} for entry in entries}


class ClaimsFile(Section):
    """All claims of a paper."""

    selections: Annotated[dict[str, dict[str, Scalar | list[Scalar] | None]], BeforeValidator(_named_for_each)] = {}
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
            for premise in (*claim.rests_on, *claim.follows_from):
                if premise not in self.claims or premise == key:
                    raise ValueError(f"claims.{key}: expected a claim, found '{premise}'{nearest(premise, self.claims)}")
        return self

    def selection(self, common: Selector, selector: Selector) -> Selection:
        """The selection by two selectors together; where both name a column, the value in `selector` counts.

        Raises ValueError where they name no source, several sources, or a column that the source does not have.
        """
        values = {**self._expanded(common), **self._expanded(selector)}
        sources = [source for source in SOURCES if source in values]
        if len(sources) != 1:
            raise ValueError(f"expected one of {', '.join(SOURCES)}, found {', '.join(sources) or 'none'}")
        name, recipes, shared = values.pop(sources[0]), values.pop(RECIPE, False), values.pop(SHARED, 0.0)
        columns = SOURCES[sources[0]]
        for column in values:
            if column not in columns:
                raise ValueError(f"unknown column '{column}', expected {', '.join(columns)}{nearest(column, columns)}")
        return Selection(
            sources[0],
            tuple(map(str, _as_list(name))),
            {column: tuple(_as_list(value)) for column, value in values.items()},
            None if recipes is False else tuple(map(str, _as_list(recipes) if recipes else ())),
            shared,
        )

    def sources(self, effects: Iterable[Effect]) -> list[Selection]:
        """Selections of all numbers that some effects are made of."""
        return [self.selection(effect.of, selector) for effect in effects for _, selector in effect.selectors()]

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
                        yield f"claims.{key}.{part}.{place}", effect.of, selector
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
