"""A table as it is printed: a row for the cells that share row, metric and definition; as a page of HTML to read."""

import csv
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

ROW = ("row", "metric", "definition")
DETAILS = ("sd", "seeds", "n")
INSIDE = ("low", "high", "published", "difference", *DETAILS)  # of a cell, beside its value
REMARK = "remark"

STYLE = """
body { font: 14px/1.4 Helvetica, Arial, sans-serif; color: #222; background: #fff; margin: 1.5em; }
table { border-collapse: collapse; }
th { position: sticky; top: 0; background: #d6e8f4; text-align: left; vertical-align: bottom; }
th, td { padding: 0.3em 0.7em; border-bottom: 1px solid #ddd; }
td { vertical-align: top; max-width: 32em; }
.text { min-width: 7em; }
.number { text-align: right; white-space: nowrap; }
.published { color: #b34e00; display: block; }
small { color: #666; display: block; }
"""


def page(path: Path, title: str) -> str:
    """The page of a table; columns such as `X low` and `X published` go into the cells of X."""
    columns, rows = read(path)
    inside = {f"{name} {end}" for name in columns for end in INSIDE}
    hidden = _hidden(rows)
    shown = [name for name in columns if name not in inside | hidden]
    head = "".join(f"<th>{escape(name)}</th>" for name in shown)
    body = "\n".join(f"<tr>{''.join(_cell(row, name) for name in shown)}</tr>" for row in rows)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</body>\n</html>\n"
    )


def read(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Columns and rows of a table (crosslens.cells) as it is printed, as text; remarks on a row's cells are joined at its end."""
    with path.open(newline="", encoding="utf-8") as stream:
        cells = list(csv.DictReader(stream))
    heads: dict[str, None] = {}
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for cell in cells:
        key = tuple(cell[name] for name in ROW)
        row = rows.setdefault(key, dict(zip(ROW, key, strict=True)))
        values = {cell["column"]: cell["here"]} | {f"{cell['column']} {end}": cell[end] for end in INSIDE}
        heads |= dict.fromkeys(values)
        row |= values
        remarks = [*row.get(REMARK, "").split("; "), *cell[REMARK].split("; ")]
        row[REMARK] = "; ".join(filter(None, dict.fromkeys(remarks)))
    columns = [*ROW, *heads, REMARK]
    return columns, [{name: row.get(name, "") for name in columns} for row in rows.values()]


def _hidden(rows: Sequence[Mapping[str, str]]) -> set[str]:
    """Of metric and definition, what says nothing: the same in all rows, or a repetition."""
    hidden = {name for name in ROW[1:] if len({row[name] for row in rows}) < 2}
    return hidden | ({"metric"} if all(row["metric"] in row["definition"] for row in rows) else set())


def _cell(row: Mapping[str, str], name: str) -> str:
    value, low, high, published = row.get(name, ""), *(row.get(f"{name} {end}") for end in ("low", "high", "published"))
    kind = "number" if not value or _is_number(value) else "text"
    lines = [escape(value)]
    if low and high:
        lines.append(f"<small>{escape(low)} to {escape(high)}</small>")
    details = [f"{end} {found}" for end in DETAILS if (found := row.get(f"{name} {end}"))]
    if details:
        lines.append(f"<small>{escape(', '.join(details))}</small>")
    if published:
        difference = row.get(f"{name} difference")
        apart = f" (difference {escape(difference)})" if difference else ""
        lines.append(f'<span class="published">paper {escape(published)}{apart}</span>')
    return f'<td class="{kind}">{"".join(lines)}</td>'


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
