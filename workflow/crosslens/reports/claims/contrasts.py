"""Effects: what selections of numbers add up to, with an estimate over what varies."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from itertools import pairwise
from typing import Any, NamedTuple

import pandas as pd

from crosslens.config.base import languages_table
from crosslens.numerics.estimates import Correlation, Estimate, add_errors, correlation, over_languages, over_runs
from crosslens.reports.claims.evidence import Evidence, Missing, Numbers, Unconfigured
from crosslens.reports.claims.ledger import Effect, Ledger, Region, Selector

NOTHING = "none"  # what varies of an exact number
UNBOUNDED = (-math.inf, math.inf)
POSITIVE = Region(above=0)
Functions = Callable[[str], Callable[..., Any]]


class Part(NamedTuple):
    """An effect that a claim consists of, or one of several.

    n: units, or texts of a single number; unit: what they are; seeds: the fewest of a training of an encoder, None: none was
    trained; families: of languages, None: it is not over languages; recipes: trainings that it compares; lack: why it has no
    interval.
    """

    name: str
    region: Region
    estimate: Estimate
    n: int | None
    unit: str
    seeds: int | None
    families: int | None
    recipes: tuple[str, ...]
    lack: str = ""


class Side(NamedTuple):
    """Numbers of one selection. values: (units, seeds); error, freedom: (units,) of their means; n: (units,)."""

    numbers: Numbers
    values: pd.DataFrame
    error: pd.Series
    freedom: pd.Series
    n: pd.Series


class Contrasts:
    """Effects of a ledger."""

    def __init__(self, ledger: Ledger, evidence: Evidence, functions: Functions) -> None:
        """functions: name -> function of the paper's claims.py."""
        self.ledger, self.evidence, self.functions = ledger, evidence, functions

    def parts(self, effect: Effect, region: Region | None) -> list[Part]:
        """The parts of an effect, one a value of its `by`, or one of each two neighbours of an order.

        region: where the claim expects it. Raises Missing where something is not measured.
        """
        region = effect.expected or region or POSITIVE
        if effect.function:
            return self._of_function(effect, region)
        if effect.x is not None:
            return [self._correlation(effect, region)]
        if effect.order:
            return [
                part._replace(name=f"{_title(first)} less {_title(second)}" + f", {part.name}" * bool(part.name))
                for first, second in pairwise(effect.order)
                for part in self._contrast(effect, region, [first], [second])
            ]
        return list(self._contrast(effect, region, effect.plus, effect.minus))

    def _contrast(self, effect: Effect, region: Region, plus: Sequence[Selector], minus: Sequence[Selector]) -> Iterator[Part]:
        """The sum of some selections less that of others, one a value of `by`."""
        numbers = [(sign, self._numbers(effect, selector)) for sign, group in ((1, plus), (-1, minus)) for selector in group]
        groups: dict[Any, list[tuple[int, Numbers]]] = {effect.name: numbers}
        if effect.by:
            columns = [self._column(effect, effect.by, of.rows) for _, of in numbers]
            values = set.intersection(*({*of.rows[column].dropna()} for column, (_, of) in zip(columns, numbers, strict=True)))
            values = {*filter(_is_language, values)} if effect.by == "language" else values
            groups = {
                " ".join(filter(None, (effect.name, _plain(value)))): [
                    (sign, of._replace(rows=of.rows[of.rows[column] == value]))
                    for column, (sign, of) in zip(columns, numbers, strict=True)
                ]
                for value in sorted(values - {*effect.without})
            }
        bounds = (-100.0 * len(minus), 100.0 * len(plus)) if effect.score else UNBOUNDED
        for name, of_group in groups.items():
            yield self._part(effect, region, name, of_group, bounds)

    def _part(
        self, effect: Effect, region: Region, name: str, numbers: Sequence[tuple[int, Numbers]], bounds: tuple[float, float]
    ) -> Part:  # fmt: skip
        axis = None if effect.over in ("seed", "text", NOTHING) else effect.over
        sides = [(sign, self._side(effect, of, axis)) for sign, of in numbers]
        units = [unit for unit in sides[0][1].values.index if all(unit in side.values.index for _, side in sides)]
        if not units:
            raise Missing(f"{name or 'effect'}: no {effect.over} that all selections have")
        shared = _seeds([side for _, side in sides])
        total = reduce(pd.DataFrame.add, (sign * _of_seeds(side.values.loc[units], shared) for sign, side in sides))
        over_seeds = [side for _, side in sides if side.numbers.of_seeds]
        errors = [_mean_error(side, units) for side in over_seeds or [side for _, side in sides]]
        seeds, recipes = self._rests_on([of for _, of in numbers])
        part = Part(name, region, Estimate.exact(0.0), len(units), effect.over, seeds, None, recipes)
        if axis is None:
            mean, estimate = total.to_numpy(float)[0], Estimate(float(total.to_numpy(float).mean()), math.nan, bounds=bounds)
            if effect.over == NOTHING:
                return part._replace(estimate=Estimate.exact(estimate.value), n=None, unit="")
            if len(mean) > 1 and effect.over == "seed":
                return part._replace(estimate=over_runs(mean, bounds), n=len(mean), unit="seeds")
            estimate = add_errors(Estimate(estimate.value, 0.0, bounds=bounds), *errors) if _complete(errors) else estimate
            n = int(min(side.n.loc[units].min() for _, side in sides)) if all(s.n.notna().all() for _, s in sides) else None
            fewest = min((int(side.numbers.rows["seeds"].min()) for side in over_seeds), default=0)
            return part._replace(estimate=estimate, n=fewest or n, unit="seeds" if fewest else "texts")
        families = [_family(unit) for unit in units] if self._names_languages(effect) else [str(unit) for unit in units]
        estimate = over_languages(total.to_numpy(float), families, bounds)
        if over_seeds:
            estimate = add_errors(estimate, *(error for error in errors if error.error > 0))
        count = len({*families}) if self._names_languages(effect) else None
        return part._replace(estimate=estimate, families=count, unit="languages" if count else _plural(effect.over))

    def _correlation(self, effect: Effect, region: Region) -> Part:
        """Of the means over seeds of two selections, over units that both have."""
        places = ("x", "y")
        if effect.points:
            of = {place: [self._numbers(effect, point, place) for point in effect.points] for place in places}
            first, second = (pd.Series([_mean(each.rows["value"]) for each in of[place]]) for place in places)
            numbers, unit = [*of["x"], *of["y"]], "models"
        else:
            numbers = [self._numbers(effect, getattr(effect, place)) for place in places]
            first, second = (self._side(effect, each, effect.over).values.mean(axis=1) for each in numbers)
            unit = "languages" if self._names_languages(effect) else _plural(effect.over)
        units = first.index.intersection(second.index)
        seeds, recipes = self._rests_on(numbers)
        estimate = correlation(first[units].to_numpy(float), second[units].to_numpy(float), ranks=effect.ranks)
        families = len({*map(_family, units)}) if unit == "languages" else None
        return _enough(Part(effect.name, region, estimate, len(units), unit, seeds, families, recipes), effect.least)

    def _of_function(self, effect: Effect, region: Region) -> list[Part]:
        """Parts by name, or one, of a function of the numbers that it reads."""
        numbers = [self._numbers(effect, selector) for selector in effect.reads]
        made = self.functions(str(effect.function))([of.rows for of in numbers], **effect.settings)
        seeds, recipes = self._rests_on(numbers)
        estimates: Mapping[str, tuple[Estimate, int]] = made if isinstance(made, dict) else {"": made}
        if not estimates:
            raise Unconfigured(f"{effect.function}: none of its trainings at this scale")
        unit = _plural(effect.over)
        parts = [
            Part(", ".join(filter(None, (effect.name, name))), region, estimate, n, unit, seeds, None, recipes)
            for name, (estimate, n) in estimates.items()
        ]
        return [_enough(part, effect.least) if isinstance(part.estimate, Correlation) else part for part in parts]

    def _numbers(self, effect: Effect, selector: Selector, place: str = "") -> Numbers:
        return self.evidence.numbers(self.ledger.selection(effect.shared(place), selector), effect.scale)

    def _side(self, effect: Effect, numbers: Numbers, axis: str | None) -> Side:
        """Means over what is neither the axis nor seeds."""
        rows = numbers.rows
        if axis is None:
            unit: Any = pd.Series("", rows.index)
        else:
            column = self._column(effect, axis, rows)
            rows = rows[rows[column].map(_is_language)] if self._names_languages(effect) else rows[rows[column].notna()]
            unit = rows[column].map(_code) if self._names_languages(effect) else rows[column]
            rows, unit = rows[~unit.isin(effect.without)], unit[~unit.isin(effect.without)]
        if rows.empty:
            raise Missing(f"no {axis} among the numbers")
        seed = rows["seed"] if "seed" in rows else pd.Series(0, rows.index)
        values = rows["value"].groupby([unit, seed]).mean().unstack()
        error, freedom, n = (rows[name].groupby(unit).agg(how) for name, how in
                             (("error", _mean), ("freedom", "min"), ("n", "min")))  # fmt: skip
        return Side(numbers._replace(rows=rows), values, error, freedom, n)

    def _column(self, effect: Effect, axis: str, rows: pd.DataFrame) -> str:
        """Column of an axis; of languages the one that has any."""
        if axis != "language":
            return axis
        columns = [effect.languages] if effect.languages else ["language", "row", "column"]
        found = next((name for name in columns if name in rows and rows[name].map(_is_language).any()), None)
        if found is None:
            raise Missing("no language among the numbers")
        return found

    def _names_languages(self, effect: Effect) -> bool:
        return effect.over == "language" or effect.languages is not None and effect.over == effect.languages

    def _rests_on(self, numbers: Sequence[Numbers]) -> tuple[int | None, tuple[str, ...]]:
        """Fewest seeds of a training of an encoder among what numbers are of, None where there is none, and the trainings."""
        facts = self.evidence.facts
        counts: list[int] = []
        for of in numbers:
            for name in of.recipes:
                rows = of.rows[of.rows["recipe"] == name] if "recipe" in of.rows else of.rows
                if facts[name]["trained"] and len(rows):
                    counts.append(int(rows["seed"].nunique() if "seed" in rows else rows["seeds"].min()))
                    counts += [facts[name]["pretrainings"]] if facts[name]["pretrainings"] else []
        return min(counts, default=None), tuple(dict.fromkeys(name for of in numbers for name in of.recipes))


