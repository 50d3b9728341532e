# The configuration, checked and typed, and the graph of artefacts that the rules ask (workflow/crosslens/graph/plan.py).
# No import of torch or pandas: it would slow down every call.

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

# Planning makes a million objects and drops few of them. With Python's 700, a fifth of its time goes to searching them for
# cycles.
gc.set_threshold(100_000)
# A plan asks 50,000 times which parameters the functions of rules have, which takes a sixth of its time.
snakemake.common.get_function_params = snakemake.rules.get_function_params = cache(snakemake.rules.get_function_params)

# Scripts import the library from workflow/; in a conda environment only sys.path reaches them.
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
    """Raise the library's errors about data as Snakemake's, which are shown without a traceback. Decorates functions, too."""
    try:
        yield
    except DataError as error:
        raise WorkflowError(str(error))


def without_traceback(record):
    """Keep just the reason in Snakemake's messages on errors of the configuration or of inputs."""
    if getattr(record, "exception", "") in ("WorkflowError", "InputFunctionException"):
        record.msg = reason(record.msg)
    return True


# As a module, this workflow changes nothing of what is shown; planned_jobs.py reads errors as Snakemake has them.
if workflow.modifier.is_main_snakefile() and PLAN not in os.environ:
    logger.addFilter(without_traceback)

with errors_in_a_line():
    if workflow.exec_mode == ExecMode.DEFAULT:
        # Snakemake has read them, but takes the last of two equal keys, and does not expand aliases.
        for file in workflow.configfiles:
            if Path(file).suffix != ".json":
                read_yaml(Path(os.path.relpath(file)))
    CONFIG_FILES = ", ".join(dict.fromkeys(os.path.relpath(file) for file in workflow.configfiles))
    CONFIG, MISFITS = load_fitting(config, CONFIG_FILES)  # a paper that does not fit is refused where it is asked for
    CONTENTS = Contents(Path(".snakemake/contents.json"))
    GRAPH = Graph(CONFIG, config, ROOT, CONTENTS, MISFITS)
    GRAPH.check()

RESULTS = CONFIG.results
LOGS = f"{RESULTS}/logs"
STUDIES = GRAPH.studies
# Checksum files cover files below these folders. Other modules of the workflow may have added theirs.
folders = os.environ.get(CHECKED_BELOW, "").split(os.pathsep)
os.environ[CHECKED_BELOW] = os.pathsep.join(dict.fromkeys((*filter(None, folders), RESULTS)))
# One job of a study compiles the layers of an encoder for all.
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.abspath(f"{RESULTS}/.compiled"))
METADATA = ChecksumMetadata(RESULTS, partial(MetadataRecord, record_format_version=RECORD_FORMAT_VERSION), CONTENTS)
if workflow.exec_mode == ExecMode.DEFAULT:
    install(PersistenceBase, _IOFile, METADATA)
    os.environ[COMMAND] = called(sys.argv[1:])  # for logs and records


@cache
@errors_in_a_line()
def planned(make, **wildcards):
    """Step of a job and its params. make: method of the graph."""
    step = make(**wildcards)
    return step, GRAPH.params(step)


targets = errors_in_a_line()(partial(items_of, GRAPH))


def located(files):
    """Files of a step as Snakemake takes them. Those of the repository have no time (`ancient`): their content is among the params."""
    if not isinstance(files, str):
        return [located(file) for file in files]
    return files if files.startswith(f"{RESULTS}/") else ancient(str(ROOT / files))


def inputs(make):
    """Inputs of a rule, by name: those of its step."""

    def files_by_name(wildcards):
        step, _ = planned(make, **dict(wildcards.items()))
        return {name: located(files) for name, files in step.inputs.items()}

    return unpack(files_by_name)


def params(make, *facts):
    """Params of a rule: code, settings and environment of its step, and its facts, by their names. A change of any reruns the rule."""
    names = ("code", "settings", "environment", *facts)
    return {name: lambda wildcards, name=name: planned(make, **dict(wildcards.items()))[1][name] for name in names}


def contents(files):
    """Names of the facts on the content of some files, which Snakemake shows one by one as the reason for a rerun."""
    return [f"content{number}" for number, _ in enumerate(files)]


def any_of(names):
    """Pattern of some names. Snakemake matches patterns against every file, so they are short."""
    return "|".join(names) or "none"


def corpora_that(condition):
    """Pattern of the names of corpora that fulfil a condition."""
    return any_of(name for name, corpus in CONFIG.corpora.items() if condition(corpus))


def measures_of(*sources):
    """Pattern of the measures, KIND or KIND@ASKER, of kinds that measure one of these: predictions, samples, states, encoder."""
    return f"(?:{any_of(name for name, kind in KINDS.items() if kind.source in sources)})(?:@[a-z0-9_-]+)?"


ANY_RECIPE = f"(?:{'|'.join(paper.key for paper in STUDIES.papers)})/[^.]+"  # the graph reports unknown names


wildcard_constraints:
    corpus=any_of(CONFIG.corpora),
    encoder=any_of(CONFIG.encoders),
    item=any_of(STUDIES.items),
    tokenisation=any_of(CONFIG.tokenisations),
    language=LANGUAGE_PATTERN.strip("^$"),
    recipe=ANY_RECIPE,
    seed=r"\d+",
    split="train|validation|dev|test",
