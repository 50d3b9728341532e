"""Wording of intervals in captions and notes of all papers, by numbers of seeds."""

from collections.abc import Iterable


def by_seeds(numbers: Iterable[int], several: str, single: str) -> str:
    """A clause on values that rest on these numbers of seeds: `several`, `single`, or both.

    several: {} stands for the numbers above 1. single: of one seed.

    >>> by_seeds([3, 3], "the range over {} seeds", "the jackknife")
    'the range over 3 seeds'
    >>> by_seeds([1, 3], "the range over {} seeds", "the jackknife")
    'the range over 3 seeds or, of a single seed, the jackknife'
    """
    distinct = {*numbers}
    above = " or ".join(map(str, sorted(distinct - {1})))
    clauses = [several.format(above)] * bool(above) + [single] * (1 in distinct)
    return " or, of a single seed, ".join(clauses)


def interval(numbers: Iterable[int], single: str = "the jackknife over texts") -> str:
    """A clause that names the interval of a value (crosslens.reports.cells.cell); single: that of a single seed."""
    return by_seeds(numbers, "Student's t over {} seeds", single)
