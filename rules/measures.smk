# Measures: measures/KIND/RECIPE.parquet or measures/KIND/RECIPE/seedN.parquet, tidy records. One rule per type of input.


rule measure_predictions:
    """Score the predictions of a recipe's trainings, all seeds."""
    input:
        predictions=lambda wildcards: model_files(wildcards.recipe, "predictions", seeds(wildcards.recipe)),
        histories=lambda wildcards: model_files(wildcards.recipe, "history", seeds(wildcards.recipe)),
        tokens=measure_tokens,
    output:
        f"{RESULTS}/measures/{{kind}}/{{recipe}}.parquet",
    log:
        f"{LOGS}/measures/{{kind}}/{{recipe}}.log",
    wildcard_constraints:
        kind=kinds_that_read("predictions"),
    conda:
        "../envs/measures.yaml"
    params:
        code=lambda wildcards: code("measure", f"measures/{wildcards.kind}"),
        settings=measure_settings,
        seeds=lambda wildcards: seeds(wildcards.recipe),
        environment=environment("measures"),
    message:
        "Measure {wildcards.kind} of {wildcards.recipe}"
    script:
        "../workflow/scripts/measure.py"


rule measure_states:
    """Measure the hidden states of one model."""
    input:
        states=f"{RESULTS}/states/{{recipe}}/seed{{seed}}",
        tokens=measure_tokens,
    output:
        f"{RESULTS}/measures/{{kind}}/{{recipe}}/seed{{seed}}.parquet",
    log:
        f"{LOGS}/measures/{{kind}}/{{recipe}}/seed{{seed}}.log",
    wildcard_constraints:
        kind=kinds_that_read("states"),
    conda:
        "../envs/measures.yaml"
    threads: CONFIG.threads
    resources:
        mem_mb=8000,
    params:
        code=lambda wildcards: code("measure", f"measures/{wildcards.kind}"),
        settings=measure_settings,
        seeds=lambda wildcards: [int(wildcards.seed)],
        environment=environment("measures"),
    message:
        "Measure {wildcards.kind} of {wildcards.recipe}, seed {wildcards.seed}"
    script:
        "../workflow/scripts/measure.py"


rule measure_draws:
    """Measure what was drawn for a recipe's states, without its model."""
    input:
        draws=lambda wildcards: f"{RESULTS}/draws/{recipe_draws(wildcards.recipe)}",
        tokens=measure_tokens,
    output:
        f"{RESULTS}/measures/{{kind}}/{{recipe}}.parquet",
    log:
        f"{LOGS}/measures/{{kind}}/{{recipe}}.log",
    wildcard_constraints:
        kind=kinds_that_read("draws"),
    conda:
        "../envs/measures.yaml"
    resources:
        mem_mb=8000,
    params:
        code=lambda wildcards: code("measure", f"measures/{wildcards.kind}"),
        settings=measure_settings,
        seeds=lambda wildcards: seeds(wildcards.recipe)[:1],
        environment=environment("measures"),
    message:
        "Measure {wildcards.kind} of the words drawn for {wildcards.recipe}"
    script:
        "../workflow/scripts/measure.py"
