"""Self-contained HTML pages: one for each table or figure, and a report with all tables and figures of a paper."""

import csv
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from crosslens.jobs.checksums import verified
from crosslens.jobs.records import read_json
from crosslens.reports.spread import Line, spread
from crosslens.reports.templates import read_template

TEMPLATE = Path(__file__).with_name("page.html.j2")
Terms = Mapping[str, Any]
"""Content of resources/terms.yaml: `definitions`, name -> meaning, and `names`, paper -> name -> meaning."""
BELOW = re.compile(r"\s*Below (a|each) \w+ are [^.]*\.")
"""Sentence of a caption that explains intervals and n below values; left out if the table shows none."""


def page(
    settings: Mapping[str, Any],
    files: Iterable[Path],
    terms: Terms,
    command: str | None,
    several: Iterable[Path] = (),
    template: Path = TEMPLATE,
    result: str = "",
) -> str:
    """HTML page of one or several tables and figures.

    settings: see `crosslens.reports.about.About.page`.
    files: ITEM.csv or ITEM.svg of each item, in the order of the settings; its record, FILE.json, is in the same folder.
    terms: meanings of names, see `Terms`.
    command: command that makes the page; None to show none.
    several: tables of the same items and preset over several seeds, which show how much a single seed varies.
    result: the paper's main result as a sentence, with which a report begins; "" for none.
    """
    glossary = terms["names"].get(settings["paper"], {}), terms["definitions"]
    spreads = {file.stem: spread(read_cells(file)) for file in several}
    items = [
        _item(item, file, spreads.get(file.stem, {}), *glossary) for item, file in zip(settings["items"], files, strict=True)
    ]
    content = {**settings, "items": items, "command": command, "result": result}
    return read_template(template).render(content)


def _item(
    settings: Mapping[str, Any],
    file: Path,
    widths: Mapping[Line, float],
    names: Mapping[str, str],
    definitions: Mapping[str, str],
) -> dict[str, Any]:
    """Content of a table or figure for the template.

    settings: settings of the item, an entry of `items` in the settings of the page.
    file: ITEM.csv or ITEM.svg.
    widths: see `table`.
    names, definitions: see `meanings`.
    """
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
    laid_out = table(read_cells(verified(file)), settings["decimals"], widths, settings["decides"])
    for part in laid_out["parts"]:
        part |= meanings(part.pop("cells"), names, definitions)
    first = laid_out["parts"][0]
    if not any(cell and cell["details"] for lines in first["groups"].values() for line in lines for cell in line["cells"]):
        item["caption"] = BELOW.sub("", settings["caption"])
    return item | {"table": laid_out}


def read_cells(file: Path) -> list[dict[str, str]]:
    """Rows of a CSV file, such as the cells of a table, as text by column."""
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def table(
    cells: Sequence[Mapping[str, str]], decimals: int | None, widths: Mapping[Line, float] = {}, decides: Collection[str] = ()
) -> dict[str, Any]:  # fmt: skip
    """Layout of a table as printed: its parts, numbered notes, and constant values.

    The first part has the lines and columns that are read first, see `_headline`; the second, if any, has the other lines. A
    part has a corner, columns, groups of lines under one heading, and its cells. Lines are grouped by row if the lines of each
    row are adjacent, otherwise by metric and definition. Remarks become numbered notes. A definition with one value in each row
    becomes a sentence in `constant` instead of a line.

    cells: cells of the table (crosslens.reports.cells) as text.
    decimals: decimals of our values, and at most so many of printed ones. None, for counts and settings: numbers stay as they
    are, except that scores, which have an n, get two decimals; no differences are shown.
    widths: see `crosslens.reports.spread`; shown on lines of a single seed, instead of the intervals of their cells.
    decides: definitions that belong to the first part in addition to those that the paper printed.
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
    """Content of a cell for the template.

    decimals: decimals of our values, see `table`.
    printed: decimals of printed values; None: as they are.
    several: see `_details`.
    notes: remark -> its number; new remarks are added.
    detailed: whether interval, sd, seeds and n are shown below the value.
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
    """Value of each row, by metric and definition, for constant ones; {} if all are constant.

    A metric and definition is constant if its cells, three or more, all have one value, or if each row has three columns or
    more, all with one value. None of its cells may have a published value or a remark.
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
    """Sentence on a metric and definition that has one value in each row. values: row -> value."""
    rows_by_value: dict[str, list[str]] = defaultdict(list)
    for row, value in values.items():
        rows_by_value[_number(value, decimals)].append(row)
    if len(rows_by_value) == 1:
        return f"{definition or metric}: {next(iter(rows_by_value))} in every row and column"
    parts = "; ".join(f"{', '.join(rows)} {value}" for value, rows in rows_by_value.items())
    return f"{definition or metric}, the same in every column: {parts}"


def _headline(lines: Mapping[Line, Mapping[str, Mapping[str, str]]], decides: Collection[str]) -> list[Line]:
    """Lines that are read first: lines with a definition that the paper printed, or that is in `decides`.

    They must share a column with a printed value. A row without such a definition has its first line that shares one.
    Lines without values of ours are left out unless no line has any. If nothing was printed, all remaining lines come first.
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
    """Lines below a value: interval; sd and seeds; n. several: whether to show seeds, since they differ within the table."""
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
    """Heading of the group ("" for none), name, and further details of each line (row, metric, definition)."""

    def runs(keys: Sequence[object]) -> int:
        return sum(before != after for before, after in zip([None, *keys], keys, strict=False))

    metrics = {metric for _, metric, _ in lines}
    apart = len(metrics) > 1 and not any(metric in definition for _, metric, definition in lines if definition)

    def ways(metric: str, definition: str) -> list[str]:
        """Definition and metric, if they distinguish this line from others."""
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
    """Meanings of the terms that occur in a table: `names` of rows, columns and metrics, and `definitions`.

    names, definitions: term -> meaning of all terms, in the order in which the result has them.
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
    """Names that are not part of another of these names."""
    distinct = set(names)
    return {name for name in distinct if not any(name in longer for longer in distinct - {name})}


def _decimals(number: str) -> int:
    return len(number.partition(".")[2].rstrip("0"))


def _number(text: str, decimals: int | None, sign: bool = False) -> str:
    """Number with `decimals` decimals (None: as it is); other text stays unchanged. sign: whether to write a plus."""
    try:
        value = float(text)
    except ValueError:
        return text
    plus = "+" * sign
    if decimals is None or (value and not round(value, decimals)):  # rounding must not turn a small value into zero
        return f"{value:{plus},.0f}" if value.is_integer() else f"{value:{plus}g}"
    return f"{value:{plus}.{decimals}f}"
