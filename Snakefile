# Five studies of multilingual encoders as one workflow. docs/design.md gives an overview; rules/ has one file per step.

import os
from pathlib import Path

from snakemake.utils import min_version

min_version("9.16")

# The repository, relative to the working directory. They differ if this workflow is used as a module (docs/module.md).
HERE = workflow.current_basedir
if HERE.is_local:
    ROOT = Path(os.path.relpath(CLONE := HERE.get_path_or_uri(secret_free=True)))
    if {"{", "}"} & {*CLONE}:
        raise WorkflowError(f"{CLONE}: expected a path without {{ and }}, which mark wildcards; move the clone")
else:  # github(...): Snakemake's clone has no files, but scripts import the library from files
    CLONE = HERE.hosted_repo.repo
    ROOT = Path(".snakemake/crosslens", CLONE.commit(HERE.ref).hexsha)
    if not ROOT.is_dir():
        CLONE.git.worktree("add", "--force", "--detach", ROOT.resolve(), ROOT.name)


configfile: str(ROOT / "config.yaml")


IMAGE = "crosslens.sif"  # made from the Dockerfile, in the working directory; used only with --sdm apptainer (docs/install.md)


container: IMAGE


include: "rules/common.smk"
include: "rules/sources.smk"
include: "rules/corpora.smk"
include: "rules/encoders.smk"
include: "rules/tokens.smk"
include: "rules/samples.smk"
include: "rules/models.smk"
include: "rules/states.smk"
include: "rules/measures.smk"
include: "rules/tables_and_figures.smk"
include: "rules/passport.smk"
include: "rules/claims.smk"
include: "rules/scoreboard.smk"
include: "rules/messages.smk"


JOBS = Jobs(cost_and_jobs)
if workflow.exec_mode == ExecMode.DEFAULT:
    reuse_results()
# Only the main workflow decides what a run shows: as a module, this workflow changes nothing. Snakemake's log in .snakemake/log
# stays complete.
if workflow.modifier.is_main_snakefile():
    logger.addFilter(explain)
    if workflow.exec_mode == ExecMode.DEFAULT:
        # `make cost` and `make status` only plan. They read no mirror, so the mirror may be on another machine.
        message = "" if PLAN in os.environ else missing_mirrors(CONFIG.mirror, CONFIG_FILES)
        if message := message or unknown_rules(
            workflow.resource_settings.overwrite_resources, [rule.name for rule in workflow.rules]
        ):
            raise WorkflowError(message)
        for warning in warnings(config, CONFIG, MISFITS):
            logger.warning(warning)
        for target, files in replaced(GRAPH, sys.argv[1:]).items():  # Snakemake prefers a rule to a file of the same name

            rule:
                name:
                    target
                input:
                    files,

        if PLAN in os.environ:  # `make cost` and `make status` read the planned jobs
            logger.addHandler(Recorder(config, workflow))
        if not workflow.output_settings.dryrun:
            logger.addHandler(JOBS)
        for handler in logger.handlers:
            if handler.name == "DefaultStreamHandler":
                dry_run = DryRun(workflow.output_settings.verbose, files_by_hand)
                handler.addFilter(dry_run if workflow.output_settings.dryrun else calm)
                if workflow.output_settings.verbose:  # show the reason for each job
                    handler.formatter.quiet = {*handler.formatter.quiet} - {Quietness.REASON}


onstart:
    # One second after each round of Snakemake's scheduler, its rate limiter starts another round, which starts another. Rounds
    # add up with each finished job, and take half a core after some hundred jobs. The default limit of 100 jobs per second has
    # no effect here and is removed; a limit set by the user stays. A longer time span would delay the end of each run instead.
    limiter = workflow.scheduler.job_rate_limiter
    if limiter and (limiter.max_jobs, limiter.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    if not workflow.touch:
        check_start(workflow.dag)


onsuccess:
    show_rehearsal()


onerror:
    JOBS.summary()
    show_rehearsal()


rule all:
    """Tables and figures of the headline paper."""
    default_target: True
    input:
        lambda wildcards: targets("tanti2021"),  # evaluated only on request, as below: a paper that does not fit is an error


rule demo:
    """Tables and figures of the headline paper, and its random search: what `make demo` builds."""
    input:
        lambda wildcards: targets("tanti2021"),
        lambda wildcards: targets("tanti2021", searched=True),


rule demo_all:
    """Tables and figures of all papers, and the inventory of corpora: what `make demo-all` builds."""
    input:
        rules.demo.input,
        f"{RESULTS}/corpora.csv",
        lambda wildcards: targets(*(paper.key for paper in papers() if paper in STUDIES.papers or paper.key in MISFITS)),
