"""Reader of WALS: features of languages, as rows from its CLDF tables."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from crosslens.config.base import languages_table
from crosslens.corpora.lines import DAMAGED, LONGEST, refuse
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import open_binary

COLUMNS = {
    "languages": ("ID", "Genus", "Family"),
    "parameters": ("ID", "Name"),
    "codes": ("ID", "Parameter_ID", "Name", "Number"),
    "values": ("Language_ID", "Parameter_ID", "Code_ID", "Value"),
}
Row = dict[str, str]


def read(paths: Sequence[Path], languages: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Rows with the value of each feature in some languages, in the order of values.csv, and counts of what is missing.

    paths: languages.csv, parameters.csv, codes.csv and values.csv of a release (Dryer and Haspelmath 2013; CLDF). languages:
    codes in resources/languages.csv, which also has their WALS codes. Genus and family are copied from the release, and empty
    if it leaves them out. Languages that share a WALS code (Croatian, Serbian) have the same values.
    Counts: `languages_without_code`, `languages_without_value` (among those with a code), `features_without_value`.
    Raises DataError, `path:line: expected, found, remedy`, if a table lacks a column or refers to a row that another table
    lacks.
    """
    tables = {path.name.partition(".")[0]: path for path in paths}
    missing = [name for name in COLUMNS if name not in tables]
    if missing:
        raise DataError(f"{', '.join(map(str, paths))}: expected {missing[0]}.csv too; name the four tables {', '.join(COLUMNS)}")
    wals: dict[str, list[str]] = {}
    for language in languages:
        wals.setdefault(languages_table()[language]["wals"], []).append(language)
    without_code = wals.pop("", [])
    wals_languages = {row["ID"]: row for _, row in _table(tables["languages"], "languages")}
    features = {row["ID"]: row["Name"] for _, row in _table(tables["parameters"], "parameters")}
    codes: dict[str, Row] = {}
    for line, row in _table(tables["codes"], "codes"):
        _check(tables["codes"], line, "parameter", row["Parameter_ID"], features)
        if not re.fullmatch("[0-9]{1,4}", row["Number"]):
            refuse(tables["codes"], line, f"number '{row['Number']:.40}'", "a whole number")
        codes[row["ID"]] = row
    rows: list[dict[str, Any]] = []
    pairs: set[tuple[str, str]] = set()
    for line, row in _table(tables["values"], "values"):
        path = tables["values"]
        _check(path, line, "language", row["Language_ID"], wals_languages)
        _check(path, line, "parameter", row["Parameter_ID"], features)
        _check(path, line, "code", row["Code_ID"], codes)
        code = codes[row["Code_ID"]]
        if (code["Parameter_ID"], code["Number"]) != (row["Parameter_ID"], row["Value"]):
            fault = f"code {row['Code_ID']} for value {row['Value']:.40} of {row['Parameter_ID']}"
            refuse(path, line, fault, f"the code of value {code['Number']} of {code['Parameter_ID']:.40}")
        if (row["Language_ID"], row["Parameter_ID"]) in pairs:
            refuse(
                path, line, f"{row['Parameter_ID']} of {row['Language_ID']} a second time", "one value per language and feature"
            )
        pairs.add((row["Language_ID"], row["Parameter_ID"]))
        for language in wals.get(row["Language_ID"], []):
            rows.append(
                {
                    "language": language,
                    "wals": row["Language_ID"],
                    "genus": wals_languages[row["Language_ID"]]["Genus"],
                    "family": wals_languages[row["Language_ID"]]["Family"],
                    "feature": row["Parameter_ID"],
                    "name": features[row["Parameter_ID"]],
                    "value": int(code["Number"]),
                    "label": code["Name"],
                }
            )
    if not rows:
        raise DataError(
            f"{tables['values']}:1: expected values of {', '.join(languages)}, found none; name others, or the whole table"
        )
    values = {column: {row[column] for row in rows} for column in ("language", "feature")}
    return rows, {
        "languages_without_code": len(without_code),
        "languages_without_value": len(languages) - len(without_code) - len(values["language"]),
        "features_without_value": len(features) - len(values["feature"]),
    }


def _check(path: Path, line: int, kind: str, name: str, names: dict[str, Any]) -> None:
    """Raise DataError if a row refers to a name that is not in the table of its kind."""
    if name not in names:
        refuse(path, line, f"unknown {kind} '{name:.40}'", f"a {kind} of the table of {kind}s")


def _table(path: Path, table: str) -> Iterator[tuple[int, Row]]:
    """Yield (line number, row) for each row of a table; if a row has several lines, the number is that of the last."""
    number = 0
    try:
        with open_binary(path) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
            reader = csv.reader(iter(lambda: text.readline(LONGEST), ""), strict=True)
            header = next(reader, [])
            columns = COLUMNS[table]
            missing = [column for column in columns if column not in header]
            if missing or len({*header}) < len(header):
                fault = f"no column {', '.join(missing)}" if missing else "a column a second time"
                refuse(path, 1, fault, f"the header of {table}.csv in CLDF")
            places = {column: header.index(column) for column in columns}
            ids: set[str] = set()
            for cells in filter(None, reader):  # an empty line has no cells
                number = reader.line_num
                if len(cells) != len(header):
                    refuse(path, number, "a different number", f"{len(header)} columns")
                row = {column: cells[place] for column, place in places.items()}
                if "ID" in columns:
                    if row["ID"] in ids:
                        refuse(path, number, f"ID '{row['ID']:.40}' a second time", "a new ID")
                    ids.add(row["ID"])
                    empty = [column for column in ("ID", "Name") if column in columns and not row[column].strip()]
                    if empty:
                        refuse(path, number, f"an empty {empty[0]}", "one in every row")
                if any("\0" in cell for cell in cells):
                    refuse(path, number, "a zero byte", "text")
                yield number, row
            if not number:
                refuse(path, 1, "a header alone", "rows")
    except DataError:
        raise
    except (csv.Error, *DAMAGED) as error:
        refuse(path, number + 1, f"a damaged table ({error})", "a complete table in UTF-8")
