# Training runs: models/RECIPE/seedN/ with weights, predictions on all test data, history and record.

KEPT = any_of(name for name, (_, recipe) in STUDIES.recipes.items() if recipe.keeps_weights)
TRIAL_JOBS = any_of(sorted({f"{name.rstrip('0123456789')}[0-9]*" for name in STUDIES.trials}))


rule train:
    """Train a recipe with one seed and predict on all its test data."""
    input:
        inputs(GRAPH.training),
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
    priority: 1  # longest jobs first: short ones fill the gaps, and no core is idle during a last training run
    conda:
        "../envs/encoders.yaml"
    threads: CONFIG.threads
    resources:
        gpu=lambda wildcards: GRAPH.recipe(wildcards.recipe).parts,
        mem_mb=lambda wildcards, attempt: 48000 * attempt,
        runtime=lambda wildcards, attempt: 720 * attempt,
    params:
        **params(GRAPH.training, *RECIPE),
        recipe=lambda wildcards, output: GRAPH.recipe(wildcards.recipe).settings(),  # untracked, as it takes the output: the facts count
        leaves_states=lambda wildcards, output: STUDIES.sampled(wildcards.recipe) is not None,
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
    """Train the trials of a search that share a job, each as in `train_without_weights`, all into one folder."""
    input:
        inputs(GRAPH.trials),
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
        runtime=lambda wildcards, attempt: 720 * attempt * len(STUDIES.trials[wildcards.recipe][1]),
    params:
        **params(GRAPH.trials),
    message:
        "Train the trials of {wildcards.recipe}, seed {wildcards.seed}"
    script:
        "../workflow/scripts/train_trials.py"
