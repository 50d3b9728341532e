"""Compute one kind of measure of a recipe, from predictions, hidden states or samples, or with the recipe's encoder."""

from importlib import import_module
from pathlib import Path

from crosslens.jobs import gpus, logs, records
from crosslens.jobs.checksums import verified
from crosslens.jobs.machine import machine
from crosslens.jobs.training_folders import seen, training_runs
from crosslens.measures.shared.subject import Subject

kind, settings = snakemake.wildcards.kind.partition("@")[0], snakemake.params.settings
log = logs.start(snakemake.log[0], snakemake.output[0])
gpus.take(snakemake.resources.get("gpu", 0), log)
# Not imported at the top: there are several kinds, and the fingerprint of the rule covers only this one.
module = import_module(f"crosslens.measures.{settings['module']}")
tokens, dictionaries = (
    {Path(folder).name: Path(folder) for folder in snakemake.input.get(name, [])} for name in ("tokens", "dictionaries")
)
recipe, inputs = snakemake.wildcards.recipe, snakemake.input
folders_by_seed = [[(recipe, Path(inputs[name]))] for name in ("states", "samples", "encoder") if name in inputs.keys()]
folders_by_seed += [training_runs(Path(path), recipe) for path in inputs.get("predictions", [])]
weights = [verified(Path(path)) for path in inputs.get("weights", [])]
if "encoder" in inputs.keys():
    verified(Path(inputs["encoder"]))
typology = next(map(Path, inputs.get("typology", [])), None)
rows = [
    {"recipe": name, "seed": seed} | row
    for seed, folders in zip(settings["seeds"], folders_by_seed, strict=True)
    for name, folder in folders
    for row in module.measure(
        Subject(folder, seed, tokens, typology, snakemake.threads, weights, dictionaries), **settings["measure"]
    )
]
schema = getattr(module, "SCHEMA", records.RECORDS)
seen(inputs.get("predictions", []))  # clean up here too, since not every run has the handler `Jobs` of commands/messages.py
metadata = {"kind": kind, "recipe": recipe, "settings": settings["measure"], **machine(snakemake.threads)}
records.write(rows, Path(snakemake.output[0]), settings["common"], schema, metadata, module.__name__)
