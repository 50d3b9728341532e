"""Numbers, durations, sizes and lists in readable form."""

from collections.abc import Iterable, Sequence

SHORT = 3  # names in a shortened list


def number(value: float, digits: int, *, plus: bool = True) -> str:
    """A number as text, with a true minus sign; zero has no sign.

    plus: whether a positive number has a sign too.
    """
    text = f"{value:{'+' * plus}.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("+-")


def duration(seconds: float) -> str:
    """A duration in readable form: 42 s, 3 min 20 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    return f"{whole // 60} min {whole % 60:02} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02} min"


def rounded(seconds: float) -> str:
    """A duration as precise as an estimate: 40 s, 6 min, 80 min, 4 h."""
    units = ((3600, "h"), (60, "min"), (1, "s"))
    size, unit = next((size, unit) for size, unit in units if seconds >= 2 * size or size == 1)
    return f"{seconds / size:,.0f} {unit}"


def readable(size: int) -> str:
    """A number of bytes in readable form: 17.9 MB."""
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if size >= 10**power:
            return f"{size / 10**power:.1f} {unit}"
    return f"{size} bytes"


def counted(number: int, noun: str) -> str:
    """A number of things in words: 1 job, 1,200 jobs."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def listed(names: Iterable[str]) -> str:
    """Names in words: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def shortened(names: Sequence[object], most: int = SHORT) -> str:
    """The first names in words, at most `most` of them, and the number of the others: a, b, c and 4 more."""
    return ", ".join(map(str, names[:most])) + f" and {len(names) - most} more" * (len(names) > most)
