"""Pages in HTML, complete in themselves: one of each table and figure, and a report of all items of a paper."""

import csv
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from crosslens.config.presets import read_yaml
from crosslens.jobs.checksums import verified
from crosslens.jobs.records import read_json
from crosslens.reports.spread import Line, spread
from crosslens.reports.templates import read_template

TEMPLATE = Path(__file__).with_name("page.html.j2")
Terms = Mapping[str, Any]  # resources/terms.yaml
BELOW = re.compile(r"\s*Below (a|each) \w+ are [^.]*\.")
"""Sentence of a caption about intervals and n below values; left out where the table shows none."""


def page(
    settings: Mapping[str, Any],
    files: Iterable[Path],
    terms: Terms,
    command: str | None,
    several: Iterable[Path] = (),
    template: Path = TEMPLATE,
    result: str = "",
) -> str:
    """A page of one or several items, as HTML.

    settings: see `crosslens.reports.about.About.page`; files: ITEM.csv or ITEM.svg of each item, in the order of the settings,
    with its record beside it; terms: see `read_terms`; command: with which the page is made; several: tables of the same items
    and preset over several seeds, from which the spread of a single one is known;
    result: the paper's main result as a sentence, with which a report begins; "" for none.
    """
    glossary = terms["names"].get(settings["paper"], {}), terms["definitions"]
    spreads = {file.stem: spread(_cells(file)) for file in several}
    items = [
        _item(item, file, spreads.get(file.stem, {}), *glossary) for item, file in zip(settings["items"], files, strict=True)
    ]
    style = template.with_name("page.css").read_text("utf-8")
    content = {**settings, "items": items, "command": command, "style": style, "result": result}
    return read_template(template).render(content)


def read_terms(path: Path) -> Terms:
    """Meanings of names: `definitions`, name -> meaning, and `names`, paper -> name -> meaning."""
    return read_yaml(path)


def _item(
    settings: Mapping[str, Any],
    file: Path,
    widths: Mapping[Line, float],
    names: Mapping[str, str],
    definitions: Mapping[str, str],
) -> dict[str, Any]:
    """A table or a figure for the template. widths: see `table`; names, definitions: see `meanings`."""
    record = read_json(file.with_name(f"{file.name}.json"))
    links = [file.name, *([f"{file.stem}.png", f"{file.name}.csv"] if file.suffix == ".svg" else []), f"{file.name}.json"]
    item = {**settings, "id": file.stem, "record": record, "links": links, "table": None, "image": None}
    item["stages_without_improvement"] = [
        f"{training['recipe']['name']}, seed {training['seed']} ({', '.join(stages)})"
        for training in record.get("training_runs", ())
        if (stages := training.get("stages_without_improvement"))
    ]
    if file.suffix == ".svg":
        return item | {"image": b64encode(verified(file).read_bytes()).decode()}
    laid_out = table(_cells(verified(file)), settings["decimals"], widths, settings["decides"])
    for part in laid_out["parts"]:
        part |= meanings(part.pop("cells"), names, definitions)
    first = laid_out["parts"][0]
    if not any(cell and cell["details"] for lines in first["groups"].values() for line in lines for cell in line["cells"]):
        item["caption"] = BELOW.sub("", settings["caption"])
    return item | {"table": laid_out}


