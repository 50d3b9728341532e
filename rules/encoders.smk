# Encoders as Hugging Face folders: tokenizers/ENCODER/ without weights, and encoders/ENCODER/ with weights.


rule tokenizer:
    """Store an encoder without its weights: its tokenizer, trimmed to texts or learnt from them, and its configuration."""
    input:
        inputs(GRAPH.tokenizer),
    output:
        directory(f"{RESULTS}/tokenizers/{{encoder}}"),
    log:
        f"{LOGS}/tokenizers/{{encoder}}.log",
    conda:
        "../envs/encoders.yaml"
    resources:
        mem_mb=8000,
    params:
        **params(GRAPH.tokenizer, *contents(FolderEncoder.DESCRIPTION)),
    message:
        "Make the tokenizer of {wildcards.encoder}"
    script:
        "../workflow/scripts/tokenizer.py"


rule encoder:
    """Store an encoder in a folder that transformers can load."""
    input:
        inputs(GRAPH.encoder),
    output:
        directory(f"{RESULTS}/encoders/{{encoder}}"),
    log:
        f"{LOGS}/encoders/{{encoder}}.log",
    conda:
        "../envs/encoders.yaml"
    resources:
        mem_mb=8000,
    params:
        **params(GRAPH.encoder, *contents(FolderEncoder.WEIGHTS)),
    message:
        "Make encoder {wildcards.encoder}"
    script:
        "../workflow/scripts/encoder.py"
