"""Pictures of verdicts: docs/what-holds-PAPER.svg, and docs/what-holds.svg with only the first claims of the headline paper.

They show the central claims of a paper that were measured, as docs/results/laptop/claims.csv has them.
"""

import math
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from textwrap import wrap

from crosslens.commands.documents.templates import Tables, is_tried
from crosslens.numerics.intervals import LEVEL
from crosslens.papers import papers
from crosslens.reports.claims.claims_file import Region
from crosslens.reports.claims.forest import STYLE, WIDTH, Line, drawing
from crosslens.reports.claims.pages import counted

PRESET = "laptop"
FIRST = 3  # claims in docs/what-holds.svg
LEFT = 470  # place of the plots from the left, in CSS pixels; the words are before it
SPACE = 14  # above and below a claim, in CSS pixels
HEIGHTS = {"verdict": 22, "claim": 20, "fact": 17, "note": 17}  # of a line of words, in CSS pixels
COLUMNS = {"verdict": 50, "claim": 50, "fact": 64, "note": 120}  # characters of a line of words
WORDS = """\
.words { font: 12.5px system-ui, "Helvetica Neue", Arial, sans-serif; fill: #444; }
.words .verdict { font-size: 16px; font-weight: 600; fill: currentColor; }
.words .claim { font-size: 14.5px; font-weight: 600; fill: #222; }
.rule { stroke: #ddd; }
"""
"""Style sheet of the words at the left of plots."""


def documents(root: Path) -> dict[str, str]:
    """Text of each picture by its path in the repository; a paper without such claims has none."""
    rows = [row for row in Tables(root).claims(PRESET) if row["central"] == "True" and is_tried(row)]
    pictures = {f"-{paper.key}": [row for row in rows if row["paper"] == paper.key] for paper in papers()}
    pictures[""] = rows[:FIRST]
    return {f"docs/what-holds{name}.svg": picture(claims) for name, claims in pictures.items() if claims}


def picture(rows: list[dict[str, str]]) -> str:
    """Claims one below another as SVG: verdict and claim in words, with effect and control as a forest plot at their right.

    rows: rows of the table of claims, as text.
    """
    claims, top = [], 0.0
    for row in rows:
        words, bottom = _words(_texts(row), row["verdict"])
        lines = [line for line in (_line("effect", row), _line("control", row)) if not math.isnan(line.value)]
        digits = min(line.digits for line in lines)
        lines = [line._replace(digits=digits) for line in lines]
        plot, height = drawing(lines, [Region.model_validate(row["claimed"])] * len(lines))
        claims.append(
            f'<g transform="translate(0 {top:g})"><path class="rule" d="M0 0H{LEFT + WIDTH:g}"/><g class="words">{words}</g>'
            f'<g class="forest" transform="translate({LEFT} {SPACE})">{plot}</g></g>'
        )
        top += max(bottom, height + SPACE) + SPACE
    encoders = ", ".join(dict.fromkeys(name for row in rows for name in row["encoder"].split(", ")))
    note, bottom = _words([("note", f"Lines are 95 % intervals. Encoder: {encoders}.")])
    claims.append(f'<g class="words" transform="translate(0 {top:g})">{note}</g>')
    top += bottom + SPACE
    title = "; ".join(f"{row['says'].removesuffix('.')}: {row['verdict']}" for row in rows)
    width = f"{LEFT + WIDTH:g}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top:g}" width="{width}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{STYLE}{WORDS}</style>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            *claims,
            "</svg>\n",
        ]
    )


def _words(texts: Iterable[tuple[str, str]], verdict: str = "") -> tuple[str, float]:
    """Texts with their kinds as lines of SVG, and the place of the last line from the top, in CSS pixels."""
    elements, y = [], float(SPACE)
    for kind, text in texts:
        for line in wrap(text, COLUMNS[kind]):
            y += HEIGHTS[kind]
            style = f"{kind} {verdict.replace(' ', '-')}" if kind == "verdict" else kind
            elements.append(f'<text class="{style}" x="0" y="{y:g}">{escape(line)}</text>')
    return "".join(elements), y


def _texts(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Kind and text of each line about a claim."""
    yield "verdict", ": ".join(filter(None, (row["verdict"], row["cause"])))
    yield "claim", row["says"]
    yield "fact", f"Quantity: {row['quantity']}"
    yield "fact", f"Claimed: {row['claimed']}; measured over {counted(int(row['n']), row['unit'])}"
    if (level := float(row["level"])) < LEVEL:
        yield "fact", f"Decided at {100 * (1 - level):.1f} % (Holm); the line is at 95 %"
    if row["control"]:
        yield "fact", f"Control: whether {row['control_shows']}"
    yield "fact", f"The paper: {row['printed']}"


def _line(kind: str, row: dict[str, str]) -> Line:
    """The effect or the control of a claim as a line of a plot; its value is nan if the claim has none."""
    names = ("effect", "low", "high") if kind == "effect" else ("control", "control_low", "control_high")
    texts = [row[name] for name in names]
    digits = max(len(text.partition(".")[2]) for text in texts)
    value, low, high = (float(text or "nan") for text in texts)
    return Line(kind, row[f"{kind}_of"], value, low, high, digits, signed=False, symbol="")
