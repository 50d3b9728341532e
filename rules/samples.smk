# Sampled words and texts: samples/NAME/CORPUS/LANG.parquet, the same for every model.


rule sample:
    """Draw the words (or texts) whose hidden states a paper measures."""
    input:
        inputs(GRAPH.sample),
    output:
        directory(f"{RESULTS}/samples/{{samples}}"),
    log:
        f"{LOGS}/samples/{{samples}}.log",
    wildcard_constraints:
        samples=any_of(STUDIES.samples),
    conda:
        "../envs/encoders.yaml"
    params:
        **params(GRAPH.sample),
    message:
        "Sample {wildcards.samples}"
    script:
        "../workflow/scripts/sample.py"
