# Encoders as Hugging Face folders: tokenizers/ENCODER/, all but the weights, and encoders/ENCODER/, the whole.


rule tokenizer:
    """Store an encoder without its weights: its tokenizer, trimmed to texts or learnt from them, and its configuration."""
    input:
        hub=lambda wildcards: OFFICIAL.of_encoder(CONFIG.encoders[wildcards.encoder], "DESCRIPTION"),
        shared=lambda wildcards: shared_tokenizer(CONFIG.encoders[wildcards.encoder]),
        texts=lambda wildcards: vocabulary_files(wildcards, corpus_outputs),
    output:
        directory(f"{RESULTS}/tokenizers/{{encoder}}"),
    log:
        f"{LOGS}/tokenizers/{{encoder}}.log",
    conda:
        "../envs/encoders.yaml"
    resources:
        mem_mb=8000,
    params:
        **own_encoder_params("DESCRIPTION"),
        code=code("tokenizer"),
        texts=lambda wildcards: vocabulary_files(wildcards, corpus_files),
        settings=encoder_settings,
        package=lambda wildcards: OFFICIAL.package(CONFIG.encoders[wildcards.encoder]),
        environment=environment("encoders"),
    message:
        "Make the tokenizer of {wildcards.encoder}"
    script:
        "../workflow/scripts/tokenizer.py"


rule encoder:
    """Store an encoder in a folder that transformers can load."""
    input:
        hub=lambda wildcards: OFFICIAL.of_encoder(CONFIG.encoders[wildcards.encoder], "WEIGHTS"),
        tokenizer=f"{RESULTS}/tokenizers/{{encoder}}",
    output:
        directory(f"{RESULTS}/encoders/{{encoder}}"),
    log:
        f"{LOGS}/encoders/{{encoder}}.log",
    conda:
        "../envs/encoders.yaml"
    resources:
        mem_mb=8000,
    params:
        **own_encoder_params("WEIGHTS"),
        **({"rehearse": CONFIG.rehearse} if CONFIG.rehearse else {}),
        code=code("encoder"),
        settings=encoder_settings,
        package=lambda wildcards: OFFICIAL.package(CONFIG.encoders[wildcards.encoder]),
        environment=environment("encoders"),
    message:
        "Make encoder {wildcards.encoder}"
    script:
        "../workflow/scripts/encoder.py"
