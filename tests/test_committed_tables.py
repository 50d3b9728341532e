"""Tables in docs/results against the code that writes them: lines that it would not write today are stale."""

import csv
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import get_args

import pytest
import yaml
from crosslens.commands.documents.reports import OVERLAYS, configuration
from crosslens.measures.shared.unseen import UNSEEN
from crosslens.reports.cells import COLUMNS, line, table
from crosslens.reports.claims.table import COLUMNS as CLAIMS
from crosslens.reports.claims.verdicts import Verdict
from study import committed_tables
from synthetic_records import Preset

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/results"
TABLES = [path.relative_to(FOLDER).as_posix() for path in committed_tables()]
KEY = ("row", "column", "metric", "definition")

Row = Mapping[str, str]


@pytest.fixture(scope="module")
def presets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthetic")
    return {
        preset: Preset(configuration(ROOT, *overlays), configuration(ROOT), folder / preset)
        for preset, overlays in OVERLAYS.items()
    }


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def stale(committed: Iterable[Row], written: Iterable[Row]) -> list[str]:
    """Faults of a committed table: lines and values that the code does not write.

    written: lines from synthetic inputs, several of a place where inputs differ. New lines or printed values are no fault: they
    come with the next run. Numbers in remarks are those of the data. A score on texts unseen in training has the
    place of the score on all texts.
    """
    lines_by_place: dict[tuple[str, ...], list[Row]] = {}
    for row in written:
        lines_by_place.setdefault(tuple(row[name] for name in KEY), []).append(row)
    faults = []
    for row in committed:
        place = tuple(row[name].removesuffix(UNSEEN) for name in KEY)
        if (alike := lines_by_place.get(place)) is None:
            faults.append(f"{place}: no such line")
            continue
        remarks = {part for other in alike for part in parts(other)}
        faults += [f"{place}: no such remark: {part}" for part in parts(row) if part not in remarks]
        for name in ("published", "comparable", "reason"):
            if row[name] and row[name] not in {other[name] for other in alike}:
                faults.append(f"{place}: {name} is not {row[name]!r}")
        seeds = {bool(other["seeds"]) for other in alike if other["here"]}
        if row["here"] and seeds and bool(row["seeds"]) not in seeds:
            faults.append(f"{place}: seeds, where there are none, or none")
        if row["difference"] and row["comparable"] == "False":
            faults.append(f"{place}: a difference of what cannot be compared")
    return faults


def parts(row: Row) -> set[str]:
    return {re.sub(r"\d[\d,.]*(e-?\d+)?", "#", part) for part in row["remark"].split("; ")} - {""}


LARGE = 60_000  # bytes of tables that take seconds


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * ((FOLDER / name).stat().st_size > LARGE)) for name in TABLES]
)
def test_a_committed_table_is_one_that_the_code_writes(name, presets, tmp_path):
    preset, *paper, item = name.removesuffix(".csv").split("/")
    text, written = (FOLDER / name).read_text(encoding="utf-8"), []
    options = [{"cut": 0.1, "factor": 0.4}, {"cut": 0.0, "empty": True}]  # scores below chance, of three classes too, and none
    factors = {"at its ceiling": 4.0, "at its floor": 0.03}
    options += [{"cut": 0.0, "factor": factor} for remark, factor in factors.items() if remark in text]
    for values in options:
        made = presets[preset.partition("-")[0]].table(*(paper or ["tanti2021"]), item, **values)
        made.to_csv(tmp_path / "made.csv", index=False)
        written += rows(tmp_path / "made.csv")
    with (FOLDER / name).open(encoding="utf-8") as stream:
        assert next(csv.reader(stream)) == list(COLUMNS)
    committed = rows(FOLDER / name)
    assert committed and stale(committed, written) == []


def test_there_are_tables_of_every_scale_and_paper():
    assert {name.partition("/")[0].partition("-")[0] for name in TABLES} == OVERLAYS.keys() and len(TABLES) >= 26


def test_nothing_that_is_committed_is_of_a_rehearsal():
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.rglob("*") if path.suffix in (".csv", ".json", ".html", ".svg")]
    assert len(texts) > 52 and not any("REHEARSAL" in text or '"rehearse"' in text for text in texts)


def test_committed_claims_are_those_of_the_ledgers():
    committed = {row["claim"]: row for row in rows(FOLDER / "laptop/claims.csv")}
    claims_files = {
        f"{path.parent.name}-{key}": claim
        for path in (ROOT / "workflow/crosslens/papers").glob("*/claims.yaml")
        for key, claim in yaml.safe_load(path.read_text(encoding="utf-8"))["claims"].items()
    }
    assert committed.keys() == claims_files.keys()
    for key, row in committed.items():
        assert tuple(row) == CLAIMS and row["verdict"] in get_args(Verdict)
        assert row["says"] == claims_files[key]["says"] or "$" in claims_files[key]["says"]


CHANGES = {  # what is done to a table -> the fault that is found
    "a definition that was renamed": ({"definition": "F1 of spans"}, "no such line"),
    "a metric that was renamed": ({"metric": "accuracy"}, "no such line"),
    "another remark": ({"remark": "9 of 99 words cut away; mean of 3 languages"}, "no such remark: # of # words cut away"),
    "another printed value": ({"published": "64.2"}, "published is not '64.2'"),
    "a table that became comparable": ({"comparable": "True"}, "comparable is not 'True'"),
    "another reason": ({"reason": "another corpus"}, "reason is not 'another corpus'"),
    "a difference that means nothing": ({"difference": "-0.07"}, "a difference of what cannot be compared"),
    "no seeds": ({"seeds": ""}, "seeds, where there are none, or none"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_stale_is_found(change, tmp_path):
    values, fault = CHANGES[change]
    numbers, remark = {"here": 64.1, "seeds": 3}, ["8 of 1,234 texts truncated", "mean of 12 languages"]
    made = table([line("EN->X", "REF", "F1", "F1", numbers, 64.17, remark)], "muller2021", "table8")
    made = made.assign(comparable=False, reason="another encoder", difference=None)
    made.to_csv(tmp_path / "made.csv", index=False)
    (written,) = rows(tmp_path / "made.csv")
    same = written | {"here": "12.3", "remark": "77 of 999 texts truncated"}
    assert stale([same], [written]) == []
    (found,) = stale([written | values], [written])
    assert fault in found
