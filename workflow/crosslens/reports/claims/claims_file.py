"""The claims file of a paper, papers/PAPER/claims.yaml: its claims, and the numbers that decide them, as data (docs/claims.md).

Planning a run reads claims files, so this module imports nothing that computes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, InstanceOf, ValidationError, model_validator

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
"""Source of numbers -> columns by which they are selected.

The sources are cells of our tables, records of measures, and printed cells of tables or figures. The name of another paper's
table begins with the key of that paper: wu2019/table6.
"""
CORRELATION = "correlation"  # `function` of an effect that is the correlation of its two selections
Scalar = str | bool | int | float


def _as_list(value: Any) -> Any:
    """The value if it is a list, otherwise a list of the value alone."""
    return value if isinstance(value, list) else [value]


class Selection(NamedTuple):
    """Numbers of one source, selected by the values of its columns.

    source: a key of SOURCES.
    names: names of measures, or of tables or figures; the cells of several are pooled.
    values: column -> allowed values; a selected number has one of them in each column.
    recipes: patterns for the names of the training runs behind the numbers; () for none, None if the claims file does not say.
    They select records. They do not select cells, since a table does not say which training run a cell comes from.
    shared: share of the data that all seeds have in common, from 0 to below 1.
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
        """Lower and upper end of the region; infinite on an open side."""
        if self.within is not None:
            return self.of - self.within, self.of + self.within
        return -math.inf if self.above is None else self.above, math.inf if self.below is None else self.below

    @property
    def side(self) -> int:
        """Direction of the claim: 1 for an effect above a number, -1 for one below it, 0 for one near it."""
        return 0 if self.within is not None else 1 if self.above is not None else -1

    def __str__(self) -> str:
        if self.within is not None:
            return f"within {self.within:g}" + f" of {self.of:g}" * bool(self.of)
        return (f"above {self.above:g}" if self.above is not None else f"below {self.below:g}").replace("-", "−")


Selections = list[InstanceOf[Selection]]


class Effect(Section):
    """A number with an interval: the sum of the selections in `plus` minus those in `minus`, or the result of a function.

    A function is defined in papers/PAPER/claims.py, or is `correlation`, the correlation of two selections. In the file, a
    selection is the name of an entry of `selections`, or columns with their values; among these, `selection` has such names.
    The columns in `of` belong to all selections of the effect.
    """

    name: str = ""
    plus: Selections = []
    minus: Selections = []
    function: str | None = None
    reads: Selections = []  # selections that the function gets
    settings: dict[str, Any] = {}  # further arguments of the function, by keyword
    over: str = "seed"  # unit that varies: seed, text, restart, language or another column; "none" for an exact number
    by: str | None = None  # column; each of its values gives an effect
    without: Annotated[list[str], BeforeValidator(_as_list)] = []  # values of `over` and `by` that are left out
    score: bool = True  # whether the selected numbers are scores from 0 to 100
    ranks: bool = False  # whether to correlate ranks
    least: Annotated[int, Field(ge=4)] = 8  # a correlation over fewer units is not decided
    claimed: Region  # in the file, a claim may state it once for all its effects
    optional: bool = False  # whether to leave the effect out if a preset has none of its training runs, or no such cell

    @model_validator(mode="after")
    def _is_one_thing(self) -> Effect:
        if bool(self.plus) == bool(self.function):
            raise ValueError("expected one of plus and function")
        if self.function == CORRELATION and len(self.reads) != 2:
            raise ValueError("reads: expected two selections to correlate")
        return self

    @property
    def selections(self) -> Selections:
        """Selections of all numbers that the effect is computed from."""
        return [*self.plus, *self.minus, *self.reads]


class Control(Effect):
    """An effect that must be absent, or smaller than the claim's effect, if the claim holds.

    It belongs to the effect of the same name. Without one, it belongs to the effect at the same place if there are as many
    controls as effects, otherwise to the effect on which the verdict depends most.
    """

    says: str  # what the control would show, as a clause, such as: labels do not matter


class Printed(Section):
    """Printed evidence for a claim."""

    text: str
    holds: Literal["in full", "in part", "not"] | None = None  # whether printed numbers support the claim; None: unclear
    effect: float | None = None  # printed number with the same definition as the claim's effect


