# tanti2021: tables 1 to 5, figures 2 to 6, footnote 6. results/tableN.csv, results/figureN.svg: the headline paper's items have
# no folder of their own.

from crosslens.config.tanti2021 import PAPER_RUNS
from crosslens.papers.tanti2021.draws import draws
from crosslens.papers.tanti2021.items import FIGURES, RUNS, TABLES
from crosslens.papers.tanti2021.recipes import recipes as tanti2021_recipes
from crosslens.papers.tanti2021.recipes import trials

TANTI2021 = CONFIG.papers.tanti2021
TANTI2021_CORPORA = [*(of.corpus for of in TANTI2021.tasks.values()), TANTI2021.language_corpus]
TANTI2021_LANGUAGES = CONFIG.corpora[TANTI2021.language_corpus].languages
TANTI2021_TRAININGS = "|".join(tanti2021_recipes(CONFIG))
TANTI2021_RUNS = {task: list(of.runs) for task, of in TANTI2021.tasks.items()}
TANTI2021_FIGURES = {name: runs for name, (task, runs) in FIGURES.items() if task in TANTI2021.tasks}
TANTI2021_NOTES = {
    corpus: note for corpus in TANTI2021_CORPORA if (note := getattr(CONFIG.corpora[corpus], "note", None)) is not None
}
TANTI2021_ITEMS = [f"{RESULTS}/{name}.csv" for name in (*TABLES, "table4", "table5", "dataset_sizes", "findings")]
TANTI2021_ITEMS += [f"{RESULTS}/{name}.svg" for name in ("figure2", *TANTI2021_FIGURES)]
TANTI2021_ITEMS += [item.replace(".csv", ".html") for item in TANTI2021_ITEMS if item.endswith(".csv")]
TANTI2021_ITEMS.append(f"{RESULTS}/scores/tanti2021.parquet")
# What findings.csv reads.
TANTI2021_COMPARED = [*PAPER_RUNS, "no_adversary", "true_entropy", "frozen_dropout", "finetuned_dropout"]
# A target of its own at the published scale: 160 trainings.
TANTI2021_SEARCH = [f"{RESULTS}/table5_search.{form}" for form in ("csv", "html")] * bool(TANTI2021.search.experiments)
SHOWN["tanti2021"] = {
    "table1": ("Tables", "Table 1", "Task and language, before and after fine-tuning"),
    "table2": ("Tables", "Table 2", "Task and language, trained against the language"),
    "table3": ("Tables", "Table 3", "V-measure of hidden states"),
    "table4": ("Tables", "Table 4", "Grid of hyperparameters"),
    "table5": ("Tables", "Table 5", "Hyperparameters that are used"),
    "table5_search": ("Tables", "Table 5, searched", "Trials of the random search"),
    "footnote6": ("Tables", "Footnote 6", "Fine-tuned model under the scores that others print"),
    "dataset_sizes": ("Data", "Appendices A and B", "Sizes of splits and samples"),
    "tanti2021": ("Data", "All records", "Every value behind the tables"),
    "findings": ("Findings", "Findings", "What the fall of language identification is made of"),
    "figure2": ("Figures", "Figure 2", "Marks of languages and labels"),
    "figure3": ("Figures", "Figure 3", "UDPOS, before and after fine-tuning"),
    "figure4": ("Figures", "Figure 4", "XNLI, before and after fine-tuning"),
    "figure5": ("Figures", "Figure 5", "UDPOS, trained against the language"),
    "figure6": ("Figures", "Figure 6", "XNLI, trained against the language"),
}


rule tanti2021_predictions:
    """Score a training's predictions under every definition, and its adversary where it has one."""
    input:
        predictions=f"{RESULTS}/models/{{recipe}}/seed{{seed}}/predictions.parquet",
        history=f"{RESULTS}/models/{{recipe}}/seed{{seed}}/history.csv",
    output:
        f"{RESULTS}/measures/predictions/{{recipe}}/seed{{seed}}.parquet",
    log:
        f"{LOGS}/measures/predictions/{{recipe}}/seed{{seed}}.log",
    wildcard_constraints:
        recipe="|".join([TANTI2021_TRAININGS, *trials(CONFIG)]),
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_predictions"),
        settings=lambda wildcards: {
            "recipe": resolve(wildcards.recipe, CONFIG).model_dump(mode="json"),
            "target": tanti2021_corpora(wildcards.recipe.split("/")[1])[0],
            "source_language": TANTI2021.source_language,
            "bootstrap": TANTI2021.bootstrap,
            "common": tanti2021_common(wildcards),
        },
        environment=environment("measures"),
    message:
        "Score {wildcards.recipe}, seed {wildcards.seed}"
    script:
        "../../workflow/scripts/tanti2021_predictions.py"


