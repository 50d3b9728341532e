"""What the demo reads, after `make demo`: texts that are whole, and validation that is apart from train."""

from pathlib import Path

import pytest
from crosslens.corpora import schema
from crosslens.jobs import parquet

pytestmark = pytest.mark.demo
RESULTS = Path(__file__).parents[2] / "results/demo"


def test_no_text_is_cut():
    told = {path.relative_to(RESULTS): parquet.metadata(path) for path in RESULTS.glob("tokens/*/*/*/*.parquet")}
    assert told and {path: counts for path, counts in told.items() if counts["cut_texts"] or counts["cut_words"]} == {}


def test_no_pair_of_a_training_premise_is_in_validation():
    premises = {row["id"]: row["premise"] for row in schema.read(RESULTS / "corpora/xnli/en.train.parquet").to_pylist()}
    tokens = RESULTS / "tokens/e5-small/without_unknown/xnli"
    splits = [
        {premises[id] for id in schema.read(tokens / f"en.{split}.parquet")["id"].to_pylist()}
        for split in ("train", "validation")
    ]
    assert all(splits) and splits[0].isdisjoint(splits[1])
