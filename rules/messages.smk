# Messages and checks of a run in addition to Snakemake's own, and reuse of files from other results folders.

from snakemake.settings.types import Quietness

from crosslens.config.presets import read_presets
from crosslens.commands.hints import KEPT_IN_SPITE, missing_command, missing_image, missing_mirrors, published_here
from crosslens.commands.hints import unknown_rules, unknown_target, warnings
from crosslens.commands.cost.estimate import Estimator
from crosslens.commands.messages import DryRun, Jobs, calm
from crosslens.commands.planned_jobs import Recorder, jobs_of
from crosslens.papers import papers


def files_by_hand(fetched):
    """Messages on the files to be fetched that a person must supply by hand."""
    from crosslens.corpora.sources.offline import by_hand  # not at the top, since jobs do not need it

    return by_hand([os.path.relpath(file, f"{RESULTS}/sources") for file in fetched], GRAPH.sources, CONFIG.mirror)


def check_start(dag):
    """Warn of files that a person must supply, and stop if jobs cannot be submitted or the container image is missing."""
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
    """Cost model of the study, and the jobs of the run. A study without tabulated hours uses those of its preset."""
    results = [read_yaml(Path(file)).get("results", "results") for file in workflow.configfiles if Path(file).is_file()]
    presets = [folder for folder in results if folder not in (RESULTS, "results")]  # config.yaml is listed again at the end
    estimator = Estimator(CONFIG, (presets or ["results"])[-1])
    if CONFIG.rehearse:  # tabulated hours are those of the study, whose jobs take longer
        estimator.rows, estimator.finished = {}, {"measured": estimator.finished["rehearsed"], "rehearsed": {}, "scaled": {}}
    return estimator, jobs_of(workflow.dag)


def show_rehearsal():
    """Print the cost estimate of the study next to what the rehearsal's jobs took, as `make cost` does."""
    if CONFIG.rehearse:
        from crosslens.commands.cost.__main__ import main  # not at the top, since only the end of a rehearsal needs it

        main(sys.argv[1:])


def reuse_results():
    """Take matching artefacts from other results folders, including that of the rehearsal or, in a rehearsal, of the study."""
    folders = [folder.rstrip("/") for folder in [*CONFIG.reuse, CONFIG.counterpart] if os.path.isdir(folder)]
    steps = preparation(GRAPH) if folders else {}
    for message in filter(None, [Reuse(folder, GRAPH, steps, METADATA).take() for folder in folders]):
        logger.warning(message)


def explain(record):
    """Replace Snakemake's messages on unknown targets and on --cleanup-metadata by clearer ones."""
    if getattr(record, "exception", "") == "MissingRuleException":
        targets = [*(rule.name for rule in workflow.rules), *shown(GRAPH)]
        folders = {os.path.dirname(f"{RESULTS}/{paper.path('')}"): MISFITS.get(paper.key) for paper in papers()}
        misfits = MISFITS | {folder: why for folder, why in folders.items() if why}
        try:
            presets = read_presets(ROOT)
        except DataError:  # an invalid file that this call does not read
            presets = []
        record.msg = unknown_target(record.msg, targets, RESULTS, presets, misfits)
    if "--cleanup-metadata" in str(record.msg):
        record.msg = KEPT_IN_SPITE
    return True