rule tanti2021_clusters:
    """V-measure of k-means on sampled hidden states."""
    input:
        states=f"{RESULTS}/states/{{recipe}}/seed{{seed}}",
    output:
        f"{RESULTS}/measures/clusters/{{recipe}}/seed{{seed}}.parquet",
    log:
        f"{LOGS}/measures/clusters/{{recipe}}/seed{{seed}}.log",
    wildcard_constraints:
        recipe=TANTI2021_TRAININGS,
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_clusters"),
        settings=lambda wildcards: {
            "corpora": tanti2021_corpora(wildcards.recipe.split("/")[1]),
            "clustering": TANTI2021.clustering.model_dump(),
            "common": tanti2021_common(wildcards),
        },
        environment=environment("measures"),
    message:
        "Cluster {wildcards.recipe}, seed {wildcards.seed}"
    script:
        "../../workflow/scripts/tanti2021_clusters.py"


rule tanti2021_probes:
    """Converged probes of a word's language, and their controls."""
    input:
        states=f"{RESULTS}/states/{{recipe}}/seed{{seed}}",
    output:
        f"{RESULTS}/measures/probes/{{recipe}}/seed{{seed}}.parquet",
    log:
        f"{LOGS}/measures/probes/{{recipe}}/seed{{seed}}.log",
    wildcard_constraints:
        recipe=TANTI2021_TRAININGS,
    conda:
        "../../envs/measures.yaml"
    resources:
        mem_mb=8000,
    params:
        code=code("tanti2021_probes"),
        settings=lambda wildcards: {
            "corpora": tanti2021_corpora(wildcards.recipe.split("/")[1]),
            "probe": TANTI2021.probe.model_dump(),
            "bootstrap": TANTI2021.bootstrap,
            "common": tanti2021_common(wildcards),
        },
        environment=environment("measures"),
    message:
        "Probe {wildcards.recipe}, seed {wildcards.seed}"
    script:
        "../../workflow/scripts/tanti2021_probes.py"


rule tanti2021_spelling:
    """Language from spelling alone: the baseline without an encoder."""
    input:
        # The words are the same under every model.
        states=f"{RESULTS}/states/tanti2021/{{task}}/frozen/seed{CONFIG.seeds[0]}",
    output:
        f"{RESULTS}/measures/spelling/tanti2021/{{task}}.parquet",
    log:
        f"{LOGS}/measures/spelling/tanti2021/{{task}}.log",
    wildcard_constraints:
        task="|".join(TANTI2021.tasks),
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_spelling"),
        settings=lambda wildcards: {
            "corpora": tanti2021_corpora(wildcards.task),
            "bootstrap": TANTI2021.bootstrap,
            "seed": CONFIG.seeds[0],
            "common": {"paper": "tanti2021", "recipe": f"tanti2021/{wildcards.task}/spelling", "task": wildcards.task},
        },
        environment=environment("measures"),
    message:
        "Identify languages from spelling, {wildcards.task}"
    script:
        "../../workflow/scripts/tanti2021_spelling.py"


rule tanti2021_projection:
    """t-SNE of sampled hidden states."""
    input:
        states=f"{RESULTS}/states/{{recipe}}/seed{{seed}}",
    output:
        f"{RESULTS}/measures/projection/{{recipe}}/seed{{seed}}.parquet",
    log:
        f"{LOGS}/measures/projection/{{recipe}}/seed{{seed}}.log",
    wildcard_constraints:
        recipe=TANTI2021_TRAININGS,
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_projection"),
        settings=lambda wildcards: {
            "corpora": tanti2021_corpora(wildcards.recipe.split("/")[1]),
            "tsne": TANTI2021.tsne.model_dump(),
        },
        environment=environment("measures"),
    message:
        "Project {wildcards.recipe}, seed {wildcards.seed}"
    script:
        "../../workflow/scripts/tanti2021_projection.py"


