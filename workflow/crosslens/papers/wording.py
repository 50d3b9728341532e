"""How captions and notes of all papers describe intervals, depending on the number of seeds."""

from collections.abc import Iterable


def by_seeds(numbers: Iterable[int], several: str, single: str) -> str:
    """A clause that describes values based on these numbers of seeds: `several`, `single`, or both.

    several: clause for several seeds, with {} for the numbers above 1; single: clause for one seed.

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
    """A clause that says how intervals are computed (crosslens.reports.cells.cell). single: the clause for a single seed."""
    return by_seeds(numbers, "Student's t over {} seeds", single)
