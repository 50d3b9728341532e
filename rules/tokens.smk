# Tokenised corpora: tokens/ENCODER/CORPUS/LANG.SPLIT.parquet, one folder per job.


rule tokens:
    """Tokenise all languages and splits of a corpus."""
    input:
        encoder=f"{RESULTS}/encoders/{{encoder}}",
        corpus=lambda wildcards: corpus_outputs(wildcards.corpus),
    output:
        directory(f"{RESULTS}/tokens/{{encoder}}/{{corpus}}"),
    log:
        f"{LOGS}/tokens/{{encoder}}/{{corpus}}.log",
    conda:
        "../envs/encoders.yaml"
    resources:
        mem_mb=8000,
    params:
        code=code("tokens"),
        files=lambda wildcards: corpus_files(wildcards.corpus),
        settings=lambda wildcards: token_settings(CONFIG.corpora[wildcards.corpus]),
        environment=environment("encoders"),
    message:
        "Tokenise {wildcards.corpus} for {wildcards.encoder}"
    script:
        "../workflow/scripts/tokens.py"
