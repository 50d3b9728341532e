"""Pages to read, in HTML and complete in themselves: one of each table and figure, and a report of all those of a paper."""

import csv
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt

from crosslens.storage.records import read_json
from crosslens.storage.seals import verified

TEMPLATE = Path(__file__).with_name("page.html.j2")
Terms = Mapping[str, Any]  # resources/terms.yaml


def page(settings: Mapping[str, Any], files: Iterable[Path], terms: Terms, command: str | None, template: Path = TEMPLATE) -> str:
    """A page of one or several items.

    settings: of crosslens.reports.about. files: what each item is made of, ITEM.csv or ITEM.svg, in the order of the settings;
    its record lies beside it. command: which makes the page.
    """
    glossary = terms["names"].get(settings["paper"], {}), terms["definitions"], terms["verdicts"]
    items = [_item(item, file, *glossary) for item, file in zip(settings["items"], files, strict=True)]
    definitions = {name: meaning for item in items for name, meaning in item["definitions"].items()}
    jinja = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    markdown = MarkdownIt("commonmark", {"html": False})
    jinja.filters["markdown"] = markdown.render
    jinja.filters["inline"] = markdown.renderInline
    given = {**settings, "items": items, "definitions": definitions, "command": command}
    return jinja.from_string(template.read_text("utf-8")).render(given)


def read_terms(path: Path) -> Terms:
    """The meanings of names: `definitions` and `verdicts`, name -> meaning, and `names`, paper -> name -> meaning."""
    found: Terms = yaml.safe_load(path.read_text("utf-8"))
    return found


def _item(settings: Mapping[str, Any], file: Path, *glossary: Mapping[str, str]) -> dict[str, Any]:
    """A table or a figure as the template takes it. glossary: names, definitions and verdicts, see `meanings`."""
    record = read_json(file.with_name(f"{file.name}.json"))
    links = [file.name, *([f"{file.stem}.png"] if file.suffix == ".svg" else []), f"{file.name}.json"]
    item = {**settings, "id": file.stem, "record": record, "links": links, "table": None, "image": None}
    if file.suffix == ".svg":
        return item | {"image": b64encode(verified(file).read_bytes()).decode(), "names": {}, "definitions": {}}
    with verified(file).open(newline="", encoding="utf-8") as stream:
        cells = list(csv.DictReader(stream))
    return item | {"table": table(cells, settings["decimals"]), **meanings(cells, *glossary)}


def table(cells: Sequence[Mapping[str, str]], decimals: int | None) -> dict[str, Any]:
    """Cells (crosslens.reports.cells, as text) laid out as printed: corner, columns, groups of lines that share a heading, notes.

    decimals: of our values; None: as they are, but for scores, which rest on n units. Differences are those of the table, of
    counts and settings where these are not equal. Lines are grouped by row where the rows come one after the other, otherwise by
    metric and definition; remarks become numbered notes.
    """
    columns = list(dict.fromkeys(cell["column"] for cell in cells))
    lines: dict[tuple[str, str, str], dict[str, Mapping[str, str]]] = defaultdict(dict)
    for cell in cells:
        lines[cell["row"], cell["metric"], cell["definition"]][cell["column"]] = cell
    printed = max((_decimals(cell["published"]) for cell in cells), default=0) if decimals is not None else None
    several = len({cell["seeds"] for cell in cells if cell["here"] and cell["seeds"]}) > 1
    ways = {cell["definition"] or cell["metric"] for cell in cells}
    notes: dict[str, int] = {}
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for key, (heading, name, detail) in zip(lines, _headings(list(lines)), strict=True):
        shown: list[dict[str, Any] | None] = []
        for column in columns:
            if column not in lines[key]:
                shown.append(None)
                continue
            cell = lines[key][column]
            places = 2 if decimals is None and cell["n"] else decimals
            difference = _number(cell["difference"], decimals, sign=True)
            shown.append({
                "here": _number(cell["here"], places),
                "details": _details(cell, places, several) if cell["here"] else [],
                "published": _number(cell["published"], printed),
                "difference": "" if decimals is None and difference == "+0" else difference,
                "notes": sorted(notes.setdefault(remark, len(notes) + 1) for remark in cell["remark"].split("; ") if remark),
            })  # fmt: skip
        groups[heading].append({"name": name, "detail": detail, "cells": shown})
    return {"corner": "".join(ways) if len(ways) == 1 else "", "columns": columns, "groups": groups, "notes": list(notes)}