class Claim(Section):
    """A claim, the effects that decide it, and controls that would show that the effect has another cause.

    quantity: what its effects measure, in words: quantity and unit, what is subtracted from what, on which texts and layers.
    """

    says: str
    quantity: str = ""
    where: str  # section, table or figure of the paper
    printed: Printed = Printed(text="not printed")
    items: list[str] = []  # tables and figures that decide the claim; if empty, all that it reads cells of
    effect: list[Effect] = []
    at_least: Annotated[int, Field(ge=1)] | None = None  # number of effects, or of premises, that must be as claimed; None: all
    control: list[Control] = []
    follows_from: list[str] = []  # premises: claims that imply this one, which has no effect of its own
    rests_on: list[str] = []  # claims on which this one, an interpretation, rests
    note: str = ""  # limits of the evidence

    @model_validator(mode="after")
    def _has_effects_with_regions(self) -> Claim:
        if self.effect and (self.follows_from or self.rests_on):
            raise ValueError("effect: expected none where the claim follows from others, or rests on them as an interpretation")
        names = [effect.name for effect in self.effect if not effect.by]
        if len({*names}) < len(names):
            raise ValueError("effect: expected a name of its own for each of several effects")
        if not (self.effect or self.follows_from or self.rests_on or self.note):
            raise ValueError("effect: expected one, or a note that says why there is none")
        return self

    @property
    def selections(self) -> Selections:
        """Selections of all numbers that the claim's effects are computed from."""
        return [selection for effect in self.effect for selection in effect.selections]

    @property
    def decided_by(self) -> list[str]:
        """Tables and figures that decide the claim."""
        cells = [selection for selection in self.selections if selection.source != "records"]
        return self.items or list(dict.fromkeys(name for selection in cells for name in selection.names))


class Learned(Section):
    """Levels that the score of a training run must exceed for the run to count as having learned."""

    selections: Annotated[Selections, Field(min_length=1)]  # scores of the training runs
    above: dict[str, float | InstanceOf[Selection]]  # name of a level -> a number, or a selection with a score as the level
    over: str = "seed"


class Finding(Section):
    """Main result of a paper, a sentence and a few scores; the front page begins with it."""

    says: str  # the sentence; names of columns in braces are replaced by scores of the first row
    columns: Annotated[list[str], Field(min_length=1)]
    rows: Annotated[dict[str, Selections], Field(min_length=1)]  # name of a score -> selection for each column
    figure: str = ""  # name of the figure that is shown below


class ClaimsFile(Section):
    """All claims of a paper."""

    finding: Finding | None = None
    central: list[str] = []  # claims that the paper turns on; they are tested jointly
    learned: list[Learned] = []
    groups: dict[str, list[str]] = {}  # heading -> claims below it, in the documentation
    claims: dict[Annotated[str, Field(pattern=r"^c\d+[a-z]?$")], Claim]

    @model_validator(mode="before")
    @classmethod
    def _with_selections(cls, file: Any) -> Any:
        """Replace names and columns by selections, and expand each entry that has `each` into several."""
        if not isinstance(file, dict) or not isinstance(file.get("claims"), dict):
            return file
        select = Selector(file.get("selections") or {})
        claims = {key: select.claim(f"claims.{key}", claim) for key, claim in file["claims"].items()}
        learned = [select.learned(f"learned.{number}", entry) for number, entry in enumerate(file.get("learned") or [])]
        finding = select.finding("finding", file.get("finding"))
        rest = {name: part for name, part in file.items() if name != "selections"}
        return rest | {"claims": claims, "learned": learned, "finding": finding}

    @model_validator(mode="after")
    def _names_its_claims(self) -> ClaimsFile:
        names = {f"claims.{key}": [*claim.rests_on, *claim.follows_from] for key, claim in self.claims.items()}
        names |= {"central": self.central} | {f"groups.{heading}": keys for heading, keys in self.groups.items()}
        for place, name in ((place, name) for place, several in names.items() for name in several):
            if name not in self.claims or place == f"claims.{name}":
                raise ValueError(f"{place}: expected a claim, found '{name}'{nearest(name, self.claims)}")
        return self

    @property
    def selections(self) -> Iterator[Selection]:
        """Selections of effects, of controls, of scores of training runs and their levels, and of the finding."""
        for claim in self.claims.values():
            for effect in (*claim.effect, *claim.control):
                yield from effect.selections
        for learned in self.learned:
            yield from (*learned.selections, *(level for level in learned.above.values() if isinstance(level, Selection)))
        if self.finding:
            yield from (selection for selections in self.finding.rows.values() for selection in selections)


