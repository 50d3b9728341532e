# Trainings: models/RECIPE/seedN/, weights, predictions on all test data, history, record.


rule train:
    """Train a recipe with one seed and predict on all its test data."""
    input:
        encoder=lambda wildcards: f"{RESULTS}/encoders/{recipe_of(wildcards.recipe).encoder}",
        tokens=lambda wildcards: recipe_tokens(recipe_of(wildcards.recipe)),
        artefact=lambda wildcards: recipe_artefact(recipe_of(wildcards.recipe)),
        pretrained=lambda wildcards: recipe_pretrained(recipe_of(wildcards.recipe), wildcards.seed),
    output:
        model=f"{RESULTS}/models/{{recipe}}/seed{{seed}}/model.safetensors",
        predictions=f"{RESULTS}/models/{{recipe}}/seed{{seed}}/predictions.parquet",
        history=f"{RESULTS}/models/{{recipe}}/seed{{seed}}/history.csv",
        record=f"{RESULTS}/models/{{recipe}}/seed{{seed}}/record.json",
    log:
        f"{LOGS}/models/{{recipe}}/seed{{seed}}.log",
    benchmark:
        f"{LOGS}/models/{{recipe}}/seed{{seed}}.benchmark.tsv"
    wildcard_constraints:
        recipe=KEPT,
    priority: 1  # the longest jobs first: short ones fill the gaps, and no core idles during a last training
    conda:
        "../envs/encoders.yaml"
    threads: CONFIG.threads
    resources:
        gpu=lambda wildcards: recipe_of(wildcards.recipe).parts,
        mem_mb=lambda wildcards, attempt: 48000 * attempt,
        runtime=lambda wildcards, attempt: 720 * attempt,
    params:
        **recipe_params(),
        code=code("train"),
        settings=lambda wildcards, output: recipe_of(wildcards.recipe).settings(),  # not tracked: params that take the output are not
        leaves_states=lambda wildcards, output: STUDIES.drawn(wildcards.recipe) is not None,
        environment=environment("encoders"),
    message:
        "Train {wildcards.recipe}, seed {wildcards.seed}"
    script:
        "../workflow/scripts/train.py"


use rule train as train_without_weights with:
    output:
        predictions=f"{RESULTS}/models/{{recipe}}/seed{{seed}}/predictions.parquet",
        history=f"{RESULTS}/models/{{recipe}}/seed{{seed}}/history.csv",
        record=f"{RESULTS}/models/{{recipe}}/seed{{seed}}/record.json",
    wildcard_constraints:
        recipe=f"(?!(?:{KEPT})/seed){ANY_RECIPE}",


rule train_trials:
    """Train the trials of a search that share a job, each as `train_without_weights` does; all in one folder."""
    input:
        encoder=lambda wildcards: f"{RESULTS}/encoders/{recipe_of(wildcards.recipe).encoder}",
        tokens=lambda wildcards: recipe_tokens(recipe_of(wildcards.recipe)),
    output:
        directory(f"{RESULTS}/models/{{recipe}}/seed{{seed}}"),
    log:
        f"{LOGS}/models/{{recipe}}/seed{{seed}}.log",
    benchmark:
        f"{LOGS}/models/{{recipe}}/seed{{seed}}.benchmark.tsv"
    wildcard_constraints:
        recipe=TRIAL_JOBS,
    priority: 1
    conda:
        "../envs/encoders.yaml"
    threads: CONFIG.threads
    resources:
        gpu=1,
        mem_mb=lambda wildcards, attempt: 48000 * attempt,
        runtime=lambda wildcards, attempt: 720 * attempt * len(TRIALS[wildcards.recipe][1]),
    params:
        code=code("train_trials"),
        trials=lambda wildcards: [trial.settings() for trial in TRIALS[wildcards.recipe][1]],
        environment=environment("encoders"),
    message:
        "Train the trials of {wildcards.recipe}, seed {wildcards.seed}"
    script:
        "../workflow/scripts/train_trials.py"
