"""Typology: WALS's tables, whose references are checked, refused in one line with the place."""

import gzip
import lzma
from pathlib import Path

import pytest
from crosslens.config.base import languages_table
from crosslens.corpora import schema, wals
from crosslens.corpora.wals import read
from crosslens.runs.errors import DataError

MIRROR = Path(__file__).parents[2] / "shared" / "mirror"
needs_mirror = pytest.mark.skipif(not (MIRROR / "wals").is_dir(), reason="needs WALS in ../shared/mirror/wals")

GOOD = {
    "languages": "ID,Name,Family,Genus\neng,English,Indo-European,Germanic\njpn,Japanese,Japanese,\nscr,S,Indo-European,Slavic\n",
    "parameters": 'ID,Name,Chapter\n81A,"Order of Subject, Object and Verb",x\n87A,Order of Adjective and Noun,x\n1A,Sounds,x\n',
    "codes": "ID,Parameter_ID,Name,Number\n81A-1,81A,SOV,1\n81A-2,81A,SVO,2\n87A-1,87A,Adjective-Noun,1\n",
    "values": "ID,Language_ID,Parameter_ID,Value,Code_ID,Comment\n81A-eng,eng,81A,2,81A-2,\n81A-jpn,jpn,81A,1,81A-1,"
    '"two\nlines"\n87A-eng,eng,87A,1,87A-1,\n81A-scr,scr,81A,2,81A-2,\n',
}


def save(folder: Path, suffix: str = "", **changed: str | bytes) -> list[Path]:
    paths = []
    for name, text in (GOOD | changed).items():
        content = text.encode() if isinstance(text, str) else text
        paths.append(folder / f"{name}.csv{suffix}")
        paths[-1].write_bytes({".xz": lzma.compress, ".gz": gzip.compress}.get(suffix, bytes)(content))
    return paths


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz"])
def test_values_in_the_order_of_the_file(tmp_path: Path, suffix: str) -> None:
    rows, counts = read(save(tmp_path, suffix), ["ja", "en", "eo", "hr", "sr", "fi"])
    order = "Order of Subject, Object and Verb"
    english = {"language": "en", "wals": "eng", "genus": "Germanic", "family": "Indo-European"}
    slavic = {
        "wals": "scr",
        "genus": "Slavic",
        "family": "Indo-European",
        "feature": "81A",
        "name": order,
        "value": 2,
        "label": "SVO",
    }
    assert rows == [
        english | {"feature": "81A", "name": order, "value": 2, "label": "SVO"},
        {"language": "ja", "wals": "jpn", "genus": "", "family": "Japanese",
         "feature": "81A", "name": order, "value": 1, "label": "SOV"},
        english | {"feature": "87A", "name": "Order of Adjective and Noun", "value": 1, "label": "Adjective-Noun"},
        slavic | {"language": "hr"},
        slavic | {"language": "sr"},
    ]  # fmt: skip
    assert counts == {"languages_without_code": 1, "languages_without_value": 1, "features_without_value": 1}
    schema.write(rows, tmp_path / "wals.parquet", wals.SCHEMA, counts)
    assert schema.read(tmp_path / "wals.parquet").to_pylist() == rows


