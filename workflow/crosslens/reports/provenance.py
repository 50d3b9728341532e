"""Records of how tables and figures were made, JSON files beside them."""

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.runs.call import command
from crosslens.runs.machine import machine, revision, versions
from crosslens.storage import parquet
from crosslens.storage.files import sha256
from crosslens.storage.records import read_json, write_json
from crosslens.storage.seals import sealed
from crosslens.storage.trainings import stages_without_improvement, trainings

PACKAGES = ("snakemake", "torch", "transformers", "tokenizers", "numpy", "scipy", "scikit-learn", "pandas", "matplotlib")

DATA = ("data_sha256", "content_sha256")  # digests of files and of what tables hold, in the records of trainings


def write_table(
    table: pd.DataFrame, path: str | Path, settings: Mapping[str, Any], files: Mapping[str, Any], facts: Mapping[str, Any] = {}
) -> None:  # fmt: skip
    """Write a table as CSV and its record beside it; settings, files, facts: see `write_record`."""
    with sealed(path) as temporary:
        table.to_csv(temporary, index=False)
    write_record(path, settings, files, facts)


def write_record(
    file: str | Path, settings: Mapping[str, Any], files: Mapping[str, Any], facts: Mapping[str, Any] = {}
) -> None:  # fmt: skip
    """Write the record of a table or figure, FILE.json: the command, settings, and its measures and trainings.

    files: `records` of the trainings, beside which are their histories, and `needs`, among which are the measures. Digests of
    data that several trainings read stand once, beside the trainings; settings of measures stand once for all recipes that share
    them. facts: further entries, under the key of the paper.
    """
    file = Path(file)
    folders = [folder for record in files.get("records", ()) for _, folder in trainings(Path(record), "")]
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
            "trainings": records,
            "training_seconds": round(sum(training["seconds"] for training in records), 1),
            **facts,
        },
        file.with_name(f"{file.name}.json"),
    )


def _measures(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Measures among an item's files: kind, settings and machine, once for all recipes that share them, and the recipes."""
    shared: dict[str, dict[str, Any]] = {}
    for path in dict.fromkeys(paths):
        measured = parquet.metadata(path) if path.suffix == ".parquet" else {}
        if recipe := measured.pop("recipe", None):
            recipes = shared.setdefault(json.dumps(measured, sort_keys=True), {**measured, "recipes": []})["recipes"]
            recipes += [recipe] if recipe not in recipes else []
    return list(shared.values())
