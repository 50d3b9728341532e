"""Small forest plots, as SVG: the effects of a claim with their intervals, where the claim expects them, and their controls."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from crosslens.numerics.estimates import Correlation
from crosslens.reports.claims.contrasts import Part
from crosslens.reports.claims.ledger import Region

WIDTH, MARGIN, ROW, AXIS = 360.0, 8.0, 34.0, 22.0  # of a picture, its sides, a line of it, and the axis below, in CSS pixels
LONGEST = 34  # characters of a line's name


class Line(NamedTuple):
    """A line of a picture. kind: effect, control or printed."""

    kind: str
    name: str
    value: float
    low: float
    high: float
    digits: int
    signed: bool  # whether it is a difference


class Scale(NamedTuple):
    """From numbers to places."""

    low: float
    high: float

    def __call__(self, number: float) -> float:
        """The place of a number, inside the picture."""
        share = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return MARGIN + share * (WIDTH - 2 * MARGIN)


def forest(parts: Sequence[Part], controls: Sequence[Part], printed: float | None, title: str) -> str:
    """The picture: a line an effect, hollow and dashed ones for controls, a triangle where the paper printed the same number.

    Where effects are claimed to lie is shaded, for all alike or each by itself. "" where there is nothing to show.
    """
    parts = [part for part in parts if not math.isnan(part.estimate.value)]
    lines = [*_lines("effect", parts), *_lines("control", controls)]
    if not lines:
        return ""
    lines += [Line("printed", "the paper", printed, printed, printed, *lines[0][5:])] if printed is not None else []
    scale = _scale(lines, [part.region for part in parts])
    regions = {part.region.ends for part in parts}
    height = len(lines) * ROW + AXIS
    drawn = [f'<svg class="forest" viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(title)}">']
    for place, line in enumerate(lines):
        region = parts[place].region if line.kind == "effect" else parts[0].region if len(regions) == 1 else None
        drawn += [*_band(region, scale, place * ROW), *_drawn(line, scale, place * ROW)]
    return "".join([*drawn, *_axis(scale, height), "</svg>"])


def number(value: float, digits: int, *, plus: bool = True) -> str:
    """A number in words, with a sign."""
    text = f"{value:{'+' * plus}.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("+-")


def interval(line: "Line | Part") -> str:
    """A value with its interval: −6.7 (−7.1 to −6.3)."""
    if isinstance(line, Part):
        (line,) = _lines("effect", [line]) or (Line("", "", math.nan, math.nan, math.nan, 0, False),)
    if math.isnan(line.value):
        return "–"
    low, high = (number(end, line.digits, plus=False) for end in (line.low, line.high))
    ends = f" ({low} to {high})"
    return number(line.value, line.digits, plus=line.signed) + ends * (not math.isnan(line.low) and line.low < line.high)


def _lines(kind: str, parts: Sequence[Part]) -> list[Line]:
    made = []
    for part in parts:
        digits = 2 if isinstance(part.estimate, Correlation) or abs(part.estimate.value) < 1 else 1
        if not math.isnan(part.estimate.value):
            made.append(Line(kind, part.name, *part.estimate.interval(), digits, part.estimate.bounds[0] < 0))
    return made


def _scale(lines: Sequence[Line], regions: Sequence[Region]) -> Scale:
    """Wide enough for all lines, zero, and the ends of regions."""
    numbers = [0.0, *(value for line in lines for value in line[2:5])]
    numbers += [end for region in regions for end in region.ends]
    numbers = [value for value in numbers if math.isfinite(value)]
    low, high = min(numbers), max(numbers)
    pad = 0.06 * (high - low) or 1.0
    return Scale(low - pad, high + pad)


def _band(region: Region | None, scale: Scale, top: float) -> Iterator[str]:
    """What lies behind an interval: where it is claimed to be, and zero."""
    if region is not None:
        low, high = (scale(end) for end in region.ends)
        yield f'<rect class="claimed" x="{low:.1f}" y="{top + 16:g}" width="{high - low:.1f}" height="{ROW - 18:g}"/>'
    yield f'<line class="zero" x1="{scale(0):.1f}" x2="{scale(0):.1f}" y1="{top + 16:g}" y2="{top + ROW - 2:g}"/>'


def _drawn(line: Line, scale: Scale, top: float) -> Iterator[str]:
    """Name and number above, the interval below."""
    y, x = top + 24, scale(line.value)
    name = line.name if len(line.name) <= LONGEST else f"{line.name[: LONGEST - 1]}…"
    label = {"effect": name or "effect", "control": f"control{': ' * bool(name)}{name}", "printed": line.name}[line.kind]
    text = interval(line)
    yield f'<text x="{MARGIN:g}" y="{top + 12:g}">{escape(label)}</text>'
    yield f'<text class="number" x="{WIDTH - MARGIN:g}" y="{top + 12:g}">{text}</text>'
    if not math.isnan(line.low) and line.low < line.high:
        low, high = scale(line.low), scale(line.high)
        yield f'<path class="{line.kind}" d="M{low:.1f} {y:g}H{high:.1f}M{low:.1f} {y - 4:g}v8M{high:.1f} {y - 4:g}v8"/>'
    match line.kind:
        case "effect":
            yield f'<circle class="effect" cx="{x:.1f}" cy="{y:g}" r="4.5"/>'
        case "control":
            yield f'<rect class="control" x="{x - 4:.1f}" y="{y - 4:g}" width="8" height="8"/>'
        case _:
            yield f'<path class="printed" d="M{x:.1f} {y - 5:g}l5.5 10h-11z"/>'


def _axis(scale: Scale, height: float) -> Iterator[str]:
    """At most six round numbers below."""
    span = scale.high - scale.low
    power = 10.0 ** math.floor(math.log10(span))
    step = next(factor * power for factor in (0.2, 0.5, 1, 2) if span <= 6 * factor * power or factor == 2)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    y = height - AXIS
    yield f'<line class="axis" x1="{MARGIN:g}" x2="{WIDTH - MARGIN:g}" y1="{y:g}" y2="{y:g}"/>'
    for tick in range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1):
        x = scale(tick * step)
        yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{y:g}" y2="{y + 4:g}"/>'
        label = number(tick * step, digits, plus=False)
        yield f'<text class="tick" x="{x:.1f}" y="{y + 16:g}">{label}</text>'