BAD = {  # table, what is replaced in it, by what, the line that is named, and what the message says
    "column": ("values", "Code_ID", "Code", 1, "expected the header of values.csv in CLDF, found no column Code_ID"),
    "empty": ("codes", GOOD["codes"], "", 1, "found no column ID, Parameter_ID, Name, Number"),
    "another file": ("languages", GOOD["languages"], "<html>\n", 1, "found no column ID, Genus, Family"),
    "cells": ("values", ",1,87A-1,", "", 5, "expected 6 columns, found a different number"),
    "more cells": ("values", "87A-1,", "87A-1,,", 5, "found a different number"),
    "language": ("values", "jpn,", "jap,", 4, "expected a language of the table of languages, found unknown language 'jap'"),
    "feature": (
        "values",
        "eng,87A",
        "eng,87B",
        5,
        "expected a parameter of the table of parameters, found unknown parameter '87B'",
    ),
    "code": ("values", "1,81A-1", "3,81A-3", 4, "expected a code of the table of codes, found unknown code '81A-3'"),
    "code of another feature": ("values", "87A-1", "81A-1", 5, "the code of value 1 of 81A, found code 81A-1 for value 1 of 87A"),
    "code of another value": ("values", "1,87A-1", "2,87A-1", 5, "found code 87A-1 for value 2 of 87A"),
    "feature of a code": ("codes", "87A,", "88A,", 4, "unknown parameter '88A'"),
    "number": ("codes", "SVO,2", "SVO,two", 3, "expected a whole number, found number 'two'"),
    "large number": ("codes", "SVO,2", "SVO,99999", 3, "found number '99999'"),
    "twice": ("values", "87A-eng,eng,87A,1,87A-1", "x,eng,81A,1,81A-1", 5, "found 81A of eng a second time"),
    "a column twice": ("values", "Code_ID,Comment", "Code_ID,Value", 1, "found a column a second time"),
    "an unused column twice": ("parameters", "Name,Chapter", "Name,Chapter,Chapter", 1, "found a column a second time"),
    "quotes": ("values", '"two\nlines"', '"two', 3, "in UTF-8, found a damaged table (unexpected end of data)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_lines_are_named(tmp_path: Path, case: str) -> None:
    table, old, new, line, what = BAD[case]
    assert old in GOOD[table]
    paths = save(tmp_path, **{table: GOOD[table].replace(old, new)})
    with pytest.raises(DataError) as error:
        read(paths, ["en"])
    assert str(error.value).startswith(f"{tmp_path / table}.csv:{line}: expected "), str(error.value)
    assert f"{what}; " in str(error.value) and "\n" not in str(error.value)


def test_another_encoding_and_damaged_files(tmp_path: Path) -> None:
    paths = save(tmp_path, languages=GOOD["languages"].replace("English", "Österreich").encode("latin-1"))
    with pytest.raises(DataError, match=rf"{paths[0]}:\d: .* found a damaged table \('utf-8' codec"):
        read(paths, ["en"])
    paths = save(tmp_path, ".xz")
    paths[3].write_bytes(paths[3].read_bytes()[:-20])
    with pytest.raises(DataError, match=rf"{paths[3]}:\d: expected a complete table in UTF-8, found a damaged table"):
        read(paths, ["en"])


def test_all_four_tables_are_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected values.csv too; name the four tables languages, parameters, codes, values"):
        read(save(tmp_path)[:3], ["en"])


@needs_mirror
def test_real_wals() -> None:
    folder = MIRROR / "wals" / "v2020" / "cldf"
    rows, counts = read(
        [folder / f"{name}.csv.xz" for name in ("languages", "parameters", "codes", "values")], list(languages_table())
    )
    # The rest of the 192 features: about sign languages, or values that none of our languages has been given.
    assert counts == {"languages_without_code": 13, "languages_without_value": 0, "features_without_value": 12}
    assert len(rows) == 9539 and len({(row["language"], row["feature"]) for row in rows}) == len(rows)
    found = {(row["language"], row["feature"]): row["label"] for row in rows}
    assert [found[language, "81A"] for language in ("en", "ja", "ga", "de", "hi")] == [
        "SVO",
        "SOV",
        "VSO",
        "No dominant order",
        "SOV",
    ]
    assert [found[language, "87A"] for language in ("en", "fr")] == ["Adjective-Noun", "Noun-Adjective"]
    assert {row["genus"] for row in rows if row["language"] == "vi"} == {"Viet-Muong"}  # the release's, not v2020.4's


def test_no_value_of_any_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{tmp_path}/values.csv:1: expected values of fi, found none; name others"):
        read(save(tmp_path), ["fi"])