rule tanti2021_scores:
    """All records of the paper in one file."""
    input:
        tanti2021_measures([*RUNS, "spelling"], ["predictions", "probes", "clusters"]),
    output:
        shown(f"{RESULTS}/scores/tanti2021.parquet", "tanti2021"),
    log:
        f"{LOGS}/scores/tanti2021.log",
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("gather"),
        settings={"paper": "tanti2021"},
        environment=environment("measures"),
    message:
        "Gather the scores of tanti2021"
    script:
        "../../workflow/scripts/gather.py"


rule tanti2021_table:
    """A table of the paper beside what was published."""
    input:
        scores=lambda wildcards: tanti2021_measures(TABLES[wildcards.table].runs, TABLES[wildcards.table].measures.values()),
        published="resources/published/tanti2021.csv",
        records=lambda wildcards: tanti2021_records(TABLES[wildcards.table].runs),
    output:
        table=shown(f"{RESULTS}/{{table}}.csv", "tanti2021"),
        record=f"{RESULTS}/{{table}}.csv.json",
    log:
        f"{LOGS}/{{table}}.log",
    wildcard_constraints:
        table="|".join(TABLES),
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_table"),
        settings=lambda wildcards: {
            "runs": {
                task: [run for run in runs if run in TABLES[wildcards.table].runs] for task, runs in TANTI2021_RUNS.items()
            },
            "seeds": CONFIG.seeds,
            "notes": TANTI2021_NOTES,
        },
        environment=environment("measures"),
    message:
        "Make {wildcards.table} of tanti2021"
    script:
        "../../workflow/scripts/tanti2021_table.py"


rule tanti2021_figure:
    """Six t-SNE panels with their scores."""
    input:
        scores=lambda wildcards: tanti2021_measures(
            FIGURES[wildcards.figure][1], ["predictions", "clusters"], FIGURES[wildcards.figure][:1]
        ),
        points=lambda wildcards: [
            f"{RESULTS}/measures/projection/{model}.parquet"
            for model in tanti2021_models(FIGURES[wildcards.figure][1], CONFIG.seeds[:1], FIGURES[wildcards.figure][:1])
        ],
        records=lambda wildcards: tanti2021_records(FIGURES[wildcards.figure][1], FIGURES[wildcards.figure][:1]),
    output:
        figure=shown(f"{RESULTS}/{{figure}}.svg", "tanti2021"),
        png=f"{RESULTS}/{{figure}}.png",
        record=f"{RESULTS}/{{figure}}.svg.json",
    log:
        f"{LOGS}/{{figure}}.log",
    wildcard_constraints:
        figure="|".join(TANTI2021_FIGURES) or "none",
    conda:
        "../../envs/figures.yaml"
    params:
        code=code("tanti2021_figure"),
        settings=lambda wildcards: {
            "runs": FIGURES[wildcards.figure][1],
            "languages": by_family(TANTI2021_LANGUAGES),
            "title": f"Figure {wildcards.figure[-1]} of tanti2021 with {TANTI2021.encoder}",
            "seeds": CONFIG.seeds,
        },
        environment=environment("figures"),
    message:
        "Draw {wildcards.figure} of tanti2021"
    script:
        "../../workflow/scripts/tanti2021_figure.py"


rule tanti2021_legend:
    """Figure 2: the marks of languages and labels."""
    output:
        figure=shown(f"{RESULTS}/figure2.svg", "tanti2021"),
        png=f"{RESULTS}/figure2.png",
        record=f"{RESULTS}/figure2.svg.json",
    log:
        f"{LOGS}/figure2.log",
    conda:
        "../../envs/figures.yaml"
    params:
        code=code("tanti2021_legend"),
        settings={
            "languages": by_family(TANTI2021_LANGUAGES),
            "tasks": list(TANTI2021.tasks),
            "title": "Figure 2 of tanti2021: legends",
        },
        environment=environment("figures"),
    message:
        "Draw figure2 of tanti2021"
    script:
        "../../workflow/scripts/tanti2021_legend.py"


rule tanti2021_hyperparameters:
    """Table 4, the grid, or table 5, what is used of it: from the configuration alone."""
    input:
        published="resources/published/tanti2021.csv",
    output:
        table=shown(f"{RESULTS}/{{table}}.csv", "tanti2021"),
        record=f"{RESULTS}/{{table}}.csv.json",
    log:
        f"{LOGS}/{{table}}.log",
    wildcard_constraints:
        table="table4|table5",
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_hyperparameters"),
        settings=lambda wildcards: {
            "table4": {"search": TANTI2021.search.model_dump(exclude={"experiments", "trials", "seed"})},
            "table5": {
                "tasks": {task: {run: of.runs[run].model_dump() for run in PAPER_RUNS} for task, of in TANTI2021.tasks.items()}
            },
        }[wildcards.table],
        environment=environment("measures"),
    message:
        "Make {wildcards.table} of tanti2021"
    script:
        "../../workflow/scripts/tanti2021_hyperparameters.py"


