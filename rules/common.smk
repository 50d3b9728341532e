# The configuration, checked and typed; fingerprints; the names of files. No torch or pandas here: every call pays for it.

import os
import sys
from functools import cache
from itertools import chain
from pathlib import Path

ROOT = Path(workflow.basedir)
# Scripts import the library from workflow/; in a conda environment only sys.path reaches them.
sys.path.insert(0, str(ROOT / "workflow"))
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, (str(ROOT / "workflow"), os.environ.get("PYTHONPATH")))))

from crosslens.config.base import LANGUAGE_PATTERN, ConfigError, languages_table
from crosslens.config.whole import load
from crosslens.fingerprint import Fingerprints, pins
from crosslens.kinds import kinds
from crosslens.papers.paper import MODEL_FILES, papers

try:
    CONFIG = load(config, ", ".join(dict.fromkeys(os.path.relpath(file) for file in workflow.configfiles)))
except ConfigError as error:
    raise WorkflowError(str(error))

RESULTS = CONFIG.results
LOGS = f"{RESULTS}/logs"
fingerprint = Fingerprints(ROOT)
KINDS = kinds()  # of measures: kind -> what it reads
PAPERS = [paper for paper in papers() if CONFIG.paper(paper.key)]
# What is trained, by name; what is shown, by its place below the results: table2, muller2021/table2.
RECIPES = {name: (paper, recipe) for paper in PAPERS for name, recipe in paper.recipes(CONFIG).items()}
TRIALS = {name: (paper, recipe) for paper in PAPERS for name, recipe in paper.trials(CONFIG).items()}
ITEMS = {paper.path(name): (paper, name, item) for paper in PAPERS for name, item in paper.items(CONFIG).items()}
# Snakemake matches patterns of recipes against every file: short ones, and `asked` tells of a name that is none.
ANY_RECIPE = f"(?:{'|'.join(paper.key for paper in PAPERS)})/[^.]+"
KEPT = "|".join(name for name, (_, recipe) in RECIPES.items() if recipe.keeps_weights) or "none"
config["captions"] = {place: item.caption for place, (_, _, item) in ITEMS.items()}  # for report/item.rst
config["about"] = {paper.key: paper.about for paper in PAPERS}  # for report/workflow.rst


wildcard_constraints:
    corpus="|".join(CONFIG.corpora),
    encoder="|".join(CONFIG.encoders),
    item="|".join(ITEMS),
    kind="|".join(KINDS),
    language=LANGUAGE_PATTERN.strip("^$"),
    recipe=ANY_RECIPE,
    seed=r"\d+",
    split="train|validation|dev|test",


def code(script, *modules):
    """What a script computes, and library modules that it imports by name: changes rerun its rule, comments do not."""
    files = [f"workflow/scripts/{script}.py", *(f"workflow/crosslens/{module}.py" for module in modules)]
    return " ".join(fingerprint(file) for file in files)


def asked(recipe):
    """Paper and recipe of a name."""
    found = RECIPES.get(recipe) or TRIALS.get(recipe)
    if not found:
        raise WorkflowError(f"{recipe}: no recipe of the configuration has this name")
    return found


def seeds(recipe):
    """Seeds of a recipe."""
    paper, found = asked(recipe)
    return paper.seeds(found, CONFIG)


def environment(name):
    """The pinned packages of an environment: the same with conda on or off."""
    return pins(ROOT / "envs" / f"{name}.yaml")


def corpora_that(chosen):
    """Pattern of the corpora that a function chooses."""
    return "|".join(name for name, corpus in CONFIG.corpora.items() if chosen(corpus)) or "none"
