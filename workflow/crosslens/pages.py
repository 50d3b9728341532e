"""A CSV table as a page of HTML to read: a value, its interval and what was published side by side."""

import csv
from collections.abc import Mapping
from html import escape
from pathlib import Path

STYLE = """
body { font: 14px/1.4 Helvetica, Arial, sans-serif; color: #222; background: #fff; margin: 1.5em; }
table { border-collapse: collapse; }
th { position: sticky; top: 0; background: #d6e8f4; text-align: left; vertical-align: bottom; }
th, td { padding: 0.3em 0.7em; border-bottom: 1px solid #ddd; }
td { vertical-align: top; max-width: 32em; }
.number { text-align: right; white-space: nowrap; }
.published { color: #b34e00; }
small { color: #666; }
"""


def page(path: Path, title: str) -> str:
    """The page of a CSV file; columns `X low` and `X high` go into the cells of X, as its interval."""
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        columns, rows = list(reader.fieldnames or ()), list(reader)
    bounds = {f"{name} {end}" for name in columns for end in ("low", "high")}
    shown = [name for name in columns if name not in bounds]
    head = "".join(f"<th>{escape(name)}</th>" for name in shown)
    body = "\n".join(f"<tr>{''.join(_cell(row, name) for name in shown)}</tr>" for row in rows)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</body>\n</html>\n"
    )


def _cell(row: Mapping[str, str], name: str) -> str:
    value, low, high = row[name], row.get(f"{name} low"), row.get(f"{name} high")
    kinds = ["number"] * _is_number(value) + ["published"] * name.endswith("published")
    interval = f" <small>[{escape(low)}, {escape(high)}]</small>" if low and high else ""
    return f'<td class="{" ".join(kinds)}">{escape(value)}{interval}</td>'


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
