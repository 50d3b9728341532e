"""Effects of a claims file: sums, differences and correlations of selected numbers, with estimates of how much they vary."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple

import pandas as pd

from crosslens.config.base import families_of, language_code, languages_table
from crosslens.numerics.estimates import (
    Correlation,
    Estimate,
    add_errors,
    correlation,
    difference_of_correlations,
    over_families,
    over_runs,
)
from crosslens.reports.claims.claims_file import CORRELATION, Effect, Region
from crosslens.reports.claims.evidence import Evidence, Missing, Numbers, Unconfigured

NOTHING, RESTART = "none", "restart"  # values of `over`: an exact number; a number that varies over restarts of an algorithm
UNBOUNDED = (-math.inf, math.inf)
Functions = Callable[[str], Callable[..., Any]]
"""Returns a function of papers/PAPER/claims.py by its name.

That function gets `numbers`, a table for each selection that the effect reads, in the order of the claims file. A table has the
columns of its source, `value`, `error` and `seed`. The function returns one of these, or several of them by name:
- values by unit and seed, (n_units, n_seeds); the effect is their mean over units;
- the variables x and y of a correlation, by unit;
- an estimate and the number of its units.
The names of the training runs behind the values may be in their `attrs["recipes"]`.
"""


@dataclass(frozen=True)
class Part:
    """An effect, or one of several effects of the same entry of the claims file.

    region: where the claim expects the effect.
    fixed: the effect with the error of its numbers that have a single seed, such as the error over texts.
    n, unit: number of units, and their name in the plural; the units of a single number are seeds or texts.
    runs: the effect with the error over training runs; None without several seeds.
    recipes: names of the training runs behind the effect.
    seeds: smallest number of seeds of a training run of an encoder among these; None if no encoder was trained.
    values: (n_units, n_seeds), to pair an effect with its control; for a correlation its two variables, (n_units, 2).
    terms: number of scores in each value that vary over seeds.
    kind: task and metric; errors over training runs of the same kind are moderated together.
    cause, lack: what keeps the effect from deciding anything, in two words and as a clause; "" if nothing does.
    """

    name: str
    region: Region
    fixed: Estimate
    n: int | None
    unit: str
    runs: Estimate | None = None
    recipes: tuple[str, ...] = ()
    seeds: int | None = None
    values: pd.DataFrame | None = None
    terms: int = 1
    kind: tuple[str, ...] = ()
    cause: str = ""
    lack: str = ""

    @cached_property
    def estimate(self) -> Estimate:
        """The effect in the languages or other units that were measured, with all its errors."""
        return add_errors(self.runs, self.fixed) if self.runs else self.fixed

    @cached_property
    def at_large(self) -> Estimate | None:
        """The effect in languages in general, from the measured families as a sample; None for a correlation or other units."""
        if not self.families or self.values is None or isinstance(self.fixed, Correlation):
            return None
        estimate = over_families(self.values.to_numpy(float).mean(axis=1), families_of(self.values.index), self.fixed.bounds)
        return add_errors(estimate, self.fixed, *([self.runs] if self.runs else []))

    @cached_property
    def families(self) -> int | None:
        """Number of families of the measured languages; None if units are not languages."""
        return len({*families_of(self.values.index)}) if self.unit == "languages" and self.values is not None else None


def part_of(
    name: str, region: Region, values: pd.DataFrame, unit: str, *, error: float = math.nan, runs: Estimate | None = None,
    shared: float = 0.0, bounds: tuple[float, float] = UNBOUNDED, **fields: Any,
) -> Part:  # fmt: skip
    """An effect that is the mean of values over units.

    values: (n_units, n_seeds).
    unit: name of the units, in the plural.
    error: standard error of numbers that have a single seed; 0 for printed numbers, nan if unknown. An unknown error counts as
    0 if there is an error over training runs.
    runs: error over training runs if their seeds are not known, as for cells of tables; None: computed from the values.
    shared: share of data that seeds have in common; the squared error of a mean is then s² (1 / n + shared / (1 - shared)).
    bounds: least and greatest possible value.
    fields: further fields of the part.
    """
    by_seed = values.to_numpy(float).mean(axis=0)
    value = float(by_seed.mean())
    if len(by_seed) > 1:
        runs = over_runs(by_seed, bounds)
        runs = replace(runs, error=runs.error * math.sqrt(1 + len(by_seed) * shared / (1 - shared)))
    if runs:
        runs, error = replace(runs, value=value), 0.0 if math.isnan(error) else error
    return Part(
        name, region, Estimate(value, error, bounds=bounds), **{"n": len(values)} | fields, unit=unit, runs=runs, values=values
    )


def excess(part: Part, control: Part) -> Part | None:
    """An effect minus its control, claimed to be beyond 0 on the claim's side; None if the claim has no direction.

    If both have the same units and seeds, values are paired; correlations must also share a variable. Otherwise the two count
    as independent, as do cells of tables, whose seeds are not known. The error is nan for correlations that are not paired.
    """
    if not (side := part.region.side):
        return None
    region, first, second = Region(above=0) if side > 0 else Region(below=0), part.values, control.values
    if first is not None and second is not None and first.index.equals(second.index) and first.columns.equals(second.columns):
        if isinstance(part.estimate, Correlation):
            for common, varying in (("y", "x"), ("x", "y")):
                if first[common].equals(second[common]):
                    shared, x, x_of_control = (
                        values.to_numpy(float) for values in (first[common], first[varying], second[varying])
                    )
                    families = families_of(first.index) if part.unit == "languages" else ()
                    difference = difference_of_correlations(shared, x, x_of_control, ranks=True, families=families)
                    return Part(part.name, region, difference, part.n, part.unit)
        elif first.shape[1] > 1 or not (part.runs or control.runs):
            return part_of(part.name, region, first - second, part.unit, error=math.hypot(part.fixed.error, control.fixed.error))
    difference = Estimate(part.estimate.value - control.estimate.value, 0.0)
    if isinstance(part.estimate, Correlation) or math.isnan(part.estimate.error + control.estimate.error):
        return Part(part.name, region, replace(difference, error=math.nan), part.n, part.unit)
    return Part(part.name, region, add_errors(difference, part.estimate, control.estimate), part.n, part.unit)


class Term(NamedTuple):
    """Numbers of one selection by unit, and their sign in a sum.

    values: (n_units, n_seeds).
    error, freedom: (n_units,), standard errors of the means over seeds, or over texts, and their degrees of freedom.
    n: (n_units,), smallest number of texts.
    """

    sign: int
    numbers: Numbers
    values: pd.DataFrame
    error: pd.Series
    freedom: pd.Series
    n: pd.Series

    def of(self, units: list[Any]) -> "Term":
        """The term with only these units, in their order."""
        error, freedom, n = self.error.loc[units], self.freedom.loc[units], self.n.loc[units]
        return Term(self.sign, self.numbers, self.values.loc[units], error, freedom, n)


class Effects:
    """Computation of the effects of a claims file."""

    def __init__(self, evidence: Evidence, functions: Functions) -> None:
        """Compute effects from the evidence of a paper.

        functions: name -> function of the paper's claims.py.
        """
        self.evidence, self.functions = evidence, functions

    def parts(self, effect: Effect) -> list[Part]:
        """Parts of an effect: a single one, one for each value of `by`, or one for each result of a function.

        Raises Missing if a number is not measured.
        """
        if effect.function:
            return self._results(effect, [self.evidence.numbers(selection) for selection in effect.reads])
        signed = [*((1, selection) for selection in effect.plus), *((-1, selection) for selection in effect.minus)]
        terms = [(sign, self.evidence.numbers(selection)) for sign, selection in signed]
        if not effect.by:
            return [self._sum(effect, effect.name, terms)]
        columns = [_column(effect.by, numbers.rows) for _, numbers in terms]
        sets = [{*numbers.rows[column].dropna()} for column, (_, numbers) in zip(columns, terms, strict=True)]
        values = set.intersection(*sets) - {*effect.without}
        parts = []
        for value in sorted(filter(language_code, values) if effect.by == "language" else values):
            of_value = [
                (sign, numbers._replace(rows=numbers.rows[numbers.rows[column] == value]))
                for column, (sign, numbers) in zip(columns, terms, strict=True)
            ]
            name = f"{value:g}" if isinstance(value, float) else languages_table().get(value, {"name": str(value)})["name"]
            parts.append(self._sum(effect, ", ".join(filter(None, (effect.name, name))), of_value))
        return parts

    def _sum(self, effect: Effect, name: str, signed: Sequence[tuple[int, Numbers]]) -> Part:
        """Part that is a sum of numbers. signed: sign, 1 or -1, and numbers of each term."""
        axis = None if effect.over in ("seed", "text", NOTHING, RESTART) else effect.over
        all_units = [_term(effect, sign, numbers, axis) for sign, numbers in signed]
        units = [unit for unit in all_units[0].values.index if all(unit in term.values.index for term in all_units)]
        if not units:
            raise Missing(f"{name or 'effect'}: no {effect.over} that all selections have")
        terms = [term.of(units) for term in all_units]
        scores = aligned([term.values for term in terms])
        values = reduce(pd.DataFrame.add, (term.sign * score for term, score in zip(terms, scores, strict=True)))
        seeds, recipes = self.evidence.seeds_and_recipes([numbers for _, numbers in signed])
        if effect.over in (NOTHING, RESTART):
            lack = "restarts of an algorithm are not a sample of texts" if effect.over == RESTART else ""
            estimate = Estimate(float(values.to_numpy(float).mean()), math.nan if lack else 0.0)
            return Part(name, effect.claimed, estimate, None, "", recipes=recipes, seeds=seeds, lack=lack)
        several = [term for term in terms if term.values.shape[1] > 1]
        if effect.over == "text":  # seeds only measure the same texts again, so their mean counts as a single value
            values, several = values.mean(axis=1).to_frame(0), []
        tables = [term for term in terms if term.numbers.over_seeds]  # cells of tables: means over seeds that are not known
        single = [term for term in terms if (term.values.shape[1] == 1 or not several) and not term.numbers.over_seeds]
        runs = None
        if tables and not several:
            runs = reduce(add_errors, (Estimate(0.0, _mean(term.error), float(term.freedom.min())) for term in tables))
        fewest = values.shape[1] if several else min((int(term.numbers.rows["seeds"].min()) for term in tables), default=0)
        texts = int(min(term.n.min() for term in terms)) if all(term.n.notna().all() for term in terms) else None
        return part_of(
            name, effect.claimed, values, f"{axis}s" if axis else "seeds" if several or tables else "test instances",
            error=_error_of_single(single, bool(several or tables)), runs=runs,
            shared=max(numbers.selection.shared for _, numbers in signed),
            bounds=(-100.0 * len(effect.minus), 100.0 * len(effect.plus)) if effect.score else UNBOUNDED,
            n=len(values) if axis else fewest or texts, recipes=recipes, seeds=seeds, terms=max(len(several), 1),
            kind=_kind(recipes, [numbers for _, numbers in signed]),
        )  # fmt: skip

    def _results(self, effect: Effect, numbers: Sequence[Numbers]) -> list[Part]:
        """Parts of an effect that is a correlation, or that a function of the paper computes (see Functions)."""
        if effect.function == CORRELATION:
            x, y = (_term(effect, 1, selected, effect.over).values.mean(axis=1) for selected in numbers)
            results: Any = pd.DataFrame({"x": x, "y": y}).dropna()
        else:
            results = self.functions(str(effect.function))([selected.rows for selected in numbers], **effect.settings)
        results = results if isinstance(results, dict) else {"": results}
        if not results:
            raise Unconfigured(f"{effect.function}: this preset has none of its training runs")
        return [self._result(effect, name, result, numbers) for name, result in results.items()]

    def _result(self, effect: Effect, result_name: str, result: Any, numbers: Sequence[Numbers]) -> Part:
        name = ", ".join(filter(None, (effect.name, result_name)))
        unit = "" if effect.over == NOTHING else f"{effect.over}s"
        seeds, recipes = self.evidence.seeds_and_recipes(numbers)
        if isinstance(result, tuple):
            estimate, n = result
            return _with_enough_units(Part(name, effect.claimed, estimate, n, unit, recipes=recipes, seeds=seeds), effect.least)
        recipes = tuple(result.attrs.get("recipes", recipes))
        if [*result.columns] == ["x", "y"]:
            families = families_of(result.index) if unit == "languages" else ()
            x, y = (result[variable].to_numpy(float) for variable in ("x", "y"))
            estimate = correlation(x, y, ranks=effect.ranks, families=families)
            part = Part(name, effect.claimed, estimate, len(result), unit, recipes=recipes, seeds=seeds, values=result)
            return _with_enough_units(part, effect.least)
        return part_of(
            name, effect.claimed, result, unit, shared=max(selected.selection.shared for selected in numbers),
            n=result.shape[1] if effect.over == "seed" else len(result), recipes=recipes, seeds=seeds,
            kind=(*_kind(recipes, numbers), str(effect.function)),
        )  # fmt: skip


def _term(effect: Effect, sign: int, numbers: Numbers, axis: str | None) -> Term:
    """Numbers of a selection by unit and seed, averaged over all other columns.

    axis: column of the units, or "language" for the column that has languages; None: all numbers belong to one unit.
    """
    unit = units(numbers.rows, axis) if axis else pd.Series("", numbers.rows.index)
    unit = unit[unit.notna() & ~unit.isin(effect.without)]
    if unit.empty:
        raise Missing(f"no {axis} among the numbers")
    rows = numbers.rows.loc[unit.index]
    of_unit = rows.groupby(unit)
    error, freedom, n = of_unit["error"].agg(_mean), of_unit["freedom"].min(), of_unit["n"].min()
    return Term(sign, numbers._replace(rows=rows), by_seed(rows, unit), error, freedom, n)


def units(rows: pd.DataFrame, axis: str) -> pd.Series:
    """Unit of each row: the value of the axis's column. For "language" it is a language code, missing for other values."""
    values: pd.Series = rows[_column(axis, rows)]
    return values.map(language_code) if axis == "language" else values


