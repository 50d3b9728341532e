# The configuration, checked and typed; fingerprints; file names. No import of torch or pandas: it would slow down every call.

import gc
import os
import sys
from contextlib import contextmanager
from functools import cache, partial

from snakemake.logging import logger
from snakemake.io import _IOFile
from snakemake.persistence import RECORD_FORMAT_VERSION, MetadataRecord, PersistenceBase
from snakemake_interface_executor_plugins.settings import ExecMode

# Planning makes a million objects and drops few of them. With Python's 700, a fifth of its time goes to searching them for cycles.
gc.set_threshold(100_000)

# Scripts import the library from workflow/; in a conda environment only sys.path reaches them.
LIBRARY = str(ROOT.resolve() / "workflow")
sys.path.insert(0, LIBRARY)
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, (LIBRARY, os.environ.get("PYTHONPATH")))))

from crosslens.reports.about import About
from crosslens.config.base import LANGUAGE_PATTERN, languages_table, nearest
from crosslens.config.corpora import OfficialCorpus
from crosslens.config.encoders import FolderEncoder
from crosslens.papers.configuration import load, load_fitting
from crosslens.monitoring.plan import FILE as PLAN
from crosslens.monitoring.plan import Recorder
from crosslens.storage.seals import RESULTS as SEALED_BELOW
from crosslens.storage.seals import identities
from crosslens.runs.errors import DataError
from crosslens.storage.fingerprint import Fingerprints, pins
from crosslens.monitoring.hints import KEPT_IN_SPITE, SHOWN, missing_command, missing_image, published_here
from crosslens.monitoring.hints import reason, unknown_rules, unknown_target, warnings
from crosslens.monitoring.jobs import Jobs, calm
from crosslens.measures.kinds import expected_settings, named_corpora
from crosslens.runs.call import COMMAND, called
from crosslens.reports.paper import MODEL_FILES
from crosslens.papers import papers
from crosslens.reports.studies import BY_SEED, Studies
from crosslens.config.scales import read_yaml, scales
from crosslens.storage.contents import Contents
from crosslens.storage.metadata import SealedMetadata, install


@contextmanager
def errors_in_a_line():
    """Raise the library's errors about data as Snakemake's, which are shown without a traceback. Decorates functions, too."""
    try:
        yield
    except DataError as error:
        raise WorkflowError(str(error))


with errors_in_a_line():
    if workflow.exec_mode == ExecMode.DEFAULT:
        # Snakemake has read them, but takes the last of two equal keys, and does not expand aliases.
        for file in workflow.configfiles:
            if Path(file).suffix != ".json":
                read_yaml(Path(os.path.relpath(file)))
    CONFIG_FILES = ", ".join(dict.fromkeys(os.path.relpath(file) for file in workflow.configfiles))
    CONFIG, MISFITS = load_fitting(config, CONFIG_FILES)  # a paper that does not fit is refused where it is asked for

RESULTS = CONFIG.results
folders = os.environ.get(SEALED_BELOW, "").split(os.pathsep)  # may name the results of other modules of the workflow
os.environ[SEALED_BELOW] = os.pathsep.join(dict.fromkeys((*filter(None, folders), RESULTS)))  # seals say what they seal
LOGS = f"{RESULTS}/logs"
CONTENTS = Contents(Path(".snakemake/contents.json"))
METADATA = SealedMetadata(RESULTS, partial(MetadataRecord, record_format_version=RECORD_FORMAT_VERSION), CONTENTS)
if workflow.exec_mode == ExecMode.DEFAULT:
    install(PersistenceBase, _IOFile, METADATA)
fingerprint = Fingerprints(ROOT)
STUDIES = Studies(CONFIG, papers())
PAPERS, RECIPES, TRIALS, DRAWS, ITEMS = STUDIES.papers, STUDIES.recipes, STUDIES.trials, STUDIES.draws, STUDIES.items
# Snakemake matches recipe patterns against every file, so they are short; `recipe_of` reports unknown names.
ANY_RECIPE = f"(?:{'|'.join(paper.key for paper in PAPERS)})/[^.]+"
TRIAL_JOBS = "|".join(sorted({f"{name.rstrip('0123456789')}[0-9]*" for name in TRIALS})) or "none"
KEPT = "|".join(name for name, (_, recipe) in RECIPES.items() if recipe.keeps_weights) or "none"


def kinds_pattern(names):
    """Pattern of measures of some kinds: KIND or KIND@ASKER."""
    return f"(?:{'|'.join(names) or 'none'})(?:@[a-z0-9_-]+)?"


wildcard_constraints:
    corpus="|".join(CONFIG.corpora) or "none",
    encoder="|".join(CONFIG.encoders) or "none",
    item="|".join(ITEMS) or "none",
    kind=kinds_pattern(STUDIES.kinds),
    reading="|".join(CONFIG.readings) or "none",
    language=LANGUAGE_PATTERN.strip("^$"),
    recipe=ANY_RECIPE,
    seed=r"\d+",
    split="train|validation|dev|test",


def code(script, *modules):
    """Fingerprint of a script and of library modules that it imports by name: a change reruns its rule, a comment does not."""
    files = [f"workflow/scripts/{script}.py", *(f"workflow/crosslens/{module}.py" for module in modules)]
    return " ".join(fingerprint(file) for file in files)


@errors_in_a_line()
def recipe_of(name):
    """Recipe of a name; of trials that share a job, the first. Raises WorkflowError for an unknown name."""
    return STUDIES.recipe(name)[1]


def environment(name):
    """Digest of the pinned packages of an environment, with conda on or off."""
    return pins(ROOT / "envs" / f"{name}.yaml")


def corpora_that(condition):
    """Pattern of the names of corpora that fulfil a condition."""
    return "|".join(name for name, corpus in CONFIG.corpora.items() if condition(corpus)) or "none"


if workflow.exec_mode == ExecMode.DEFAULT:
    os.environ[COMMAND] = called(sys.argv[1:])  # for logs and records
