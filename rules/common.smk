# The validated configuration, and the graph of artefacts that describes the rules' steps (workflow/crosslens/graph/plan.py).
# Nothing here may import torch or pandas, since that would slow down every call.

import gc
import os
import sys
from contextlib import contextmanager
from functools import cache, partial

import snakemake.common
import snakemake.rules
from snakemake.logging import logger
from snakemake.io import _IOFile
from snakemake.persistence import RECORD_FORMAT_VERSION, MetadataRecord, PersistenceBase
from snakemake_interface_executor_plugins.settings import ExecMode

# Planning makes a million objects and drops few of them. With Python's default threshold of 700, it spends a fifth of its time
# searching them for cycles.
gc.set_threshold(100_000)
# Planning looks up the parameters of the rules' functions 50,000 times, which would take a sixth of its time.
snakemake.common.get_function_params = snakemake.rules.get_function_params = cache(snakemake.rules.get_function_params)

# Scripts import the library from workflow/. In a conda environment, sys.path reaches them but PYTHONPATH does not.
LIBRARY = str(ROOT.resolve() / "workflow")
sys.path.insert(0, LIBRARY)
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, (LIBRARY, os.environ.get("PYTHONPATH")))))

from crosslens.commands.hints import reason
from crosslens.commands.planned_jobs import FILE as PLAN
from crosslens.config.base import LANGUAGE_PATTERN
from crosslens.config.corpora import OfficialCorpus
from crosslens.config.encoders import FolderEncoder
from crosslens.config.presets import read_yaml
from crosslens.graph.plan import PAGE, PASSPORT, RECIPE, Graph
from crosslens.graph.reuse import Reuse
from crosslens.graph.targets import items_of, preparation, replaced, shown
from crosslens.measures.kinds import KINDS
from crosslens.papers.configuration import load_fitting
from crosslens.jobs.call import COMMAND, called
from crosslens.jobs.errors import DataError
from crosslens.jobs.digest_cache import Contents
from crosslens.jobs.snakemake_metadata import ChecksumMetadata, install
from crosslens.jobs.checksums import RESULTS as CHECKED_BELOW


@contextmanager
def errors_in_a_line():
    """Convert DataError to Snakemake's WorkflowError, which is shown without a traceback. Also works as a decorator."""
    try:
        yield
    except DataError as error:
        raise WorkflowError(str(error))


def without_traceback(record):
    """Reduce Snakemake's messages on errors in the configuration or in inputs to the reason."""
    if getattr(record, "exception", "") in ("WorkflowError", "InputFunctionException"):
        record.msg = reason(record.msg)
    return True


# As a module, this workflow does not change what is shown. planned_jobs.py reads errors in Snakemake's own form.
if workflow.modifier.is_main_snakefile() and PLAN not in os.environ:
    logger.addFilter(without_traceback)

with errors_in_a_line():
    if workflow.exec_mode == ExecMode.DEFAULT:
        # Checked again, since Snakemake silently keeps the last of two equal keys, and does not expand aliases.
        for file in workflow.configfiles:
            if Path(file).suffix != ".json":
                read_yaml(Path(os.path.relpath(file)))
    CONFIG_FILES = ", ".join(dict.fromkeys(os.path.relpath(file) for file in workflow.configfiles))
    CONFIG, MISFITS = load_fitting(config, CONFIG_FILES)  # a paper that does not fit is refused only when requested
    CONTENTS = Contents(Path(".snakemake/contents.json"))
    GRAPH = Graph(CONFIG, config, ROOT, CONTENTS, MISFITS)
    GRAPH.check()

RESULTS = CONFIG.results
LOGS = f"{RESULTS}/logs"
STUDIES = GRAPH.studies
# Checksum files record paths relative to these results folders. Other modules of a workflow may have added theirs.
folders = os.environ.get(CHECKED_BELOW, "").split(os.pathsep)
os.environ[CHECKED_BELOW] = os.pathsep.join(dict.fromkeys((*filter(None, folders), RESULTS)))
# Compiled encoder layers are shared: one job of a study compiles them for all.
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.abspath(f"{RESULTS}/.compiled"))
METADATA = ChecksumMetadata(RESULTS, partial(MetadataRecord, record_format_version=RECORD_FORMAT_VERSION), CONTENTS)
if workflow.exec_mode == ExecMode.DEFAULT:
    install(PersistenceBase, _IOFile, METADATA)
    os.environ[COMMAND] = called(sys.argv[1:])  # for logs and records


@cache
@errors_in_a_line()
def planned(make, **wildcards):
    """Step of a job, and its params. make: method of the graph that returns the step."""
    step = make(**wildcards)
    return step, GRAPH.params(step)


targets = errors_in_a_line()(partial(items_of, GRAPH))


def located(files):
    """Files of a step as inputs of a rule. For files of the repository, content in the params replaces the time (`ancient`)."""
    if not isinstance(files, str):
        return [located(file) for file in files]
    return files if files.startswith(f"{RESULTS}/") else ancient(str(ROOT / files))


def inputs(make):
    """Named inputs of a rule, which are those of its step. make: method of the graph."""

    def files_by_name(wildcards):
        step, _ = planned(make, **dict(wildcards.items()))
        return {name: located(files) for name, files in step.inputs.items()}

    return unpack(files_by_name)


def params(make, *facts):
    """Params of a rule: code, settings, environment and named facts of its step. A change in any of them reruns the rule."""
    names = ("code", "settings", "environment", *facts)
    return {name: lambda wildcards, name=name: planned(make, **dict(wildcards.items()))[1][name] for name in names}


def contents(files):
    """Names of the facts on some files' content: one per file, so that Snakemake shows which one caused a rerun."""
    return [f"content{number}" for number, _ in enumerate(files)]


def any_of(names):
    """Pattern that matches any of some names. It is short, since Snakemake matches patterns against every file."""
    return "|".join(names) or "none"


def corpora_that(condition):
    """Pattern that matches the names of corpora that fulfil a condition."""
    return any_of(name for name, corpus in CONFIG.corpora.items() if condition(corpus))


def measures_of(*sources):
    """Pattern of measures, KIND or KIND@ASKER, of kinds with one of these sources: predictions, samples, states, encoder."""
    return f"(?:{any_of(name for name, kind in KINDS.items() if kind.source in sources)})(?:@[a-z0-9_-]+)?"


ANY_RECIPE = f"(?:{'|'.join(paper.key for paper in STUDIES.papers)})/[^.]+"  # the graph reports unknown names


wildcard_constraints:
    corpus=any_of(CONFIG.corpora),
    encoder=any_of(CONFIG.encoders),
    tokenisation=any_of(CONFIG.tokenisations),
    language=LANGUAGE_PATTERN.strip("^$"),
    recipe=ANY_RECIPE,
    seed=r"\d+",
