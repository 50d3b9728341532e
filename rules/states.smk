# Hidden states: states/RECIPE/seedN/CORPUS/LANG.parquet; one job per model, so that the encoder is loaded once.


rule states:
    """Store the hidden states of sampled words from a trained encoder."""
    input:
        encoder=lambda wildcards: f"{RESULTS}/encoders/{asked(wildcards.recipe)[1].encoder}",
        model=f"{RESULTS}/models/{{recipe}}/seed{{seed}}/model.safetensors",
        tokens=lambda wildcards: [
            f"{RESULTS}/tokens/{asked(wildcards.recipe)[1].encoder}/{corpus}" for corpus in recipe_draws(wildcards.recipe)
        ],
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
            "draws": {corpus: draw.model_dump() for corpus, draw in recipe_draws(wildcards.recipe).items()},
            "languages": {corpus: CONFIG.corpora[corpus].languages for corpus in recipe_draws(wildcards.recipe)},
            "labels": asked(wildcards.recipe)[1].labels("task"),
            "reading": asked(wildcards.recipe)[1].reading.model_dump(),
            **CONFIG.states.model_dump(),
        },
        environment=environment("encoders"),
    script:
        "../workflow/scripts/states.py"
