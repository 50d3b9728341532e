# The configuration, checked and typed; fingerprints; the names of files. No torch or pandas here: every call pays for it.

import os
import sys
from itertools import chain
from pathlib import Path

ROOT = Path(workflow.basedir)
# Scripts import the library from workflow/; in a conda environment only sys.path reaches them.
sys.path.insert(0, str(ROOT / "workflow"))
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, (str(ROOT / "workflow"), os.environ.get("PYTHONPATH")))))

from crosslens.config.base import LANGUAGE_PATTERN, ConfigError, languages_table
from crosslens.config.whole import load
from crosslens.fingerprint import Fingerprints, pins
from crosslens.papers.recipes import draws as stored_states
from crosslens.papers.recipes import names as recipe_names
from crosslens.papers.recipes import resolve
from crosslens.papers.recipes import trial_names

try:
    CONFIG = load(config, ", ".join(dict.fromkeys(os.path.relpath(file) for file in workflow.configfiles)))
except ConfigError as error:
    raise WorkflowError(str(error))

RESULTS = CONFIG.results
LOGS = f"{RESULTS}/logs"
fingerprint = Fingerprints(ROOT)
RECIPES = "|".join(recipe_names(CONFIG))
TRIALS = "|".join(trial_names(CONFIG)) or "none"


wildcard_constraints:
    corpus="|".join(CONFIG.corpora),
    encoder="|".join(CONFIG.encoders),
    language=LANGUAGE_PATTERN.strip("^$"),
    recipe=f"{RECIPES}|{TRIALS}",
    seed=r"\d+",
    split="train|validation|dev|test",


def code(script):
    """What a script computes: changes rerun its rule, comments do not."""
    return fingerprint(f"workflow/scripts/{script}.py")


def environment(name):
    """The pinned packages of an environment: the same with conda on or off."""
    return pins(ROOT / "envs" / f"{name}.yaml")


def corpora_that(chosen):
    """Pattern of the corpora that a function chooses."""
    return "|".join(name for name, corpus in CONFIG.corpora.items() if chosen(corpus)) or "none"
