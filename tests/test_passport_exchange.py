"""The exchange file of a passport, by the schema of Every Eval Ever.

tests/every_eval_ever has the schema of the package every-eval-ever 0.3.0 and its licence. The package itself needs Python 3.12.
"""

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import passports
import pytest
from crosslens.jobs.files import sha256
from crosslens.papers.passport.exchange import exchange
from crosslens.papers.passport.facts import Passport, measures
from crosslens.papers.passport.pretraining import Pretraining

SCHEMA = json.loads((Path(__file__).parent / "every_eval_ever/eval.schema.json").read_text("utf-8"))
PRETRAINING = Pretraining({"xlm-r": {"languages": "en de"}}, {passports.ENCODER["id"]: {"languages": "xlm-r", "parallel": True}})


def log(folder: Path, **changes: Any) -> dict[str, Any]:
    """The exchange file of a made-up passport, as a reader of JSON gets it."""
    path = passports.write(folder, **changes)
    contents: dict[str, Any] = json.loads(json.dumps(exchange(Passport.read(path), PRETRAINING, path), allow_nan=False))
    return contents


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"encoder": {"id": None, "revision": None, "positions": "rotary"}},
        {"facts": {"commit": None, "split": None}},
    ],
)
def test_the_file_is_valid(tmp_path: Path, changes: dict[str, Any]) -> None:
    contents = log(tmp_path, **changes)
    assert contents["schema_version"] == SCHEMA["version"]
    jsonschema.validate(contents, SCHEMA, jsonschema.Draft7Validator)


def test_a_result_tells_of_the_table(tmp_path: Path) -> None:
    contents = log(tmp_path)
    results = {result["evaluation_result_id"]: result for result in contents["evaluation_results"]}
    strong, premium = results["neighbours.strong-raw.12"], results["premium.premium"]
    value = Passport.read(tmp_path / "e5.csv").value("neighbours", "12")
    assert value is not None and strong["score_details"]["score"] == value.value
    interval = strong["score_details"]["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"], interval["confidence_level"]) == (value.low, value.high, 0.95)
    assert strong["score_details"]["details"]["random weights"] == "0.016"
    parameters = {"definition": "strong, raw", "layer": "12", "layers": 12, "version": 1}
    assert strong["metric_config"]["metric_parameters"] == parameters
    assert (premium["metric_config"]["lower_is_better"], premium["metric_config"]["max_score"]) == (True, "Infinity")
    assert "uncertainty" not in results["share.raw.12"]["score_details"]  # it has no interval
    assert {result["metric_config"]["metric_id"] for result in results.values()} == {f"crosslens.{key}" for key in measures()}
    assert len(results) == len(contents["evaluation_results"]) and not math.isnan(value.value)


def test_the_table_is_named_with_its_digest(tmp_path: Path) -> None:
    source = log(tmp_path)["source_metadata"]["additional_details"]
    assert (source["table"], source["table_sha256"]) == ("e5.csv", sha256(tmp_path / "e5.csv"))
    assert int(source["rows_of_languages"]) > 31 * 12 * 12