def _cells(file: Path) -> list[dict[str, str]]:
    """Cells of a table as text."""
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def table(
    cells: Sequence[Mapping[str, str]], decimals: int | None, widths: Mapping[Line, float] = {}, decides: Collection[str] = ()
) -> dict[str, Any]:  # fmt: skip
    """Cells (crosslens.reports.cells, as text) laid out as printed: parts of the table, numbered notes, constant values.

    widths: see `crosslens.reports.spread`; shown beside lines of a single seed, instead of the intervals of their cells.
    decimals: of our values, and of printed ones at most; None: as they are, but two for scores, which rest on n units.
    Differences are those of the table; none of counts and settings is shown. The first part has the lines and columns that are
    read first, see `_headline`, the second, if any, the other lines; a part is a corner, columns, groups of lines under one
    heading, and its cells. Lines are grouped by row where the lines of each row stand together, otherwise by metric and
    definition. Remarks become notes, and so does a definition under which each row has one value.
    """
    all_columns = list(dict.fromkeys(cell["column"] for cell in cells))
    notes: dict[str, int] = {}
    constant = _constant(cells)
    lines: dict[Line, dict[str, Mapping[str, str]]] = defaultdict(dict)
    for cell in cells:
        if (cell["metric"], cell["definition"]) not in constant:
            lines[cell["row"], cell["metric"], cell["definition"]][cell["column"]] = cell
    printed = None if decimals is None else min(decimals, max((_decimals(cell["published"]) for cell in cells), default=0))
    several = len({cell["seeds"] for cell in cells if cell["here"] and cell["seeds"]}) > 1
    headline = _headline(lines, decides)
    parts, spread_shown = [], False
    for keys in filter(None, (headline, [key for key in lines if key not in headline])):
        ways = {definition or metric for _, metric, definition in keys}
        filled = {column for key in keys for column, cell in lines[key].items() if cell["here"] or keys is not headline}
        columns = [column for column in all_columns if column in filled or not filled]
        groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for key, (heading, name, detail) in zip(keys, _headings(keys), strict=True):
            single = any(cell["here"] and cell["seeds"] == "1" for cell in lines[key].values())
            width = _number(str(widths[key]), decimals) if single and key in widths else ""
            cells_of_line = [
                _cell(lines[key][column], decimals, printed, several, notes, not width) if column in lines[key] else None
                for column in columns
            ]
            spread_shown |= bool(width)
            groups[heading].append({"name": name, "detail": detail, "width": width, "cells": cells_of_line})
        corner = "".join(ways) if len(ways) == 1 else ""
        part_cells = [cell for key in keys for cell in lines[key].values()]
        parts.append({"corner": corner, "columns": columns, "groups": groups, "lines": len(keys), "cells": part_cells})
    equal = [_equal(*way, constant[way], decimals) for way in constant]
    values = [cell for cell in cells if cell["here"]]
    counts = {"numbers": len(values), "compared": sum(bool(cell["published"]) for cell in values)}
    return {"parts": parts, "notes": list(notes), "constant": equal, "spread_shown": spread_shown, **counts}


def _cell(
    cell: Mapping[str, str], decimals: int | None, printed: int | None, several: bool, notes: dict[str, int], detailed: bool
) -> dict[str, Any]:  # fmt: skip
    """A cell for the template.

    printed: decimals of printed values; several: see `_details`; notes: numbers of remarks, to which new ones are added;
    detailed: whether its interval stands below it.
    """
    places = 2 if decimals is None and cell["n"] else decimals
    return {
        "here": _number(cell["here"], places),
        "details": _details(cell, places, several) if cell["here"] and detailed else [],
        "published": _number(cell["published"], printed),
        "difference": "" if decimals is None else _number(cell["difference"], decimals, sign=True),
        "notes": sorted(notes.setdefault(remark, len(notes) + 1) for remark in cell["remark"].split("; ") if remark),
    }


def _constant(cells: Sequence[Mapping[str, str]]) -> dict[tuple[str, str], dict[str, str]]:
    """Metrics and definitions that have one value, or one a row in three columns or more; never all of them.

    Nothing is printed beside such values, and they have no remark. Returns the value of each row.
    """
    values: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        values[cell["metric"], cell["definition"]][cell["row"]].append(cell["here"])
    explained = {(cell["metric"], cell["definition"]) for cell in cells if cell["published"] or cell["remark"]}
    constant = {}
    for way, rows in values.items():
        numbers = [[number for number in row if number] for row in rows.values()]
        distinct = [set(row) for row in numbers]
        of_all = len(set().union(*distinct)) == 1 and sum(map(len, numbers)) > 2
        of_rows = all(len(row) > 2 for row in numbers) and all(len(row) == 1 for row in distinct)
        if way not in explained and (of_all or of_rows):
            constant[way] = {row: row_numbers[0] for row, row_numbers in zip(rows, numbers, strict=True) if row_numbers}
    return constant if len(constant) < len(values) else {}


def _equal(metric: str, definition: str, values: Mapping[str, str], decimals: int | None) -> str:
    """A note on a metric and definition that has one value a row. values: of the rows."""
    rows_by_value: dict[str, list[str]] = defaultdict(list)
    for row, value in values.items():
        rows_by_value[_number(value, decimals)].append(row)
    if len(rows_by_value) == 1:
        return f"{definition or metric}: {next(iter(rows_by_value))} in every row and column"
    parts = "; ".join(f"{', '.join(rows)} {value}" for value, rows in rows_by_value.items())
    return f"{definition or metric}, the same in every column: {parts}"


