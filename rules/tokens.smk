# Tokenised corpora: tokens/ENCODER/TOKENISATION/CORPUS/LANG.SPLIT.parquet, one folder per job.


rule tokens:
    """Tokenise all languages and splits of a corpus."""
    input:
        inputs(GRAPH.tokens),
    output:
        directory(f"{RESULTS}/tokens/{{encoder}}/{{tokenisation}}/{{corpus}}"),
    log:
        f"{LOGS}/tokens/{{encoder}}/{{tokenisation}}/{{corpus}}.log",
    conda:
        "../envs/encoders.yaml"
    resources:
        mem_mb=8000,
        runtime=lambda wildcards, attempt: 360 * attempt,  # liu2020's text for pretraining: half a billion subwords
    params:
        **params(GRAPH.tokens),
    message:
        "Tokenise {wildcards.corpus} for {wildcards.encoder}, {wildcards.tokenisation}"
    script:
        "../workflow/scripts/tokens.py"
