"""Effects of a claims file: sums, differences and correlations of selected numbers, with estimates of how much they vary."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from itertools import pairwise
from typing import Any, NamedTuple

import pandas as pd

from crosslens.config.base import languages_table
from crosslens.numerics.estimates import Correlation, Estimate, add_errors, correlation, over_languages, over_runs
from crosslens.reports.claims.claims_file import ClaimsFile, Effect, Region, Selector
from crosslens.reports.claims.evidence import Evidence, Missing, Numbers, Unconfigured

NOTHING = "none"  # `over` of an exact number
UNBOUNDED = (-math.inf, math.inf)
POSITIVE = Region(above=0)
Functions = Callable[[str], Callable[..., Any]]
"""Function of papers/PAPER/claims.py by name. It returns an estimate and the number of its units, or several of these by name.
Its `numbers` are the selections that the effect reads, in the order of the claims file: tables of numbers with their columns,
and `value`, `error` and `seed`."""


class Part(NamedTuple):
    """An effect, or one of several that an entry of the claims file stands for.

    region: where the claim expects the effect.
    n, unit: number of units, and their name in the plural; the units of a single number are texts.
    seeds: fewest seeds of a training run of an encoder among those that the effect rests on; None where no encoder was trained.
    families: number of families of languages; None where units are not languages.
    recipes: names of the training runs that the effect rests on.
    lack: reason why there is no interval, where it is known.
    mean: plain mean over languages, as papers print it; nan where units are not languages.
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
    mean: float = math.nan


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


class Contrasts:
    """Effects of a claims file."""

    def __init__(self, claims_file: ClaimsFile, evidence: Evidence, functions: Functions) -> None:
        """Effects of a claims file by the evidence of the same paper.

        functions: name -> function of the paper's claims.py.
        """
        self.claims_file, self.evidence, self.functions = claims_file, evidence, functions

    def parts(self, effect: Effect, region: Region | None) -> list[Part]:
        """Parts of an effect: one, or one for each value of `by`, each two neighbours in `order`, or each result of a function.

        Raises Missing where something is not measured.

        region: where the claim expects the effect, unless the effect states a region of its own.
        """
        region = effect.expected or region or POSITIVE
        if effect.function:
            return self._function(effect, region)
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
        """The sum of the selections in `plus` less that of those in `minus`, for each value of the effect's `by`."""
        terms = [(sign, self._numbers(effect, selector)) for sign, group in ((1, plus), (-1, minus)) for selector in group]
        groups: dict[Any, list[tuple[int, Numbers]]] = {effect.name: terms}
        if effect.by:
            columns = [self._column(effect, effect.by, numbers.rows) for _, numbers in terms]
            values = set.intersection(
                *({*numbers.rows[column].dropna()} for column, (_, numbers) in zip(columns, terms, strict=True))
            )
            values = {*filter(_is_language, values)} if effect.by == "language" else values
            groups = {
                " ".join(filter(None, (effect.name, _plain(value)))): [
                    (sign, numbers._replace(rows=numbers.rows[numbers.rows[column] == value]))
                    for column, (sign, numbers) in zip(columns, terms, strict=True)
                ]
                for value in sorted(values - {*effect.without})
            }
        bounds = (-100.0 * len(minus), 100.0 * len(plus)) if effect.score else UNBOUNDED
        for name, terms_of_group in groups.items():
            yield self._part(effect, region, name, terms_of_group, bounds)

    def _part(
        self, effect: Effect, region: Region, name: str, terms: Sequence[tuple[int, Numbers]], bounds: tuple[float, float]
    ) -> Part:  # fmt: skip
        """A sum of terms with its estimate.

        terms: sign, 1 or -1, and numbers of each.
        bounds: least and greatest possible sum.
        """
        axis = None if effect.over in ("seed", "text", NOTHING) else effect.over
        sides = [(sign, self._side(effect, numbers, axis)) for sign, numbers in terms]
        units = [unit for unit in sides[0][1].values.index if all(unit in side.values.index for _, side in sides)]
        if not units:
            raise Missing(f"{name or 'effect'}: no {effect.over} that all selections have")
        common_seeds = _common_seeds([side for _, side in sides])
        total = reduce(pd.DataFrame.add, (sign * _by_seed(side.values.loc[units], common_seeds) for sign, side in sides))
        over_seeds = [side for _, side in sides if side.numbers.over_seeds]
        # As if errors of units were fully correlated: the error of their mean is the mean of their errors.
        errors = [
            Estimate(0.0, _mean(side.error.loc[units]), float(side.freedom.loc[units].min()))
            for side in over_seeds or [side for _, side in sides]
        ]
        seeds, recipes = self._training_runs([numbers for _, numbers in terms])
        part = Part(name, region, Estimate.exact(0.0), len(units), effect.over, seeds, None, recipes)
        if axis is None:
            mean, estimate = total.to_numpy(float)[0], Estimate(float(total.to_numpy(float).mean()), math.nan, bounds=bounds)
            if effect.over == NOTHING:
                return part._replace(estimate=Estimate.exact(estimate.value), n=None, unit="")
            if len(mean) > 1 and effect.over == "seed":
                return part._replace(estimate=over_runs(mean, bounds), n=len(mean), unit="seeds")
            if not any(math.isnan(error.error) for error in errors):
                estimate = add_errors(Estimate(estimate.value, 0.0, bounds=bounds), *errors)
            has_n = all(side.n.notna().all() for _, side in sides)
            n = int(min(side.n.loc[units].min() for _, side in sides)) if has_n else None
            fewest = min((int(side.numbers.rows["seeds"].min()) for side in over_seeds), default=0)
            return part._replace(estimate=estimate, n=fewest or n, unit="seeds" if fewest else "texts")
        families = [_family(unit) for unit in units] if self._names_languages(effect) else [str(unit) for unit in units]
        estimate = over_languages(total.to_numpy(float), families, bounds)
        if over_seeds:
            estimate = add_errors(estimate, *(error for error in errors if error.error > 0))
        if not self._names_languages(effect):
            return part._replace(estimate=estimate, unit=_plural(effect.over))
        mean = float(total.to_numpy(float).mean())
        return part._replace(estimate=estimate, families=len({*families}), unit="languages", mean=mean)

    def _correlation(self, effect: Effect, region: Region) -> Part:
        """Correlation of the means over seeds of two selections, over the units that both have."""
        if effect.points:
            numbers_x, numbers_y = ([self._numbers(effect, point, axis) for point in effect.points] for axis in ("x", "y"))
            x, y = (pd.Series([_mean(numbers.rows["value"]) for numbers in points]) for points in (numbers_x, numbers_y))
            unit = "models"
        else:
            numbers_x, numbers_y = ([self._numbers(effect, getattr(effect, axis))] for axis in ("x", "y"))
            x, y = (self._side(effect, numbers, effect.over).values.mean(axis=1) for numbers in (*numbers_x, *numbers_y))
            unit = "languages" if self._names_languages(effect) else _plural(effect.over)
        units = x.index.intersection(y.index)
        seeds, recipes = self._training_runs([*numbers_x, *numbers_y])
        estimate = correlation(x[units].to_numpy(float), y[units].to_numpy(float), ranks=effect.ranks)
        families = len({*map(_family, units)}) if unit == "languages" else None
        return _with_enough_units(Part(effect.name, region, estimate, len(units), unit, seeds, families, recipes), effect.least)

    def _function(self, effect: Effect, region: Region) -> list[Part]:
        """Results of a function of the paper: one part, or one for each of several results with names."""
        selected = [self._numbers(effect, selector) for selector in effect.reads]
        result = self.functions(str(effect.function))([numbers.rows for numbers in selected], **effect.settings)
        seeds, recipes = self._training_runs(selected)
        estimates: Mapping[str, tuple[Estimate, int]] = result if isinstance(result, dict) else {"": result}
        if not estimates:
            raise Unconfigured(f"{effect.function}: none of its trainings at this scale")
        unit = _plural(effect.over)
        parts = [
            Part(", ".join(filter(None, (effect.name, name))), region, estimate, n, unit, seeds, None, recipes)
            for name, (estimate, n) in estimates.items()
        ]
        return [_with_enough_units(part, effect.least) if isinstance(part.estimate, Correlation) else part for part in parts]

    def _numbers(self, effect: Effect, selector: Selector, place: str = "") -> Numbers:
        return self.evidence.numbers(self.claims_file.selection(effect.shared(place), selector), effect.scale)

    def _side(self, effect: Effect, numbers: Numbers, axis: str | None) -> Side:
        """Numbers of a selection by the values of a column, as means over all that is neither this column nor seeds.

        axis: the column, or "language"; None: all numbers are of one unit.
        """
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
        """The column of an axis. Languages are in the column that the effect states, or in the first one that has any."""
        if axis != "language":
            return axis
        columns = [effect.languages] if effect.languages else ["language", "row", "column"]
        column = next((name for name in columns if name in rows and rows[name].map(_is_language).any()), None)
        if column is None:
            raise Missing("no language among the numbers")
        return column

    def _names_languages(self, effect: Effect) -> bool:
        """Whether the units of an effect are languages."""
        return effect.over == "language" or effect.languages is not None and effect.over == effect.languages

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
    """A correlation, which loses its interval where it has fewer than `least` units."""
    if part.n is None or part.n >= least:
        return part
    return part._replace(
        estimate=replace(part.estimate, error=math.nan), lack=f"{part.n} {part.unit}, at least {least} needed"
    )  # fmt: skip


