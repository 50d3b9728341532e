# What a run says and refuses beside Snakemake's own messages, and what it takes from other folders of results.

from snakemake.settings.types import Quietness

from crosslens.config.presets import read_presets
from crosslens.commands.hints import KEPT_IN_SPITE, missing_command, missing_image, missing_mirrors, published_here
from crosslens.commands.hints import unknown_rules, unknown_target, warnings
from crosslens.commands.cost.estimate import Estimator
from crosslens.commands.messages import DryRun, Jobs, calm
from crosslens.commands.planned_jobs import Recorder, jobs_of
from crosslens.papers import papers


def files_by_hand(fetched):
    """Messages on files to be fetched that a person must supply."""
    from crosslens.corpora.sources.offline import by_hand  # not at the top: a job does not ask

    return by_hand([os.path.relpath(file, f"{RESULTS}/sources") for file in fetched], GRAPH.sources, CONFIG.mirror)


def check_start(dag):
    """Stop before the first job where no job can be submitted, and name the files that a person must supply."""
    executor, jobs = workflow.executor_plugin.name, list(dag.needrun_jobs())
    learning = [job.rule.name for job in jobs if job.rule.name.startswith("train") and GRAPH.learns(job.wildcards_dict["recipe"])]
    fetched = [job.output[0] for job in jobs if job.rule.name in ("fetch", "dump_sample")]
    submits = not all(workflow.is_local(job.rule) for job in jobs)
    for warning in filter(None, [published_here(executor, RESULTS, learning), *files_by_hand(fetched)]):
        logger.warning(warning)
    message = missing_command(executor) if submits else None
    if message := message or missing_image(workflow.deployment_settings.deployment_method, IMAGE):
        raise WorkflowError(message)


def cost_and_jobs():
    """Cost model of the study, and the jobs of the run. A study without tabulated hours has those of its file of configuration."""
    results = [read_yaml(Path(file)).get("results", "results") for file in workflow.configfiles if Path(file).is_file()]
    presets = [folder for folder in results if folder not in (RESULTS, "results")]  # config.yaml stands last, too
    estimator = Estimator(CONFIG, (presets or ["results"])[-1])
    if CONFIG.rehearse:  # hours are of the study, whose jobs take longer
        estimator.rows, estimator.finished = {}, {"measured": estimator.finished["rehearsed"], "rehearsed": {}, "scaled": {}}
    return estimator, jobs_of(workflow.dag)


def show_rehearsal():
    """Print what the jobs of a rehearsal took beside the cost estimate of the study, as `make cost` does."""
    if CONFIG.rehearse:
        from crosslens.commands.cost.__main__ import main  # not at the top: only the end of a rehearsal asks

        main(sys.argv[1:])


def reuse_results():
    """Take what is the same from other folders of results, that of the rehearsal among them, or of a rehearsal that of its study."""
    folders = [folder.rstrip("/") for folder in [*CONFIG.reuse, CONFIG.counterpart] if os.path.isdir(folder)]
    steps = preparation(GRAPH) if folders else {}
    for message in filter(None, [Reuse(folder, GRAPH, steps, METADATA).take() for folder in folders]):
        logger.warning(message)


def explain(record):
    """Add to Snakemake's messages on unknown targets and on forgetting changes."""
    if getattr(record, "exception", "") == "MissingRuleException":
        targets = [*(rule.name for rule in workflow.rules), *shown(GRAPH)]
        folders = {os.path.dirname(f"{RESULTS}/{paper.path('')}"): MISFITS.get(paper.key) for paper in papers()}
        misfits = MISFITS | {folder: why for folder, why in folders.items() if why}
        try:
            presets = read_presets(ROOT)
        except DataError:  # in a file that this call does not read
            presets = []
        record.msg = unknown_target(record.msg, targets, RESULTS, presets, misfits)
    if "--cleanup-metadata" in str(record.msg):
        record.msg = KEPT_IN_SPITE
    return True
