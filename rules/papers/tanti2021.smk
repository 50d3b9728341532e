# tanti2021: tables 1 to 3, figures 3 and 5 (POS half). results/tableN.csv, results/figureN.svg: the headline paper's items
# have no folder of their own.

from crosslens.papers.tanti2021.draws import draws
from crosslens.papers.tanti2021.items import FIGURES, TABLES

TANTI2021 = CONFIG.papers.tanti2021
DRAWS = draws(CONFIG)
TANTI2021_CORPORA = (TANTI2021.corpus, TANTI2021.language_corpus)  # target, wiki
TANTI2021_RUNS = list(TANTI2021.runs)
TANTI2021_ITEMS = [f"{RESULTS}/{table}.csv" for table in TABLES] + [f"{RESULTS}/{figure}.svg" for figure in FIGURES]
TANTI2021_ITEMS.append(f"{RESULTS}/scores/tanti2021.parquet")


rule tanti2021_predictions:
    """Score a training's predictions under every definition."""
    input:
        predictions=f"{RESULTS}/models/{{recipe}}/seed{{seed}}/predictions.parquet",
    output:
        f"{RESULTS}/measures/predictions/{{recipe}}/seed{{seed}}.parquet",
    log:
        f"{LOGS}/measures/predictions/{{recipe}}/seed{{seed}}.log",
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_predictions"),
        settings=lambda wildcards: {
            "recipe": resolve(wildcards.recipe, CONFIG).model_dump(mode="json"),
            "target": TANTI2021.corpus,
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
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_clusters"),
        settings=lambda wildcards: {
            "corpora": TANTI2021_CORPORA,
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
    conda:
        "../../envs/measures.yaml"
    resources:
        mem_mb=8000,
    params:
        code=code("tanti2021_probes"),
        settings=lambda wildcards: {
            "corpora": TANTI2021_CORPORA,
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
    """Language of a word from its spelling alone: the baseline without an encoder."""
    input:
        # The words are the same under every model.
        states=f"{RESULTS}/states/tanti2021/pos/frozen/seed{CONFIG.seeds[0]}",
    output:
        f"{RESULTS}/measures/spelling/tanti2021/pos.parquet",
    log:
        f"{LOGS}/measures/spelling/tanti2021/pos.log",
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_spelling"),
        settings={
            "corpora": TANTI2021_CORPORA,
            "bootstrap": TANTI2021.bootstrap,
            "seed": CONFIG.seeds[0],
            "common": {"paper": "tanti2021", "recipe": "tanti2021/pos/spelling", "task": "pos"},
        },
        environment=environment("measures"),
    message:
        "Identify languages from spelling"
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
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_projection"),
        settings={"corpora": TANTI2021_CORPORA, "tsne": TANTI2021.tsne.model_dump()},
        environment=environment("measures"),
    message:
        "Project {wildcards.recipe}, seed {wildcards.seed}"
    script:
        "../../workflow/scripts/tanti2021_projection.py"


rule tanti2021_scores:
    """All records of the paper in one file."""
    input:
        tanti2021_measures([*TANTI2021_RUNS, "spelling"], ["predictions", "probes", "clusters"]),
    output:
        f"{RESULTS}/scores/tanti2021.parquet",
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
        table=f"{RESULTS}/{{table}}.csv",
        record=f"{RESULTS}/{{table}}.csv.json",
    log:
        f"{LOGS}/{{table}}.log",
    wildcard_constraints:
        table="|".join(TABLES),
    conda:
        "../../envs/measures.yaml"
    params:
        code=code("tanti2021_table"),
        settings={"runs": TANTI2021_RUNS, "seeds": CONFIG.seeds},
        environment=environment("measures"),
    message:
        "Make {wildcards.table} of tanti2021"
    script:
        "../../workflow/scripts/tanti2021_table.py"


rule tanti2021_figure:
    """Six t-SNE panels with their scores."""
    input:
        scores=lambda wildcards: tanti2021_measures(FIGURES[wildcards.figure], ["predictions", "clusters"]),
        points=lambda wildcards: [
            f"{RESULTS}/measures/projection/tanti2021/pos/{run}/seed{CONFIG.seeds[0]}.parquet"
            for run in FIGURES[wildcards.figure]
        ],
        records=lambda wildcards: tanti2021_records(FIGURES[wildcards.figure]),
    output:
        figure=f"{RESULTS}/{{figure}}.svg",
        png=f"{RESULTS}/{{figure}}.png",
        record=f"{RESULTS}/{{figure}}.svg.json",
    log:
        f"{LOGS}/{{figure}}.log",
    wildcard_constraints:
        figure="|".join(FIGURES),
    conda:
        "../../envs/figures.yaml"
    params:
        code=code("tanti2021_figure"),
        settings=lambda wildcards: {
            "runs": FIGURES[wildcards.figure],
            "title": f"Figure {wildcards.figure[-1]} of tanti2021 with {TANTI2021.encoder}",
            "seeds": CONFIG.seeds,
        },
        environment=environment("figures"),
    message:
        "Draw {wildcards.figure} of tanti2021"
    script:
        "../../workflow/scripts/tanti2021_figure.py"
