# Hidden states: states/RECIPE/seedN/CORPUS/LANG.parquet; one job per model, so that the encoder is loaded once.


rule states:
    """Store the hidden states of drawn words from an encoder, trained or as it was pretrained."""
    input:
        encoder=lambda wildcards: f"{RESULTS}/encoders/{recipe_of(wildcards.recipe).encoder}",
        model=lambda wildcards: recipe_models(wildcards.recipe, wildcards.seed),
        draws=lambda wildcards: f"{RESULTS}/draws/{recipe_draws(wildcards.recipe)}",
        tokens=lambda wildcards: drawn_tokens(DRAWS[recipe_draws(wildcards.recipe)]),
    output:
        directory(f"{RESULTS}/states/{{recipe}}/seed{{seed}}"),
    log:
        f"{LOGS}/states/{{recipe}}/seed{{seed}}.log",
    benchmark:
        f"{LOGS}/states/{{recipe}}/seed{{seed}}.benchmark.tsv"
    conda:
        "../envs/encoders.yaml"
    threads: CONFIG.threads
    resources:
        gpu=1,
        mem_mb=lambda wildcards, attempt: 16000 * attempt,
        runtime=lambda wildcards, attempt: 120 * attempt,
    params:
        code=code("states"),
        settings=lambda wildcards: {
            "draws": DRAWS[recipe_draws(wildcards.recipe)].model_dump(mode="json"),
            "units": recipe_of(wildcards.recipe).units.model_dump(),
            **CONFIG.states.model_dump(),
        },
        environment=environment("encoders"),
    message:
        "Store hidden states of {wildcards.recipe}, seed {wildcards.seed}"
    script:
        "../workflow/scripts/states.py"
