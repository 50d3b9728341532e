# Drawn words and texts: draws/NAME/CORPUS/LANG.parquet, the same for every model.


rule draw:
    """Draw the words (or texts) whose hidden states a paper measures."""
    input:
        inputs(GRAPH.draw),
    output:
        directory(f"{RESULTS}/draws/{{draws}}"),
    log:
        f"{LOGS}/draws/{{draws}}.log",
    wildcard_constraints:
        draws=any_of(STUDIES.draws),
    conda:
        "../envs/encoders.yaml"
    params:
        **params(GRAPH.draw),
    message:
        "Draw {wildcards.draws}"
    script:
        "../workflow/scripts/draw.py"