def _details(cell: Mapping[str, str], decimals: int | None, several: bool) -> list[str]:
    """What stands below a value. several: whether the numbers of seeds differ in the table."""
    low, high = (_number(cell[end], decimals) for end in ("low", "high"))
    spread = [f"sd {_number(cell['sd'], decimals)}"] if cell["sd"] else []
    spread += [f"seeds {cell['seeds']}"] if several else []
    details = [
        f"{low} to {high}" if low and high else "",
        ", ".join(spread),
        f"n {_number(cell['n'], None)}" if cell["n"] else "",
    ]
    return list(filter(None, details))


def _headings(lines: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Of each line (row, metric, definition): heading of its group, or '', its name, and what else is said of it."""

    def runs(keys: Sequence[object]) -> int:
        return sum(before != after for before, after in zip([None, *keys], keys, strict=False))

    metrics = {metric for _, metric, _ in lines}
    apart = len(metrics) > 1 and not any(metric in definition for _, metric, definition in lines if definition)

    def ways(metric: str, definition: str) -> list[str]:
        """What distinguishes the way of computing from the others: definition, metric."""
        shown = [definition] if definition and len({line[2] for line in lines}) > 1 else []
        return shown + [metric] * (len(metrics) > 1 and metric not in definition)

    by_row, by_way = runs([row for row, _, _ in lines]), runs([line[1:] for line in lines])
    found = []
    for row, metric, definition in lines:
        names = ways(metric, definition)
        if by_row == by_way == len(lines) or not names:
            found.append(("", row, ", ".join(names)))
        elif by_way < by_row:
            found.append((", ".join(names), row, ""))
        elif apart and len(names) > 1:
            found.append((f"{row} · {metric}", definition, ""))
        else:
            found.append((row, names[0], ", ".join(names[1:])))
    return found


def meanings(
    cells: Sequence[Mapping[str, str]], names: Mapping[str, str], definitions: Mapping[str, str],
    verdicts: Mapping[str, str] | None = None,
) -> dict[str, dict[str, str]]:  # fmt: skip
    """The terms that occur in a table, in the order of the terms: `names` of rows, columns and metrics, and `definitions`.

    verdicts: that remarks begin with; those that do follow the names.
    """
    computed, other = set(), {cell[column] for cell in cells for column in ("row", "column", "metric")}
    for definition in {cell["definition"] for cell in cells}:
        parts = _longest(name for name in definitions if re.search(rf"(^|[:;] ){re.escape(name)}($|[:;] )", definition))
        computed |= parts
        for part in parts:
            definition = definition.replace(part, "")
        other.add(definition)
    named = {name for text in other for name in _longest(name for name in names if name in text)}
    beginnings = {part.partition(":")[0] for cell in cells for part in cell.get("remark", "").split("; ")}
    verdicts = {name: meaning for name, meaning in (verdicts or {}).items() if name in beginnings}
    return {
        "names": {name: meaning for name, meaning in names.items() if name in named} | verdicts,
        "definitions": {name: meaning for name, meaning in definitions.items() if name in computed},
    }


def _longest(names: Iterable[str]) -> set[str]:
    """The names that are no part of another one."""
    every = set(names)
    return {name for name in every if not any(name in other for other in every - {name})}


def _decimals(number: str) -> int:
    return len(number.partition(".")[2].rstrip("0"))


def _number(text: str, decimals: int | None, sign: bool = False) -> str:
    """A number to so many decimals, or as it is; anything else unchanged."""
    try:
        value = float(text)
    except ValueError:
        return text
    plus = "+" * sign
    if decimals is None or (value and not round(value, decimals)):  # the latter must not become zero
        return f"{value:{plus},.0f}" if value.is_integer() else f"{value:{plus}g}"
    return f"{value:{plus}.{decimals}f}"