def _enough(part: Part, least: int) -> Part:
    """A correlation, without an interval if it is of fewer units than it needs."""
    if part.n is None or part.n >= least:
        return part
    return part._replace(
        estimate=replace(part.estimate, error=math.nan), lack=f"{part.n} {part.unit}, at least {least} needed"
    )  # fmt: skip


def _seeds(sides: Sequence[Side]) -> list[int] | None:
    """Seeds that all sides with several have; None where none has."""
    several = [{*side.values.columns} for side in sides if side.values.shape[1] > 1]
    return sorted(set.intersection(*several)) if several else None


def _of_seeds(values: pd.DataFrame, seeds: list[int] | None) -> pd.DataFrame:
    """Values (units, seeds) of some seeds; those of a single one count for all."""
    if seeds is None:
        return values.set_axis([0], axis=1)
    if values.shape[1] == 1:
        return pd.concat([values.set_axis([seed], axis=1) for seed in seeds], axis=1)
    return values[seeds]


def _mean_error(side: Side, units: list[Any]) -> Estimate:
    """The error of the mean over units, taken to be the same in all."""
    return Estimate(0.0, float(_mean(side.error.loc[units])), float(side.freedom.loc[units].min()))


def _complete(errors: Sequence[Estimate]) -> bool:
    return not any(math.isnan(error.error) for error in errors)


def _mean(values: pd.Series) -> float:
    return float(values.mean(skipna=False))


def _is_language(name: Any) -> bool:
    return _code(name) is not None


def _family(name: Any) -> str:
    code = _code(name)
    return languages_table()[code]["family"] or code if code else str(name)


@cache
def _code(name: Any) -> str | None:
    """Code of a language by its code, also with a note's mark (zh*), or name; of a pair with English (en-de) the other one's."""
    table, text = languages_table(), str(name).rstrip("*")
    if text in table:
        return text
    named = {row["name"]: code for code, row in table.items()}
    parts = [part for part in text.replace("->", "-").split("-") if part in table]
    return named.get(text) or (next((part for part in parts if part != "en"), None) if len(parts) == 2 else None)


def _plural(axis: str) -> str:
    return {NOTHING: "", "x": "numbers of directions"}.get(axis, f"{axis}s")


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _title(selector: Selector) -> str:
    if isinstance(selector, str):
        return selector
    return str(selector.get("selection") or ", ".join(map(str, selector.values())))
