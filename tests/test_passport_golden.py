"""The passport of a tiny encoder does not change unless the version of a measure says so.

tests/golden/passport.csv has the means of the tiny study's passport with the versions of its measures. After a change that is
meant to move numbers, raise the version of the measure in papers/passport/measures.yaml, and write the file anew:

    snakemake --profile tests/workflow results/tiny/passport/random.csv
    PYTHONPATH=workflow:tests python tests/test_passport_golden.py results/tiny/passport/random.csv
"""

import sys
from pathlib import Path

import pandas as pd
import passports
import pytest
from crosslens.papers.passport.facts import MEANS, Passport

GOLDEN = Path(__file__).parent / "golden/passport.csv"
PLACE = ["metric", "definition", "column", "layer", "baseline_kind"]
TOLERANCE = 0.0005


def golden(passport: Passport) -> pd.DataFrame:
    """The means of a passport, with the versions of their measures."""
    means = passport.table[passport.table["column"].isin(MEANS) & passport.table["here"].notna()]
    return means[PLACE].assign(version=means["metric"].map(passport.facts["measures"]), here=means["here"])


def moved(before: pd.DataFrame, after: pd.DataFrame) -> list[str]:
    """A line for each measure whose numbers have moved although its version is the same, with the number that moved most."""
    both = before.merge(after, on=PLACE, how="outer", suffixes=("_before", "_after"))
    versions = [frame.groupby("metric")["version"].first() for frame in (before, after)]
    lines = []
    for key, values in both.groupby("metric"):
        if not all(key in version for version in versions) or versions[0][key] != versions[1][key]:
            continue
        gone = values[["here_before", "here_after"]].isna().any(axis=1)
        change = (values["here_after"] - values["here_before"]).abs().where(~gone, float("inf"))
        if change.max() > TOLERANCE:
            worst = values.loc[change.idxmax()]
            place = ", ".join(str(worst[name]) for name in PLACE[1:] if worst[name])
            lines.append(f"{key}, version {versions[0][key]}: {worst['here_before']:g}, now {worst['here_after']:g} ({place})")
    return lines


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False, dtype={"layer": str})


@pytest.mark.long
def test_no_number_has_moved_without_a_new_version(built: Path) -> None:
    table = golden(Passport.read(built / "results/tiny/passport/random.csv"))
    assert len(table) > 300
    lines = moved(read(GOLDEN), table)
    assert not lines, "\n".join([*lines, "raise these versions in papers/passport/measures.yaml, and write tests/golden anew"])


def test_all_measures_are_in_the_golden_passport() -> None:
    assert {*read(GOLDEN)["metric"]} == {*passports.FACTS["measures"]}


def test_what_moves_is_named(tmp_path: Path) -> None:
    passport = Passport.read(passports.write(tmp_path))
    before = golden(passport)
    assert moved(before, before) == []
    is_cka = (before["metric"] == "cka") & (before["definition"] == "raw")
    chosen = is_cka & (before["layer"] == "3") & (before["column"] == "families")
    nearly = before.assign(here=before["here"] + 0.0004 * chosen)
    assert moved(before, nearly) == []
    further = before.assign(here=before["here"] + 0.0006 * chosen)
    (line,) = moved(before, further)
    assert line.startswith("cka, version 1: ") and line.endswith("(raw, families, 3)")
    assert moved(before, further.assign(version=further["version"] + (further["metric"] == "cka"))) == []
    (line,) = moved(before, before[~chosen])
    assert line.startswith("cka, version 1: ") and "now nan (raw, families, 3)" in line


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    golden(Passport.read(Path(sys.argv[1]))).to_csv(GOLDEN, index=False)
