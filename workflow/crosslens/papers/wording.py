"""What captions and notes of all papers say of intervals, by the numbers of seeds that are there."""

from collections.abc import Iterable


def by_seeds(numbers: Iterable[int], several: str, one: str) -> str:
    """A clause on values that rest on these numbers of seeds: `several`, where {} stands for the numbers above 1, `one`, or both.

    >>> by_seeds([3, 3], "the range over {} seeds", "the jackknife")
    'the range over 3 seeds'
    >>> by_seeds([1, 3], "the range over {} seeds", "the jackknife")
    'the range over 3 seeds or, of a single seed, the jackknife'
    """
    distinct = {*numbers}
    above = " or ".join(map(str, sorted(distinct - {1})))
    clauses = [several.format(above)] * bool(above) + [one] * (1 in distinct)
    return " or, of a single seed, ".join(clauses)


def interval(numbers: Iterable[int], one: str = "the jackknife over texts") -> str:
    """What the interval of a value is (crosslens.cells.cell); one: that of a single seed."""
    return by_seeds(numbers, "Student's t over {} seeds", one)
