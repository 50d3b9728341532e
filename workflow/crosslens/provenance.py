"""How a table or figure was made, in a JSON file beside it."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from crosslens.digests import sealed
from crosslens.files import sha256
from crosslens.logs import command, revision, versions
from crosslens.records import read_json, write_json
from crosslens.trainings import trainings

PACKAGES = ("snakemake", "torch", "transformers", "tokenizers", "numpy", "scipy", "scikit-learn", "pandas", "matplotlib")


def write_table(made: pd.DataFrame, path: str | Path, settings: Mapping[str, Any], records: Iterable[str | Path] = ()) -> None:
    """Write a table as CSV and its record beside it."""
    with sealed(path) as temporary:
        made.to_csv(temporary, index=False)
    write_record(path, settings, records)


def write_record(made: str | Path, settings: Mapping[str, Any], records: Iterable[str | Path] = ()) -> None:
    """Write the record of a table or figure, FILE.json: command, settings, the records of the trainings behind it.

    Digests of data that several trainings read stand once, beside the trainings.
    """
    made = Path(made)
    folders = [folder for record in records for _, folder in trainings(Path(record), "")]
    known = [read_json(folder / "record.json") for folder in folders]
    data: dict[str, str] = {}
    for training in known:
        own = training["data_sha256"]
        if all(data.get(name, digest) == digest for name, digest in own.items()):
            data |= training.pop("data_sha256")
    write_json(
        {
            "file": made.name,
            "sha256": sha256(made),
            "command": command(made),
            "crosslens": revision(),
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "versions": versions(PACKAGES),
            "settings": settings,
            "data_sha256": data,
            "trainings": known,
            "training_seconds": round(sum(training["seconds"] for training in known), 1),
        },
        made.with_name(f"{made.name}.json"),
    )
