# Measures, as tidy records: measures/KIND/RECIPE.parquet or, if measured by seed, measures/KIND/RECIPE/seedN.parquet.


rule measure:
    """Measure the predictions of a recipe's training runs, all seeds, or the samples whose states are stored."""
    input:
        inputs(GRAPH.measure),
    output:
        f"{RESULTS}/measures/{{kind}}/{{recipe}}.parquet",
    log:
        f"{LOGS}/measures/{{kind}}/{{recipe}}.log",
    wildcard_constraints:
        kind=measures_of("predictions", "samples"),
    conda:
        "../envs/measures.yaml"
    resources:
        mem_mb=8000,
    params:
        **params(GRAPH.measure),
    message:
        "Measure {wildcards.kind} of {wildcards.recipe}"
    script:
        "../workflow/scripts/measure.py"


use rule measure as measure_encoder with:
    output:
        f"{RESULTS}/measures/{{kind}}/{{recipe}}/seed{{seed}}.parquet",
    log:
        f"{LOGS}/measures/{{kind}}/{{recipe}}/seed{{seed}}.log",
    wildcard_constraints:
        kind=measures_of("encoder"),
    conda:
        "../envs/encoders.yaml"
    threads: CONFIG.threads
    resources:
        gpu=1,
        mem_mb=32000,
        runtime=lambda wildcards, attempt: 360 * attempt,
    message:
        "Measure {wildcards.kind} of {wildcards.recipe}, seed {wildcards.seed}"


use rule measure as measure_states with:
    output:
        f"{RESULTS}/measures/{{kind}}/{{recipe}}/seed{{seed}}.parquet",
    log:
        f"{LOGS}/measures/{{kind}}/{{recipe}}/seed{{seed}}.log",
    wildcard_constraints:
        kind=measures_of("states"),
    threads: CONFIG.threads
    message:
        "Measure {wildcards.kind} of {wildcards.recipe}, seed {wildcards.seed}"
