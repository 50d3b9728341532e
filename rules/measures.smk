# Measures: measures/KIND/RECIPE.parquet or, of hidden states, measures/KIND/RECIPE/seedN.parquet, tidy records.


rule measure:
    """Make a measure of the predictions of a recipe's trainings, all seeds, or of the draws for its states."""
    input:
        unpack(measured),
    output:
        f"{RESULTS}/measures/{{kind}}/{{recipe}}.parquet",
    log:
        f"{LOGS}/measures/{{kind}}/{{recipe}}.log",
    wildcard_constraints:
        kind=kinds_that_read("predictions", "draws"),
    conda:
        "../envs/measures.yaml"
    resources:
        mem_mb=8000,
    params:
        code=lambda wildcards: code("measure", f"measures/{wildcards.kind.partition('@')[0]}"),
        settings=measure_settings,
        seeds=measured_seeds,
        environment=environment("measures"),
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
        kind=kinds_that_read("encoder"),
    conda:
        "../envs/encoders.yaml"
    threads: CONFIG.threads
    resources:
        gpu=1,
        mem_mb=32000,
        runtime=lambda wildcards, attempt: 360 * attempt,
    params:
        code=lambda wildcards: code("measure", f"measures/{wildcards.kind.partition('@')[0]}"),
        settings=measure_settings,
        seeds=measured_seeds,
        environment=environment("encoders"),
    message:
        "Measure {wildcards.kind} of {wildcards.recipe}, seed {wildcards.seed}"


use rule measure as measure_states with:
    output:
        f"{RESULTS}/measures/{{kind}}/{{recipe}}/seed{{seed}}.parquet",
    log:
        f"{LOGS}/measures/{{kind}}/{{recipe}}/seed{{seed}}.log",
    wildcard_constraints:
        kind=kinds_that_read("states"),
    threads: CONFIG.threads
    message:
        "Measure {wildcards.kind} of {wildcards.recipe}, seed {wildcards.seed}"
