"""Measure what a recipe's trainings left, or hidden states: one kind of measure."""

from importlib import import_module
from pathlib import Path

from crosslens import logs, records
from crosslens.measures.given import Given
from crosslens.trainings import trainings

kind, params = snakemake.wildcards.kind, snakemake.params
logs.start(snakemake.log[0], snakemake.output[0])
# Not an import at the top: the kind is one of several, and the rule's fingerprint takes in just this one.
module = import_module(f"crosslens.measures.{kind}")
tokens = {Path(folder).name: Path(folder) for folder in snakemake.input.get("tokens", [])}
recipe, inputs = snakemake.wildcards.recipe, snakemake.input
given = [[(recipe, Path(inputs[name]))] for name in ("states", "draws") if name in inputs.keys()]
given += [trainings(Path(path), recipe) for path in inputs.get("predictions", [])]
typology = next(map(Path, inputs.get("typology", [])), None)
rows = [
    {"recipe": name, "seed": seed} | row
    for seed, folders in zip(params.seeds, given, strict=True)
    for name, folder in folders
    for row in module.measure(Given(folder, seed, tokens, typology, snakemake.threads), **params.settings["measure"])
]
schema = getattr(module, "SCHEMA", records.RECORDS)
records.write(rows, Path(snakemake.output[0]), params.settings["common"], schema)
