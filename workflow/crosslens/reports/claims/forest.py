"""Small forest plots as SVG: effects of a claim and its controls with their intervals, over the region that is claimed."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from crosslens.jobs.quantities import number
from crosslens.numerics.estimates import Correlation, Estimate
from crosslens.numerics.intervals import LEVEL
from crosslens.reports.claims.claims_file import Region
from crosslens.reports.claims.effects import Part

WIDTH, MARGIN = 360.0, 8.0  # of a picture, in CSS pixels
ROW, AXIS = 34.0, 22.0  # heights of a line and of the axis below all lines, in CSS pixels
LONGEST = 34  # characters; longer names of lines are cut
STYLE = """\
.holds { color: #00568c; } .fails { color: #b34700; } .undecided { color: #555; }
.control-fails { color: #8a3d73; } .not-measured { color: #666; }
.forest { width: 100%; max-width: 24rem; display: block; font: 11.5px system-ui, "Helvetica Neue", Arial, sans-serif; }
.forest text { fill: #333; } .forest .number { text-anchor: end; } .forest .tick { text-anchor: middle; fill: #555; }
.forest .claimed { fill: #e3eef6; } .forest .zero { stroke: #888; } .forest .axis { stroke: #888; }
.forest path { fill: none; stroke-width: 2; } .forest path.effect { stroke: #00568c; } .forest circle.effect { fill: #00568c; }
.forest path.control { stroke: #777; stroke-dasharray: 4 2; stroke-width: 1.5; }
.forest rect.control { fill: #fff; stroke: #777; stroke-width: 1.5; }
.forest path.printed { fill: #b34700; stroke: none; }
"""
"""Style sheet of pictures, with the colours of verdicts on the page."""


class Line(NamedTuple):
    """A line of a picture: a value and the ends of its interval.

    kind: effect, control or printed.
    digits: decimals of its numbers.
    """

    kind: str
    name: str
    value: float
    low: float
    high: float
    digits: int
    signed: bool  # whether it is a difference
    symbol: str  # before the value: "r = " for a correlation, else ""


class Scale(NamedTuple):
    """Range of numbers that a picture shows; calling it converts a number into a place."""

    low: float
    high: float

    def __call__(self, number: float) -> float:
        """Place of a number from the left, in CSS pixels; a number beyond the range is put at its end."""
        share = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return MARGIN + share * (WIDTH - 2 * MARGIN)


def forest(parts: Sequence[Part], controls: Sequence[Part], printed: float | None, title: str) -> str:
    """A picture as SVG, with one line for each effect and control; "" if none of them has a value.

    Controls are hollow and dashed. The region that is claimed is shaded.

    printed: printed number, shown as a triangle on its own line; None if there is none.
    title: text for readers who do not see the picture.
    """
    parts, controls = ([part for part in group if not math.isnan(part.estimate.value)] for group in (parts, controls))
    groups = (("effect", parts), ("control", controls))
    lines = [_line(kind, part.name, part.estimate) for kind, group in groups for part in group]
    if not lines:
        return ""
    digits = max(line.digits for line in lines)
    lines = [line._replace(digits=digits) for line in lines]
    lines += [Line("printed", "the paper", printed, printed, printed, *lines[0][5:])] if printed is not None else []
    regions = [part.region for part in parts]
    common = regions[0] if len({region.ends for region in regions}) == 1 else None
    elements, height = drawing(lines, [*regions, *[common] * (len(lines) - len(regions))])
    return f'<svg class="forest" viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(title)}">{elements}</svg>'


def drawing(lines: Sequence[Line], regions: Sequence[Region | None]) -> tuple[str, float]:
    """Elements of a picture as SVG, and its height in CSS pixels; its width is WIDTH.

    regions: region that is shaded behind each line; None for none.
    """
    scale = _scale(lines, [region for region in regions if region is not None])
    height = len(lines) * ROW + AXIS
    elements = []
    for place, (line, region) in enumerate(zip(lines, regions, strict=True)):
        elements += [*_band(region, scale, place * ROW), *_marks(line, scale, place * ROW)]
    return "".join([*elements, *_axis(scale, height)]), height


def interval(estimate: Estimate, level: float = LEVEL) -> str:
    """An estimate with its interval as text: −6.7 (−7.1 to −6.3), or r = −0.67 (−0.71 to −0.63) for a correlation.

    level: share of intervals that miss the true value.
    """
    return "–" if math.isnan(estimate.value) else _text(_line("", "", estimate, level))


def _text(line: Line) -> str:
    """The numbers of a line as text: its value and, if it has a width, its interval."""
    low, high = (number(end, line.digits, plus=False) for end in (line.low, line.high))
    ends = f" ({low} to {high})" * (not math.isnan(line.low) and line.low < line.high)
    return f"{line.symbol}{number(line.value, line.digits, plus=line.signed)}{ends}"


def _line(kind: str, name: str, estimate: Estimate, level: float = LEVEL) -> Line:
    """A line for an estimate, with two decimals if it is a correlation or below 1 in size, otherwise one."""
    is_correlation = isinstance(estimate, Correlation)
    digits = 2 if is_correlation or abs(estimate.value) < 1 else 1
    return Line(kind, name, *estimate.interval(level), digits, estimate.bounds[0] < 0, "r = " * is_correlation)


def _scale(lines: Sequence[Line], regions: Sequence[Region]) -> Scale:
    """A range that includes all lines, zero, and the finite ends of regions, with a margin."""
    numbers = [0.0, *(value for line in lines for value in line[2:5])]
    numbers += [end for region in regions for end in region.ends]
    numbers = [value for value in numbers if math.isfinite(value)]
    low, high = min(numbers), max(numbers)
    pad = 0.06 * (high - low) or 1.0
    return Scale(low - pad, high + pad)


def _band(region: Region | None, scale: Scale, top: float) -> Iterator[str]:
    """The background of a line: the region that is claimed, and a vertical line at zero."""
    if region is not None:
        low, high = (scale(end) for end in region.ends)
        yield f'<rect class="claimed" x="{low:.1f}" y="{top + 16:g}" width="{high - low:.1f}" height="{ROW - 18:g}"/>'
    yield f'<line class="zero" x1="{scale(0):.1f}" x2="{scale(0):.1f}" y1="{top + 16:g}" y2="{top + ROW - 2:g}"/>'


def _marks(line: Line, scale: Scale, top: float) -> Iterator[str]:
    """Name and number of a line, and below them its interval and the mark of its value."""
    y, x = top + 24, scale(line.value)
    name = line.name if len(line.name) <= LONGEST else f"{line.name[: LONGEST - 1]}…"
    label = {"effect": name or "effect", "control": f"control{': ' * bool(name)}{name}", "printed": line.name}[line.kind]
    text = _text(line)
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
    """The axis below all lines, with at most six round numbers."""
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
