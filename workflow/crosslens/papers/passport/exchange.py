"""A passport in the exchange format Every Eval Ever (github.com/evaleval/every_eval_ever), in which all details are text."""

import math
from calendar import timegm
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import strptime
from typing import Any

from crosslens.jobs.files import sha256
from crosslens.numerics.intervals import LEVEL, Interval
from crosslens.papers.passport.facts import SUMMARY, Measure, Passport, measures
from crosslens.papers.passport.pretraining import Pretraining

SCHEMA = "0.3.0"
METHOD = "over families of languages: Student's t over their means, of layers as a whole the jackknife"


def exchange(passport: Passport, pretraining: Pretraining, table: Path) -> dict[str, Any]:
    """Contents of NAME.json: a run with one result for each measure at its last and at its summary layer.

    table: file of the passport's table, which has the values by language. The schema has a place only for results by sample
    (`detailed_evaluation_results`), so the table's name and digest are among the details of the source.
    """
    facts, record = passport.facts, passport.record
    seconds = timegm(strptime(record["made"], "%Y-%m-%dT%H:%M:%SZ"))
    model = _model(passport, pretraining)
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"crosslens-passport-{facts['version']}/{model['id'].replace('/', '_')}/{seconds}",
        "evaluation_timestamp": record["made"],
        "retrieved_timestamp": str(seconds),
        "source_metadata": {
            "source_name": f"crosslens passport {facts['version']}",
            "source_type": "evaluation_run",
            "source_organization_name": "crosslens",
            "evaluator_relationship": "other",  # it is not known who ran it
            "additional_details": _texts(
                {
                    "table": table.name,
                    "table_sha256": sha256(table),
                    "table_rows": len(passport.table),
                    "rows_of_languages": len(passport.table[passport.table["family"] != ""]),
                    "command": record.get("command"),
                    **{name: facts.get(name) for name in ("sentences_sha256", "inputs_sha256", "code_sha256", "subwords_sha256")},
                }
            ),
        },
        "eval_library": {
            "name": "crosslens",
            "version": record.get("crosslens") or "unknown",
            "additional_details": _texts({"passport": facts["version"], **record["versions"]}),
        },
        "model_info": model,
        "evaluation_results": [result for measure in measures().values() for result in _results(passport, measure)],
    }


def _model(passport: Passport, pretraining: Pretraining) -> dict[str, Any]:
    """Description of the encoder."""
    encoder, languages = passport.encoder, passport.facts["languages"]
    id = passport.id
    covered = pretraining.covered(id, languages)
    details = {name: value for name, value in encoder.items() if name != "id"} | {
        "languages_covered": None if covered is None else " ".join(covered),
        "parallel_text": pretraining.parallel(id),
        "deployment_type": "self_deployed",
        "model_availability": "open_weights" if encoder.get("revision") else "unknown",
    }
    developer = {"developer": id.partition("/")[0]} if encoder.get("revision") else {}
    return {"name": passport.facts["name"], "id": id, **developer, "additional_details": _texts(details)}


def _results(passport: Passport, measure: Measure) -> Iterator[dict[str, Any]]:
    """Results of a measure at its last layer and at its summary layer, as far as they were measured."""
    for layer in (passport.last(measure.key), SUMMARY):
        value = passport.value(measure.key, layer)
        if value is not None:
            yield {
                "evaluation_result_id": ".".join(filter(None, (measure.key, measure.definition.replace(", ", "-"), layer))),
                "evaluation_name": measure.title,
                "source_data": _source(passport.facts),
                "metric_config": _metric(passport, measure, layer),
                "score_details": {
                    "score": value.value,
                    "details": _texts(dict(_baselines(passport, measure, layer))),
                    **_uncertainty(value),
                },
            }


def _source(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Description of the texts."""
    details = {"commit": facts.get("commit"), "split": facts.get("split"), "sentences": facts["n"]}
    details |= {"languages": " ".join(facts["languages"])}
    return {"dataset_name": facts["corpus"], "source_type": "other", "additional_details": _texts(details)}


def _metric(passport: Passport, measure: Measure, layer: str) -> dict[str, Any]:
    """Description of a measure at a layer, with its version and definition."""
    return {
        "evaluation_description": measure.meaning,
        "metric_id": f"crosslens.{measure.key}",
        "metric_name": measure.title,
        "metric_parameters": {
            "definition": measure.definition,
            "layer": layer or None,
            "layers": passport.depth,
            "version": passport.facts["measures"][measure.key],
        },
        "lower_is_better": measure.better == "lower",
        "score_type": "continuous",
        "min_score": "-Infinity" if measure.minimum is None else measure.minimum,
        "max_score": "Infinity" if measure.maximum is None else measure.maximum,
        "additional_details": {"better": measure.better},
    }


def _baselines(passport: Passport, measure: Measure, layer: str) -> Iterator[tuple[str, float]]:
    """Yield names and values of a measure's baselines at a layer, and its value at layer 0."""
    for kind in measure.baselines:
        baseline = passport.value(measure.key, layer, baseline=kind)
        if baseline:
            yield kind, baseline.value
    first = passport.value(measure.key, "0")
    if first and layer:
        yield "layer 0", first.value


def _uncertainty(value: Interval) -> dict[str, Any]:
    """The interval of a value; {} if it has none."""
    if math.isnan(value.low):
        return {}
    interval = {"lower": value.low, "upper": value.high, "confidence_level": 1 - LEVEL, "method": METHOD}
    return {"uncertainty": {"confidence_interval": interval}}


def _texts(details: Mapping[str, Any]) -> dict[str, str]:
    """Details as text, which is all that the schema allows; those that are unknown are left out."""
    return {name: str(value) for name, value in details.items() if value is not None}