def _headline(lines: Mapping[Line, Mapping[str, Mapping[str, str]]], decides: Collection[str]) -> list[Line]:
    """The lines with values of ours that are of a definition that the paper printed or that decides, and share its columns.

    Of a row that has none of these the first such line. Lines without values of ours are left out unless all are. All lines
    where nothing was printed.
    """
    lines = {key: cells for key, cells in lines.items() if any(cell["here"] for cell in cells.values())} or lines
    printed = {key[1:] for key, cells in lines.items() if any(cell["published"] for cell in cells.values())}
    if not printed:
        return list(lines)
    columns = {column for cells in lines.values() for column, cell in cells.items() if cell["published"]}
    near = {key: key[1:] in printed or key[2] in decides for key, cells in lines.items() if columns & cells.keys()}
    rows = {key[0] for key, chosen in near.items() if chosen}
    first = {key[0]: key for key in reversed([*near])}
    return [key for key, chosen in near.items() if chosen or (key[0] not in rows and first[key[0]] == key)]


def _details(cell: Mapping[str, str], decimals: int | None, several: bool) -> list[str]:
    """Lines below a value: interval, deviation and seeds, n. several: whether the numbers of seeds differ in the table."""
    low, high = (_number(cell[end], decimals) for end in ("low", "high"))
    spread = [f"sd {_number(cell['sd'], decimals)}"] if cell["sd"] else []
    spread += [f"seeds {cell['seeds']}"] if several else []
    details = [
        f"{low} to {high}" if low and high else "",
        ", ".join(spread),
        f"n {_number(cell['n'], None)}" if cell["n"] else "",
    ]
    return list(filter(None, details))


def _headings(lines: Sequence[Line]) -> list[tuple[str, str, str]]:
    """Heading of its group or "", name, and further details of each line (row, metric, definition)."""

    def runs(keys: Sequence[object]) -> int:
        return sum(before != after for before, after in zip([None, *keys], keys, strict=False))

    metrics = {metric for _, metric, _ in lines}
    apart = len(metrics) > 1 and not any(metric in definition for _, metric, definition in lines if definition)

    def ways(metric: str, definition: str) -> list[str]:
        """Names that distinguish a way of computing from the others: definition, metric."""
        definitions = [definition] if definition and len({line[2] for line in lines}) > 1 else []
        return definitions + [metric] * (len(metrics) > 1 and metric not in definition)

    by_row, by_way = runs([row for row, _, _ in lines]), runs([line[1:] for line in lines])
    headings = []
    for row, metric, definition in lines:
        names = ways(metric, definition)
        if by_row == by_way == len(lines) or not names:
            headings.append(("", row, ", ".join(names)))
        elif by_way < by_row:
            headings.append((", ".join(names), row, ""))
        elif apart and len(names) > 1:
            headings.append((f"{row} · {metric}", definition, ""))
        else:
            headings.append((row, names[0], ", ".join(names[1:])))
    return headings


def meanings(
    cells: Sequence[Mapping[str, str]], names: Mapping[str, str], definitions: Mapping[str, str]
) -> dict[str, dict[str, str]]:  # fmt: skip
    """Terms that occur in a table, in the order of the terms: `names` of rows, columns and metrics, and `definitions`.

    names, definitions: term -> meaning.
    """
    computed, texts = set(), {cell[column] for cell in cells for column in ("row", "column", "metric")}
    for definition in {cell["definition"] for cell in cells}:
        parts = _longest(name for name in definitions if re.search(rf"(^|[:;] ){re.escape(name)}($|[:;] )", definition))
        computed |= parts
        for part in parts:
            definition = definition.replace(part, "")
        texts.add(definition)
    terms_named = {name for text in texts for name in _longest(name for name in names if name in text)}
    return {
        "names": {name: meaning for name, meaning in names.items() if name in terms_named},
        "definitions": {name: meaning for name, meaning in definitions.items() if name in computed},
    }


def _longest(names: Iterable[str]) -> set[str]:
    """Names that are not part of another one."""
    distinct = set(names)
    return {name for name in distinct if not any(name in longer for longer in distinct - {name})}


def _decimals(number: str) -> int:
    return len(number.partition(".")[2].rstrip("0"))


def _number(text: str, decimals: int | None, sign: bool = False) -> str:
    """A number to so many decimals, or as it is; any other text unchanged. sign: whether a plus is written."""
    try:
        value = float(text)
    except ValueError:
        return text
    plus = "+" * sign
    if decimals is None or (value and not round(value, decimals)):  # the latter must not become zero
        return f"{value:{plus},.0f}" if value.is_integer() else f"{value:{plus}g}"
    return f"{value:{plus}.{decimals}f}"
