# Drawn words and texts: draws/NAME/CORPUS/LANG.parquet, the same for every model.


rule draw:
    """Draw the words (or texts) whose hidden states a paper measures."""
    input:
        tokens=lambda wildcards: drawn_tokens(DRAWS[wildcards.draws]),
    output:
        directory(f"{RESULTS}/draws/{{draws}}"),
    log:
        f"{LOGS}/draws/{{draws}}.log",
    wildcard_constraints:
        draws="|".join(DRAWS) or "none",
    conda:
        "../envs/encoders.yaml"
    params:
        code=code("draw"),
        settings=lambda wildcards: DRAWS[wildcards.draws].model_dump(mode="json"),
        environment=environment("encoders"),
    message:
        "Draw {wildcards.draws}"
    script:
        "../workflow/scripts/draw.py"
