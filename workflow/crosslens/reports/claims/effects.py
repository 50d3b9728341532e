"""Effects of a claims file: sums, differences and correlations of selected numbers, with estimates of how much they vary."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import pandas as pd

from crosslens.config.base import families_of, language_code
from crosslens.numerics.estimates import (
    Correlation,
    Estimate,
    add_errors,
    correlation,
    difference_of_correlations,
    over_families,
    over_runs,
)
from crosslens.reports.claims.claims_file import ClaimsFile, Effect, Region, Selector
from crosslens.reports.claims.evidence import Evidence, Missing, Numbers, Unconfigured

NOTHING, RESTART = "none", "restart"  # `over` of an exact number, and of one whose interval is over restarts of an algorithm
UNBOUNDED = (-math.inf, math.inf)
Functions = Callable[[str], Callable[..., Any]]
"""Function of papers/PAPER/claims.py by name. It returns values by unit and seed, (n_units, n_seeds), of which the mean over
units is the effect; or the variables x and y of a correlation, by unit; or an estimate and the number of its units; or
several of these by name. Values may have the names of the training runs that they rest on as `attrs["recipes"]`. The
function's `numbers` are the selections that the effect reads, in the order of the claims file: tables of numbers with their
columns, `value`, `error` and `seed`."""


@dataclass(frozen=True)
class Part:
    """An effect, or one of several that an entry of the claims file stands for.

    region: where the claim expects the effect.
    estimate: the effect in the languages or other units that were measured, with the error of training runs or, where nothing was
    trained, of texts.
    n, unit: number of units, and their name in the plural; the units of a single number are seeds or texts.
    recipes: names of the training runs that the effect rests on.
    seeds: fewest seeds of a training run of an encoder among these; None where no encoder was trained.
    at_large: the effect in languages at large, of which those measured are a sample by families; None where units are not
    languages. families: number of these families.
    lack: reason why there is no interval, where it is known.
    values: (n_units, n_seeds), by which an effect is paired with its control; of a correlation the two variables, (n_units, 2).
    runs: mean of training runs behind the estimate, before its error is moderated; None without several seeds.
    fixed: standard error of what has no several seeds.
    terms: number of scores in each value that differ between seeds.
    kind: task and metric, by which errors of runs are moderated together.
    """

    name: str
    region: Region
    estimate: Estimate
    n: int | None
    unit: str
    recipes: tuple[str, ...] = ()
    seeds: int | None = None
    at_large: Estimate | None = None
    families: int | None = None
    lack: str = ""
    values: pd.DataFrame | None = None
    runs: Estimate | None = None
    fixed: float = 0.0
    terms: int = 1
    kind: tuple[str, ...] = ()

    def with_runs(self, runs: Estimate) -> "Part":
        """The part with another error of its training runs."""
        estimate = add_errors(runs, Estimate(0.0, self.fixed))
        return replace(self, runs=runs, estimate=estimate, at_large=self._at_large(runs))

    def _at_large(self, runs: Estimate | None) -> Estimate | None:
        """The mean over families of languages, with their error and that of training runs, which all languages share."""
        if self.at_large is None or self.values is None:
            return self.at_large
        estimate = over_families(self.values.to_numpy(float).mean(axis=1), families_of(self.values.index), self.estimate.bounds)
        return add_errors(estimate, runs) if runs else estimate


def part_of(
    name: str, region: Region, values: pd.DataFrame, unit: str, *, fixed: float = 0.0, runs: Estimate | None = None,
    terms: int = 1, shared: float = 0.0, bounds: tuple[float, float] = UNBOUNDED, kind: tuple[str, ...] = (),
) -> Part:  # fmt: skip
    """An effect in some units: the mean of values over units.

    values: (n_units, n_seeds).
    fixed: standard error of what has no several seeds; 0 of printed numbers, nan if unknown.
    runs: error of training runs whose seeds are not known, as of cells of tables; None: it follows from the values.
    shared: share of their data that seeds have in common; the squared error of a mean is then s² (1 / n + shared / (1 - shared)).
    bounds: least and greatest possible value.
    """
    by_seed = values.to_numpy(float).mean(axis=0)
    if len(by_seed) > 1:
        runs = over_runs(by_seed, bounds)
        runs = replace(runs, error=runs.error * math.sqrt(1 + len(by_seed) * shared / (1 - shared)))
    value = Estimate(float(by_seed.mean()), fixed, bounds=bounds)
    part = Part(name, region, value, len(values), unit, values=values, runs=runs, fixed=0.0 if math.isnan(fixed) else fixed,
                terms=terms, kind=kind)  # fmt: skip
    if unit == "languages":
        part = replace(part, at_large=value, families=len({*families_of(values.index)}))
        part = replace(part, at_large=part._at_large(runs))
    return part.with_runs(replace(runs, value=value.value)) if runs else part


def excess(part: Part, control: Part) -> Part | None:
    """An effect less its control, which lies beyond 0 on the side that is claimed; None where the claim has no direction.

    It is paired by unit and seed where both have the same; otherwise its error is that of independent estimates.
    """
    if not (side := part.region.side):
        return None
    region, first, second = Region(above=0) if side > 0 else Region(below=0), part.values, control.values
    if first is not None and second is not None and first.index.equals(second.index) and first.columns.equals(second.columns):
        if not isinstance(part.estimate, Correlation):
            return part_of(part.name, region, first - second, part.unit, fixed=math.hypot(part.fixed, control.fixed))
        if first["y"].equals(second["y"]):
            y, x, other = (values.to_numpy(float) for values in (first["y"], first["x"], second["x"]))
            families = families_of(first.index) if part.unit == "languages" else ()
            difference = difference_of_correlations(y, x, other, ranks=True, families=families)
            return Part(part.name, region, difference, part.n, part.unit)
    value = part.estimate.value - control.estimate.value
    if isinstance(part.estimate, Correlation) or math.isnan(part.estimate.error + control.estimate.error):
        return Part(part.name, region, Estimate(value, math.nan), part.n, part.unit)
    return Part(part.name, region, add_errors(Estimate(value, 0.0), part.estimate, control.estimate), part.n, part.unit)


class Side(NamedTuple):
    """Numbers of one selection by unit.

    values: (n_units, n_seeds).
    error, freedom: (n_units,), standard errors of the means over seeds, and their degrees of freedom.
    n: (n_units,), numbers of texts.
    """

    numbers: Numbers
    values: pd.DataFrame
    error: pd.Series
    freedom: pd.Series
    n: pd.Series


class Effects:
    """Effects of a claims file."""

    def __init__(self, claims_file: ClaimsFile, evidence: Evidence, functions: Functions) -> None:
        """Effects of a claims file by the evidence of the same paper.

        functions: name -> function of the paper's claims.py.
        """
        self.claims_file, self.evidence, self.functions = claims_file, evidence, functions

    def parts(self, effect: Effect, region: Region | None) -> list[Part]:
        """Parts of an effect: one, or one for each value of `by`, or each result of a function.

        Raises Missing where something is not measured.

        region: where the claim expects the effect, unless the effect states a region of its own.
        """
        region = effect.claimed or region
        assert region is not None  # Claim sees to it
        if effect.function:
            return self._function(effect, region)
        return [self._correlation(effect, region)] if effect.x is not None else self._sum(effect, region)

    def _sum(self, effect: Effect, region: Region) -> list[Part]:
        """The sum of the selections in `plus` less that of those in `minus`, for each value of the effect's `by`."""
        groups = ((1, effect.plus), (-1, effect.minus))
        terms = [(sign, self._numbers(effect, selector)) for sign, selectors in groups for selector in selectors]
        if not effect.by:
            return [self._part(effect, region, effect.name, terms)]
        columns = [self._column(effect.by, numbers.rows) for _, numbers in terms]
        sets = [{*numbers.rows[column].dropna()} for column, (_, numbers) in zip(columns, terms, strict=True)]
        values = set.intersection(*sets) - {*effect.without}
        parts = []
        for value in sorted(filter(_is_language, values) if effect.by == "language" else values):
            of_value = [
                (sign, numbers._replace(rows=numbers.rows[numbers.rows[column] == value]))
                for column, (sign, numbers) in zip(columns, terms, strict=True)
            ]
            name = " ".join(filter(None, (effect.name, f"{value:g}" if isinstance(value, float) else str(value))))
            parts.append(self._part(effect, region, name, of_value))
        return parts

    def _part(self, effect: Effect, region: Region, name: str, terms: Sequence[tuple[int, Numbers]]) -> Part:
        """A sum of terms, each with its sign, 1 or -1."""
        axis = None if effect.over in ("seed", "text", NOTHING, RESTART) else effect.over
        sides = [(sign, self._side(effect, numbers, axis)) for sign, numbers in terms]
        units = [unit for unit in sides[0][1].values.index if all(unit in side.values.index for _, side in sides)]
        if not units:
            raise Missing(f"{name or 'effect'}: no {effect.over} that all selections have")
        seeds, recipes = self._training_runs([numbers for _, numbers in terms])
        several = [side for _, side in sides if side.values.shape[1] > 1]
        scores = aligned([side.values.loc[units] for _, side in sides])
        values = reduce(pd.DataFrame.add, (sign * score for (sign, _), score in zip(sides, scores, strict=True)))
        if effect.over == "text":  # of what is measured once; several seeds are as many readings of the same texts
            values, several = values.mean(axis=1).to_frame(0), []
        if effect.over == NOTHING:
            exact = Estimate.exact(float(values.to_numpy(float).mean()))
            return Part(name, region, exact, None, "", recipes, seeds)
        if effect.over == RESTART:
            unknown = Estimate(float(values.to_numpy(float).mean()), math.nan)
            return Part(name, region, unknown, None, "", recipes, seeds, lack="restarts of an algorithm are no sample of texts")
        tables = [side for _, side in sides if side.numbers.over_seeds]  # cells, which do not know their seeds
        single = [side for _, side in sides if (side.values.shape[1] == 1 or not several) and not side.numbers.over_seeds]
        fixed = _error_of_single(single, units, bool(several or tables))
        runs = None
        if tables and not several:
            errors = (Estimate(0.0, float(side.error.loc[units].mean()), float(side.freedom.loc[units].min())) for side in tables)
            runs = reduce(add_errors, errors)
        minus, plus = (sum(sign == each for sign, _ in sides) for each in (-1, 1))
        unit = "languages" if effect.over == "language" else f"{axis}s" if axis else "seeds" if several or tables else "texts"
        part = part_of(
            name, region, values, unit, fixed=fixed, runs=runs, terms=max(len(several), 1),
            shared=max(numbers.shared for _, numbers in terms),
            bounds=(-100.0 * minus, 100.0 * plus) if effect.score else UNBOUNDED, kind=_kind(recipes, [n for _, n in terms]),
        )  # fmt: skip
        if axis is None:
            texts = [side.n.loc[units].min() for _, side in sides if side.n.loc[units].notna().all()]
            fewest = values.shape[1] if several else min((int(side.numbers.rows["seeds"].min()) for side in tables), default=0)
            part = replace(part, n=fewest or (int(min(texts)) if len(texts) == len(sides) else None))
        return replace(part, recipes=recipes, seeds=seeds)

    def _correlation(self, effect: Effect, region: Region) -> Part:
        """Correlation of the means over seeds of two selections, over the units that both have."""
        assert effect.x is not None and effect.y is not None
        numbers = [self._numbers(effect, selector) for selector in (effect.x, effect.y)]
        x, y = (self._side(effect, selected, effect.over).values.mean(axis=1) for selected in numbers)
        pairs = pd.DataFrame({"x": x, "y": y}).dropna()
        return self._correlated(effect, region, effect.name, pairs, *self._training_runs(numbers))

    def _correlated(
        self, effect: Effect, region: Region, name: str, pairs: pd.DataFrame, seeds: int | None, recipes: tuple[str, ...]
    ) -> Part:
        """Correlation of two variables.

        pairs: columns x and y, by unit.
        """
        unit = "languages" if effect.over == "language" else f"{effect.over}s"
        families = families_of(pairs.index) if unit == "languages" else ()
        estimate = correlation(pairs["x"].to_numpy(float), pairs["y"].to_numpy(float), ranks=effect.ranks, families=families)
        part = Part(name, region, estimate, len(pairs), unit, recipes, seeds, values=pairs, families=len({*families}) or None)
        return _with_enough_units(part, effect.least)

    def _function(self, effect: Effect, region: Region) -> list[Part]:
        """Results of a function of the paper, one or several by name (Functions)."""
        selected = [self._numbers(effect, selector) for selector in effect.reads]
        results = self.functions(str(effect.function))([numbers.rows for numbers in selected], **effect.settings)
        if not isinstance(results, dict):
            results = {"": results}
        if not results:
            raise Unconfigured(f"{effect.function}: none of its trainings at this scale")
        seeds, recipes = self._training_runs(selected)
        parts = []
        for result_name, result in results.items():
            name = ", ".join(filter(None, (effect.name, result_name)))
            if isinstance(result, tuple):
                estimate, n = result
                part = Part(name, region, estimate, n, "" if effect.over == NOTHING else f"{effect.over}s", recipes, seeds)
                parts.append(_with_enough_units(part, effect.least))
                continue
            used = tuple(result.attrs.get("recipes", recipes))
            if [*result.columns] == ["x", "y"]:
                parts.append(self._correlated(effect, region, name, result, seeds, used))
                continue
            kind = (*_kind(used, selected), str(effect.function))
            unit = "languages" if effect.over == "language" else f"{effect.over}s"
            part = part_of(
                name, region, result, unit, fixed=math.nan, shared=max(numbers.shared for numbers in selected), kind=kind
            )
            parts.append(replace(part, recipes=used, seeds=seeds, n=result.shape[1] if effect.over == "seed" else len(result)))
        return parts

    def _numbers(self, effect: Effect, selector: Selector) -> Numbers:
        return self.evidence.numbers(self.claims_file.selection(effect.of, selector), effect.scale)

    def _side(self, effect: Effect, numbers: Numbers, axis: str | None) -> Side:
        """Numbers of a selection by the values of a column, as means over all that is neither this column nor seeds.

        axis: the column, or "language"; None: all numbers are of one unit.
        """
        rows = numbers.rows
        unit: Any = pd.Series("", rows.index)
        if axis is not None:
            column = self._column(axis, rows)
            unit = rows[column].map(language_code) if axis == "language" else rows[column]
            is_unit = unit.notna() & ~unit.isin(effect.without)
            rows, unit = rows[is_unit], unit[is_unit]
        if rows.empty:
            raise Missing(f"no {axis} among the numbers")
        seed = rows["seed"] if "seed" in rows else pd.Series(0, rows.index)
        values = rows["value"].groupby([unit, seed]).mean().unstack()
        error, freedom, n = (rows[name].groupby(unit).agg(how) for name, how in
                             (("error", _mean), ("freedom", "min"), ("n", "min")))  # fmt: skip
        return Side(numbers._replace(rows=rows), values, error, freedom, n)

    def _column(self, axis: str, rows: pd.DataFrame) -> str:
        """The column of an axis; languages are in the first one that has any."""
        if axis != "language":
            return axis
        names = [name for name in ("language", "row", "column") if name in rows]
        column = next((name for name in names if rows[name].map(_is_language).any()), None)
        if column is None:
            raise Missing("no language among the numbers")
        return column

    def _training_runs(self, selected: Sequence[Numbers]) -> tuple[int | None, tuple[str, ...]]:
        """Fewest seeds of a training run of an encoder, None where no encoder was trained; and the names of all training runs."""
        facts = self.evidence.facts
        counts: list[int] = []
        for numbers in selected:
            for name in numbers.recipes:
                rows = numbers.rows[numbers.rows["recipe"] == name] if "recipe" in numbers.rows else numbers.rows
                if facts[name]["trained"] and len(rows):
                    counts.append(int(rows["seed"].nunique() if "seed" in rows else rows["seeds"].min()))
                    counts += [facts[name]["pretrainings"]] if facts[name]["pretrainings"] else []
        return min(counts, default=None), tuple(dict.fromkeys(name for numbers in selected for name in numbers.recipes))


