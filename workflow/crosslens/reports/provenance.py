"""Records of how tables and figures were made: a JSON file for each, in the same folder."""

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.jobs import parquet
from crosslens.jobs.call import command
from crosslens.jobs.checksums import checksummed
from crosslens.jobs.files import sha256
from crosslens.jobs.machine import machine, revision, versions
from crosslens.jobs.records import read_json, write_json
from crosslens.jobs.training_folders import stages_without_improvement, training_runs

PACKAGES = ("snakemake", "torch", "transformers", "tokenizers", "numpy", "scipy", "scikit-learn", "pandas", "matplotlib")

DATA = ("data_sha256", "content_sha256")  # keys in records of training runs: digests of data files and of the content of tables


def write_table(
    table: pd.DataFrame, path: str | Path, settings: Mapping[str, Any], files: Mapping[str, Any], facts: Mapping[str, Any] = {}
) -> None:  # fmt: skip
    """Write a table as CSV, and its record to PATH.json. settings, files, facts: see `write_record`."""
    with checksummed(path) as temporary:
        table.to_csv(temporary, index=False)
    write_record(path, settings, files, facts)


def write_record(file: str | Path, settings: Mapping[str, Any], files: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Write the record of a table or figure, FILE.json: the command, the settings, and its measures and training runs.

    Data digests that training runs share are written once, outside the training runs. Settings that measures of several recipes
    share are written once, with the names of the recipes.

    files: input files. `records` are those of training runs, with a history in the same folder; `needs` include the measures.
    facts: further entries, under the key of the paper.
    """
    file = Path(file)
    folders = [folder for record in files.get("records", ()) for _, folder in training_runs(Path(record), "")]
    records = [read_json(folder / "record.json") for folder in folders]
    for folder, training in zip(folders, records, strict=True):
        training["stages_without_improvement"] = stages_without_improvement(folder / "history.csv", training["recipe"])
    data: dict[str, dict[str, str]] = {name: {} for name in DATA}
    for training in records:
        for name, shared in data.items():
            if all(shared.get(data_file, digest) == digest for data_file, digest in training[name].items()):
                shared |= training.pop(name)
    write_json(
        {
            "file": file.name,
            "sha256": sha256(file),
            "command": command(file),
            "crosslens": revision(),
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "versions": versions(PACKAGES),
            "settings": settings,
            **machine(threads=1),
            "measures": _measures(map(Path, files.get("needs", ()))),
            **data,
            "training_runs": records,
            "training_seconds": round(sum(training["seconds"] for training in records), 1),
            **facts,
        },
        file.with_name(f"{file.name}.json"),
    )


def _measures(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Measures among some files: kind, settings and machine, each with all recipes that share them."""
    shared: dict[str, dict[str, Any]] = {}
    for path in dict.fromkeys(paths):
        measured = parquet.metadata(path) if path.suffix == ".parquet" else {}
        if recipe := measured.pop("recipe", None):
            recipes = shared.setdefault(json.dumps(measured, sort_keys=True), {**measured, "recipes": []})["recipes"]
            recipes += [recipe] if recipe not in recipes else []
    return list(shared.values())
