"""Trials of a hyperparameter search, trained one after the other."""

import hashlib
import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosslens.config.recipes import Edit, Recipe
from crosslens.config.units import Units
from crosslens.jobs import signals
from crosslens.jobs.checksums import checksummed, digest, read_checksums, verified
from crosslens.jobs.errors import DataError
from crosslens.jobs.training_folders import CHECKPOINT
from crosslens.training.features import Features
from crosslens.training.lock import alone
from crosslens.training.run import run


def search(
    trials: Sequence[Recipe],
    seed: int,
    encoder: Path,
    tokens: Mapping[str, Path],
    output: Path,
    *,
    version: Sequence[str],
    threads: int,
    log: logging.Logger,
) -> None:
    """Train trials with one seed; write the results of each to a subfolder of `output`, named by the last part of its name.

    tokens: corpus -> folder of its tokens. version: everything else that decides the results, such as a fingerprint of the
    code.

    Finished trials are kept next to `output`, in a folder named by a digest of everything that decides them. So a stopped
    search continues after its finished trials, and does not mistake results of other settings, data or code for them. Raises
    DataError while another process carries out the same search.
    """
    files = dict.fromkeys(tokens[key[0]] / f"{key[1]}.{key[2]}.parquet" for trial in trials for key in trial.files())
    data = [read_checksums(verified(encoder)).sums, *(digest(verified(file)) for file in files)]
    decisive = json.dumps([*version, seed, [trial.settings() for trial in trials], data])
    unfinished = output.with_name(f".{output.name}.begun-{hashlib.sha256(decisive.encode()).hexdigest()[:16]}")
    with alone(output.with_name(f".{output.name}.running"), unfinished, f"the search in {output}"):
        shared: dict[tuple[Edit, Units], Features] = {}
        for trial in trials:
            folder = unfinished / Path(trial.name).name
            if _finished(folder, log):
                log.info("%s was finished before", trial.name)
                continue
            # Heads on a fixed encoder read the same states in every trial.
            features = None if trial.trains_encoder() else shared.setdefault((trial.edit, trial.units), Features())
            run(trial, seed, encoder, tokens, folder, version=version, threads=threads, log=log, features=features, target=output)
            (folder / CHECKPOINT).unlink(missing_ok=True)
        with signals.held(), checksummed(output) as whole:
            shutil.copytree(unfinished, whole, ignore=shutil.ignore_patterns(".*", f"{CHECKPOINT}*"))
        for folder in output.parent.glob(f".{output.name}.begun-*"):
            if folder != unfinished:
                shutil.rmtree(folder)


def _finished(folder: Path, log: logging.Logger) -> bool:
    """Return whether an earlier run has finished a trial and its files are unchanged."""
    files = [
        file for file in folder.glob("[!.]*") if not file.name.startswith(CHECKPOINT)
    ]  # a damaged checkpoint may have been kept there
    try:
        return all(verified(file).is_file() for file in (folder / "record.json", *files))
    except DataError as error:
        if folder.exists():
            log.warning("%s: the trial starts again", error)
        return False