rule tanti2021_search:
    """Table 5 by random search: all trials, the best of each experiment first."""
    input:
        scores=[f"{RESULTS}/measures/predictions/{trial}/seed{CONFIG.seeds[0]}.parquet" for trial in trials(CONFIG)],
        records=[f"{RESULTS}/models/{trial}/seed{CONFIG.seeds[0]}/record.json" for trial in trials(CONFIG)],
        published="resources/published/tanti2021.csv",
    output:
        table=shown(f"{RESULTS}/table5_search.csv", "tanti2021"),
        record=f"{RESULTS}/table5_search.csv.json",
    log:
        f"{LOGS}/table5_search.log",
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_search"),
        settings={
            "trials": {name: recipe.trial for name, recipe in trials(CONFIG).items()},
            "select_by": TANTI2021.training.select_by,
        },
        environment=environment("measures"),
    message:
        "Make table 5 of tanti2021 by search"
    script:
        "../../workflow/scripts/tanti2021_search.py"


rule tanti2021_sizes:
    """Appendices A and B: sizes of splits and samples beside the printed ones, with what explains each difference."""
    input:
        tokens=[f"{RESULTS}/tokens/{TANTI2021.encoder}/{corpus}" for corpus in TANTI2021_CORPORA],
        published="resources/published/tanti2021.csv",
    output:
        table=shown(f"{RESULTS}/dataset_sizes.csv", "tanti2021"),
        record=f"{RESULTS}/dataset_sizes.csv.json",
    log:
        f"{LOGS}/dataset_sizes.log",
    conda:
        "../../envs/encoders.yaml"
    params:
        code=code("tanti2021_sizes"),
        settings={
            "corpora": {corpus: CONFIG.corpora[corpus].model_dump() for corpus in TANTI2021_CORPORA},
            "draws": {
                task: {corpus: draw.model_dump() for corpus, draw in draws(task, CONFIG).items()} for task in TANTI2021.tasks
            },
            "drop_unknown": CONFIG.tokens.drop_unknown,
        },
        environment=environment("encoders"),
    message:
        "Count the data sets of tanti2021"
    script:
        "../../workflow/scripts/tanti2021_sizes.py"


rule tanti2021_findings:
    """What the fall of language identification is made of: docs/findings.md."""
    input:
        scores=tanti2021_measures(TANTI2021_COMPARED, ["predictions", "probes"]),
        predictions=[
            f"{RESULTS}/models/{model}/predictions.parquet" for model in tanti2021_models(["frozen", "finetuned"], tasks=["pos"])
        ],
        histories=[f"{RESULTS}/models/{model}/history.csv" for model in tanti2021_models(["entropy_maximisation"])],
        records=tanti2021_records(TANTI2021_COMPARED),
    output:
        table=shown(f"{RESULTS}/findings.csv", "tanti2021"),
        record=f"{RESULTS}/findings.csv.json",
    log:
        f"{LOGS}/findings.log",
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_findings"),
        settings={
            "runs": TANTI2021_RUNS,
            "target": TANTI2021.tasks["pos"].corpus,
            "languages": TANTI2021_LANGUAGES,
            "weights": {task: of.runs["entropy_maximisation"].uniformity for task, of in TANTI2021.tasks.items()},
            "resamples": TANTI2021.bootstrap,
        },
        environment=environment("measures"),
    message:
        "Take the headline number of tanti2021 apart"
    script:
        "../../workflow/scripts/tanti2021_findings.py"


rule tanti2021_page:
    """A table to read: each value with its interval and what was published."""
    input:
        table=f"{RESULTS}/{{table}}.csv",
    output:
        shown(f"{RESULTS}/{{table}}.html", "tanti2021"),
    log:
        f"{LOGS}/{{table}}.html.log",
    wildcard_constraints:
        table="|".join(name for name in SHOWN["tanti2021"] if name[:6] != "figure"),
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("page"),
        settings=lambda wildcards: {"title": "{1}: {2}".format(*SHOWN["tanti2021"][wildcards.table])},
        environment=environment("measures"),
    message:
        "Make the page of {wildcards.table}"
    script:
        "../../workflow/scripts/page.py"