class Selector:
    """Converter of the names and columns in a claims file into selections."""

    def __init__(self, selections: Mapping[str, Any]) -> None:
        """selections: name -> columns; an entry with the key `each` gives several, and has $NAME in its name, too."""
        entries = [entry for name, columns in selections.items() for entry in _for_each({"name": name} | (columns or {}))]
        self.columns = {entry["name"]: {key: part for key, part in entry.items() if key != "name"} for entry in entries}

    def claim(self, place: str, claim: Any) -> Any:
        """A claim with the selections of its effects; a region that the claim states is copied to each effect and control."""
        if not isinstance(claim, dict):
            return claim
        parts = {part: _for_each(claim[part]) for part in ("effect", "control") if claim.get(part)}
        region = {"claimed": claim["claimed"]} if parts and "claimed" in claim else {}
        effects = {part: [self._effect(f"{place}.{part}", region, entry) for entry in parts[part]] for part in parts}
        return {key: value for key, value in claim.items() if key not in region} | effects

    def _effect(self, place: str, region: Mapping[str, Any], entry: Any) -> Any:
        if not isinstance(entry, dict):
            return entry
        selections = {
            key: [self.selection(f"{place}.{key}", entry, columns) for columns in _as_list(entry[key])]
            for key in ("plus", "minus", "reads") if key in entry
        }  # fmt: skip
        return {**region, **{key: value for key, value in entry.items() if key != "of"}, **selections}

    def learned(self, place: str, entry: Any) -> Any:
        """An entry of `learned` with its selections. place: path of the entry in the file, for error messages."""
        if not isinstance(entry, dict) or not isinstance(entry.get("above"), dict):
            return entry
        scores = [self.selection(place, entry, name) for name in entry.get("selections", [])]
        levels = {name: level if isinstance(level, int | float) else self.selection(place, entry, level)
                  for name, level in entry["above"].items()}  # fmt: skip
        return {key: value for key, value in entry.items() if key != "of"} | {"selections": scores, "above": levels}

    def finding(self, place: str, entry: Any) -> Any:
        """The finding with a selection for each pair of row and column; it joins the columns of both."""
        if not isinstance(entry, dict) or not all(isinstance(entry.get(part), dict) for part in ("columns", "rows")):
            return entry
        rows = {
            name: [self.selection(place, {"of": row}, column) for column in entry["columns"].values()]
            for name, row in entry["rows"].items()
        }
        return entry | {"columns": [*entry["columns"]], "rows": rows}

    def selection(self, place: str, entry: Any, columns: Any) -> Selection:
        """Selection by some columns, which take precedence, and by the columns of `of` in the entry.

        Raises ValueError if they name no source, several sources, or a column that the source does not have.
        """
        values = {**self._expanded(place, entry.get("of", {})), **self._expanded(place, columns)}
        sources = [source for source in SOURCES if source in values]
        if len(sources) != 1:
            raise ValueError(f"{place}: expected one of {', '.join(SOURCES)}, found {', '.join(sources) or 'none'}")
        (source,) = sources
        names, recipes, shared = values.pop(source), values.pop("recipe", False), values.pop("shared", 0.0)
        for column in values:
            if column not in SOURCES[source]:
                expected = f"expected {', '.join(SOURCES[source])}{nearest(column, SOURCES[source])}"
                raise ValueError(f"{place}: unknown column '{column}', {expected}")
        return Selection(
            source,
            tuple(map(str, _as_list(names))),
            {column: tuple(_as_list(value)) for column, value in values.items()},
            None if recipes is False else tuple(map(str, _as_list(recipes) if recipes else ())),
            shared,
        )

    def _expanded(self, place: str, columns: Any) -> dict[str, Any]:
        """Columns with those of the selections that they name; own columns override them, and later ones earlier ones."""
        if not isinstance(columns, str | dict):
            raise ValueError(f"{place}: expected a selection by name, or by columns and values, found {short(columns)}")
        values: dict[str, Any] = {"selection": columns} if isinstance(columns, str) else dict(columns)
        expanded: dict[str, Any] = {}
        for name in _as_list(values.pop("selection", [])):
            if name not in self.columns:
                raise ValueError(f"{place}: unknown selection {short(name)}{nearest(name, self.columns)}")
            expanded |= self.columns[name]
        return expanded | values


def read_claims_file(file: Path, names: Mapping[str, Any] = {}) -> ClaimsFile:
    """Read and validate a claims file. Raises DataError, one line that names file and key.

    names: NAME -> value, or list of values, that replaces $NAME in the file, see Paper.names. A $NAME without a value stays as
    it is, and so selects nothing.
    """
    try:
        return ClaimsFile.model_validate(_fill_in(read_yaml(file), names))
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"] if isinstance(part, str))
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


def _for_each(value: Any) -> list[Any]:
    """Entries of a list, with each entry that has the key `each` replaced by several.

    `each` is a list of rows, or a mapping of names to lists of values, which gives all combinations as rows. Each row gives an
    entry in which $NAME is replaced by the row's value of that name.
    """
    entries = []
    for entry in _as_list(value):
        rows = entry.get("each", [{}]) if isinstance(entry, dict) else [{}]
        if isinstance(rows, dict):
            rows = [dict(zip(rows, values, strict=True)) for values in product(*rows.values())]
        rest = {key: part for key, part in entry.items() if key != "each"} if isinstance(entry, dict) else entry
        entries += [_fill_in(rest, row) for row in rows]
    return entries


def _fill_in(value: Any, names: Mapping[str, Any]) -> Any:
    """A value of a claims file with each $NAME replaced by its value, as text unless $NAME is the whole entry."""
    if isinstance(value, dict):
        return {key: _fill_in(entry, names) for key, entry in value.items()}
    if isinstance(value, list):
        return [_fill_in(entry, names) for entry in value]
    if not isinstance(value, str) or "$" not in value:
        return value
    return names[value[1:]] if value[1:] in names else Template(value).safe_substitute(names)