def _with_enough_units(part: Part, least: int) -> Part:
    """A part that, as a correlation, loses its interval where it has fewer than `least` units."""
    if not isinstance(part.estimate, Correlation) or part.n is None or part.n >= least:
        return part
    lack = f"{part.n} {part.unit}, at least {least} needed"
    return replace(part, estimate=replace(part.estimate, error=math.nan), lack=lack)


def _kind(recipes: Sequence[str], selected: Sequence[Numbers]) -> tuple[str, ...]:
    """Task and metric of a contrast: those of its first training run and of its first numbers."""
    rows = selected[0].rows
    metric = next((str(rows[name].iloc[0]) for name in ("definition", "metric", "measure") if name in rows and len(rows)), "")
    return "/".join(recipes[0].split("/")[:2]) if recipes else "", metric


def aligned(tables: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Tables (n_units, n_seeds) of the seeds that all with several seeds have; a single seed stands for each of them."""
    several = [{*table.columns} for table in tables if table.shape[1] > 1]
    seeds = sorted(set.intersection(*several)) if several else [0]
    return [
        table[seeds] if table.shape[1] > 1 else pd.concat([table.set_axis([seed], axis=1) for seed in seeds], axis=1)
        for table in tables
    ]


def _error_of_single(sides: Sequence[Side], units: list[Any], beside_runs: bool) -> float:
    """Standard error of the mean over units of sides with a single seed, as if errors of units were fully correlated.

    beside_runs: whether other sides have several seeds, beside which an unknown error counts as 0; otherwise it is nan.
    """
    errors = [0.0 if side.numbers.printed else _mean(side.error.loc[units]) for side in sides]
    known = [error for error in errors if not math.isnan(error)]
    return math.hypot(*known) if beside_runs or len(known) == len(errors) else math.nan


def _mean(values: pd.Series) -> float:
    return float(values.mean(skipna=False))


def _is_language(name: Any) -> bool:
    return language_code(name) is not None
