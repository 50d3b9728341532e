"""Trials of a search from files to files, one after the other."""

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
    """Train trials with one seed; write the results of each to a folder of `output` with the last part of the trial's name.

    tokens: corpus -> its folder of tokens. version: what else decides the results, such as a fingerprint of the code.
    Finished trials are kept beside the output, in a folder whose name is a digest of all that decides them. So a search that was
    stopped continues after its finished trials, and results of other settings, data or code are not mistaken for them. Raises
    DataError while another run of the same search is active.
    """
    files = dict.fromkeys(tokens[key[0]] / f"{key[1]}.{key[2]}.parquet" for trial in trials for key in trial.files())
    data = [read_checksums(verified(encoder)).sums, *(digest(verified(file)) for file in files)]
    decisive = json.dumps([*version, seed, [trial.settings() for trial in trials], data])
    unfinished = output.with_name(f".{output.name}.begun-{hashlib.sha256(decisive.encode()).hexdigest()[:16]}")
    with alone(output.with_name(f".{output.name}.running"), unfinished, f"the search in {output}"):
        _train(trials, seed, encoder, tokens, unfinished, output, version=version, threads=threads, log=log)
        with signals.held(), checksummed(output) as whole:
            shutil.copytree(unfinished, whole, ignore=shutil.ignore_patterns(".*", f"{CHECKPOINT}*"))
        for folder in output.parent.glob(f".{output.name}.begun-*"):
            if folder != unfinished:
                shutil.rmtree(folder)


def _train(
    trials: Sequence[Recipe], seed: int, encoder: Path, tokens: Mapping[str, Path], unfinished: Path, output: Path,
    *, version: Sequence[str], threads: int, log: logging.Logger,
) -> None:  # fmt: skip
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


def _finished(folder: Path, log: logging.Logger) -> bool:
    """Whether an earlier run has finished a trial and its files are unchanged."""
    files = [
        file for file in folder.glob("[!.]*") if not file.name.startswith(CHECKPOINT)
    ]  # a checkpoint that was set aside may lie beside them
    try:
        return all(verified(file).is_file() for file in (folder / "record.json", *files))
    except DataError as error:
        if folder.exists():
            log.warning("%s: the trial starts again", error)
        return False
