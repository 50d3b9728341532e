# Encoders as Hugging Face folders: encoders/ENCODER/.


rule encoder:
    """Store an encoder in a folder that transformers can load."""
    input:
        hub=lambda wildcards: encoder_files(CONFIG.encoders[wildcards.encoder]),
        texts=lambda wildcards: vocabulary(wildcards.encoder, corpus_outputs),
    output:
        directory(f"{RESULTS}/encoders/{{encoder}}"),
    log:
        f"{LOGS}/encoders/{{encoder}}.log",
    conda:
        "../envs/encoders.yaml"
    resources:
        mem_mb=8000,
    params:
        code=code("encoder"),
        texts=lambda wildcards: vocabulary(wildcards.encoder, corpus_files),
        settings=lambda wildcards: CONFIG.encoders[wildcards.encoder].model_dump(),
        environment=environment("encoders"),
    message:
        "Make encoder {wildcards.encoder}"
    script:
        "../workflow/scripts/encoder.py"
