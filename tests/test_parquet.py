"""Digests of what Parquet files hold, and what records of tables tell of the measures behind them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crosslens.jobs import parquet, records
from crosslens.jobs.checksums import digest
from crosslens.reports.provenance import write_table

TABLE = pa.table(
    {
        "word": pa.array(["ab", "c", None, ""]),
        "subwords": pa.array([[1, 2], [], None, [3]], pa.list_(pa.int32())),
        "words": pa.array([["a", "bc"], [], ["d"], None], pa.list_(pa.string())),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(8, dtype=np.float32)), 2),
        "cut": pa.array([True, None, False, False]),
        "n": pa.array([1, 2, None, 4], pa.int16()),
    }
)
SLICED = pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)])


@pytest.mark.parametrize("options", [{}, {"compression": "zstd"}, {"row_group_size": 2}, {"metadata": {"texts": 4}}])
def test_equal_content_has_one_digest_whatever_the_bytes_of_its_file(tmp_path: Path, options: dict) -> None:
    for name, table, how in (("a", TABLE, {}), ("b", SLICED, options)):
        parquet.write(table, tmp_path / f"{name}.parquet", **how)
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    assert parquet.content(first) == parquet.content(second) == parquet.content_digest(parquet.read(second))
    assert (digest(first) == digest(second)) == (options == {})
    assert parquet.metadata(second) == options.get("metadata", {})


CHANGES = {
    "a value": ("n", pa.array([1, 2, None, 5], pa.int16())),
    "a null in the place of a value": ("n", pa.array([1, None, None, 4], pa.int16())),
    "a null elsewhere": ("cut", pa.array([None, True, False, False])),
    "a type": ("n", pa.array([1, 2, None, 4], pa.int32())),
    "an empty list for none": ("subwords", pa.array([[1, 2], [], [], [3]], pa.list_(pa.int32()))),
    "where a list ends": ("subwords", pa.array([[1], [2], None, [3]], pa.list_(pa.int32()))),
    "where a string ends": ("word", pa.array(["a", "bc", None, ""])),
    "where a string of a list ends": ("words", pa.array([["ab", "c"], [], ["d"], None], pa.list_(pa.string()))),
    "a component": ("vector", pa.FixedSizeListArray.from_arrays(pa.array(np.arange(8, dtype=np.float32) + 1e-6), 2)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_content_has_another_digest(change: str) -> None:
    name, values = CHANGES[change]
    changed = TABLE.set_column(TABLE.column_names.index(name), name, values)
    assert parquet.content_digest(changed) != parquet.content_digest(TABLE)


def test_other_names_rows_and_files_of_others(tmp_path: Path) -> None:
    digests = {
        parquet.content_digest(table) for table in (TABLE, TABLE.rename_columns([*"abcdef"]), TABLE.slice(1), TABLE.slice(0, 0))
    }
    assert len(digests) == 4
    assert parquet.content_digest(TABLE.slice(0, 0)) == parquet.content_digest(TABLE.schema.empty_table())
    records.write_json({}, tmp_path / "x.json")
    with parquet.checksummed(tmp_path / "x.parquet") as temporary:
        pq.write_table(TABLE, temporary)
    assert parquet.content(tmp_path / "x.parquet") is None and parquet.metadata(tmp_path / "x.parquet") == {}


def test_a_record_tells_the_settings_of_measures_once_for_all_recipes_that_share_them(tmp_path: Path) -> None:
    paths = []
    for number, (recipe, perplexity) in enumerate([("p/a", 10), ("p/b", 10), ("p/a", 30)]):
        paths.append(tmp_path / f"{number}.parquet")
        metadata = {"kind": "projection", "recipe": recipe, "settings": {"perplexity": perplexity}, "threads": 1}
        records.write([{"value": 1.0}], paths[-1], {"paper": "p"}, metadata=metadata)
    write_table(
        pd.DataFrame({"here": [1.0]}), tmp_path / "table1.csv", {}, {"needs": [*paths, paths[0], tmp_path / "history.csv"]}
    )
    told = json.loads((tmp_path / "table1.csv.json").read_text())
    assert [(measure["settings"]["perplexity"], measure["recipes"]) for measure in told["measures"]] == [
        (10, ["p/a", "p/b"]),
        (30, ["p/a"]),
    ]
    assert told["processor"] and told["threads"] == 1 and told["precision"] == "float32"


def test_the_content_of_lists_of_structs_is_that_of_their_fields():
    kind = pa.list_(pa.struct([("first", pa.int64()), ("form", pa.string())]))

    def digest_of(form: str) -> str:
        words = [[{"first": 1, "form": form}], [], [{"first": 2, "form": "zum"}]]
        return parquet.content_digest(pa.table({"words": pa.array(words, kind)}))

    assert digest_of("am") == digest_of("am") != digest_of("an")