def by_seed(rows: pd.DataFrame, unit: pd.Series) -> pd.DataFrame:
    """Mean of values for each unit and seed, (n_units, n_seeds); numbers without seeds get a single column, 0."""
    seed = rows["seed"] if "seed" in rows else pd.Series(0, rows.index)
    return rows["value"].groupby([unit, seed]).mean().unstack()


def _column(axis: str, rows: pd.DataFrame) -> str:
    """Column of an axis: its name, or for "language" the first of language, row and column that has a language."""
    if axis != "language":
        return axis
    names = [name for name in ("language", "row", "column") if name in rows]
    column = next((name for name in names if rows[name].map(language_code).notna().any()), None)
    if column is None:
        raise Missing("no language among the numbers")
    return column


def _with_enough_units(part: Part, least: int) -> Part:
    """The part, without its interval if it is a correlation over fewer than `least` units."""
    if not isinstance(part.fixed, Correlation) or part.n is None or part.n >= least:
        return part
    return replace(part, fixed=replace(part.fixed, error=math.nan), lack=f"{part.n} {part.unit}, at least {least} needed")


def _kind(recipes: Sequence[str], selected: Sequence[Numbers]) -> tuple[str, ...]:
    """Task of the first training run, as PAPER/TASK, and metric of the first numbers; "" for a missing one."""
    rows = selected[0].rows
    metric = next((str(rows[name].iloc[0]) for name in ("definition", "metric", "measure") if name in rows and len(rows)), "")
    return "/".join(recipes[0].split("/")[:2]) if recipes else "", metric


def aligned(tables: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Tables (n_units, n_seeds) with the seeds that all tables of several seeds share; a single seed is repeated for each."""
    several = [{*table.columns} for table in tables if table.shape[1] > 1]
    seeds = sorted(set.intersection(*several)) if several else [0]
    return [
        table[seeds] if table.shape[1] > 1 else pd.concat([table.set_axis([seed], axis=1) for seed in seeds], axis=1)
        for table in tables
    ]


def _error_of_single(terms: Sequence[Term], beside_runs: bool) -> float:
    """Standard error of the mean over units, from terms with a single seed, as if errors of units were fully correlated.

    beside_runs: whether other terms have several seeds; an unknown error then counts as 0, otherwise as nan.
    """
    errors = [0.0 if term.numbers.selection.source == "published" else _mean(term.error) for term in terms]
    return math.hypot(*(0.0 if beside_runs and math.isnan(error) else error for error in errors))


def _mean(values: pd.Series) -> float:
    return float(values.mean(skipna=False))