def _common_seeds(sides: Sequence[Side]) -> list[int] | None:
    """Seeds that all sides with several seeds share; None where no side has several."""
    several = [{*side.values.columns} for side in sides if side.values.shape[1] > 1]
    return sorted(set.intersection(*several)) if several else None


def _by_seed(values: pd.DataFrame, seeds: list[int] | None) -> pd.DataFrame:
    """Values (n_units, n_seeds) of these seeds; those of a side with a single seed are repeated for each.

    seeds: see `_common_seeds`.
    """
    if seeds is None:
        return values.set_axis([0], axis=1)
    if values.shape[1] == 1:
        return pd.concat([values.set_axis([seed], axis=1) for seed in seeds], axis=1)
    return values[seeds]


def _mean(values: pd.Series) -> float:
    return float(values.mean(skipna=False))


def _is_language(name: Any) -> bool:
    return _code(name) is not None


def _family(name: Any) -> str:
    code = _code(name)
    return languages_table()[code]["family"] or code if code else str(name)


@cache
def _code(name: Any) -> str | None:
    """Code of the language that a row or column names; None where it names none.

    A name is a code, with or without the mark of a note (zh*), a language's English name, or a pair with English (en-de, de->en),
    which stands for the other language.
    """
    table, text = languages_table(), str(name).rstrip("*")
    if text in table:
        return text
    codes = {row["name"]: code for code, row in table.items()}
    pair = [code for code in text.replace("->", "-").split("-") if code in table]
    return codes.get(text) or (next((code for code in pair if code != "en"), None) if len(pair) == 2 else None)


def _plural(axis: str) -> str:
    return {NOTHING: "", "x": "numbers of directions"}.get(axis, f"{axis}s")


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _title(selector: Selector) -> str:
    if isinstance(selector, str):
        return selector
    return str(selector.get("selection") or ", ".join(map(str, selector.values())))
