"""Typology: WALS's tables, whose references are checked, refused in one line with the place."""

from pathlib import Path

import pytest
from conftest import MIRROR
from crosslens.config.base import languages_table
from crosslens.corpora.wals import read
from crosslens.jobs.errors import DataError

needs_mirror = pytest.mark.skipif(not (MIRROR / "wals").is_dir(), reason="needs WALS in ../shared/mirror/wals")

GOOD = {
    "languages": "ID,Name,Family,Genus\neng,English,Indo-European,Germanic\njpn,Japanese,Japanese,\nscr,S,Indo-European,Slavic\n",
    "parameters": 'ID,Name,Chapter\n81A,"Order of Subject, Object and Verb",x\n87A,Order of Adjective and Noun,x\n1A,Sounds,x\n',
    "codes": "ID,Parameter_ID,Name,Number\n81A-1,81A,SOV,1\n81A-2,81A,SVO,2\n87A-1,87A,Adjective-Noun,1\n",
    "values": "ID,Language_ID,Parameter_ID,Value,Code_ID,Comment\n81A-eng,eng,81A,2,81A-2,\n81A-jpn,jpn,81A,1,81A-1,"
    '"two\nlines"\n87A-eng,eng,87A,1,87A-1,\n81A-scr,scr,81A,2,81A-2,\n',
}


def save(folder: Path) -> list[Path]:
    for name, text in GOOD.items():
        (folder / f"{name}.csv").write_text(text)
    return [folder / f"{name}.csv" for name in GOOD]


def test_values_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows, counts = read(save(tmp_path), ["ja", "en", "eo", "hr", "sr", "fi"])
    order = "Order of Subject, Object and Verb"
    english = {"language": "en", "wals": "eng", "genus": "Germanic", "family": "Indo-European"}
    slavic = {"wals": "scr", "genus": "Slavic", "family": "Indo-European"}
    slavic |= {"feature": "81A", "name": order, "value": 2, "label": "SVO"}
    assert rows == [
        english | {"feature": "81A", "name": order, "value": 2, "label": "SVO"},
        {"language": "ja", "wals": "jpn", "genus": "", "family": "Japanese",
         "feature": "81A", "name": order, "value": 1, "label": "SOV"},
        english | {"feature": "87A", "name": "Order of Adjective and Noun", "value": 1, "label": "Adjective-Noun"},
        slavic | {"language": "hr"},
        slavic | {"language": "sr"},
    ]  # fmt: skip
    assert counts == {"languages_without_code": 1, "languages_without_value": 1, "features_without_value": 1}


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
    assert [found[language, "81A"] for language in ("en", "ja", "ga", "de")] == ["SVO", "SOV", "VSO", "No dominant order"]
    assert [found[language, "87A"] for language in ("en", "fr")] == ["Adjective-Noun", "Noun-Adjective"]
    assert {row["genus"] for row in rows if row["language"] == "vi"} == {"Viet-Muong"}  # the release's, not v2020.4's


def test_no_value_of_any_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{tmp_path}/values.csv:1: expected values of fi, found none; name others"):
        read(save(tmp_path), ["fi"])
