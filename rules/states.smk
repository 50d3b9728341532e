# Hidden states: states/RECIPE/seedN/CORPUS/LANG.parquet; one job per model, so that the encoder is loaded once.


rule states:
    """Store the hidden states of sampled words or texts, from a trained or only pretrained encoder."""
    input:
        inputs(GRAPH.states),
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
        **params(GRAPH.states),
    message:
        "Store hidden states of {wildcards.recipe}, seed {wildcards.seed}"
    script:
        "../workflow/scripts/states.py"
