# The scoreboard: printed cells next to ours, from the tables that exist. Tables are not inputs, so that no training run is
# started for it. Their names and the identities of their checksum files are a param, so that a new or changed table causes a
# rerun.


rule scoreboard:
    """Write each printed cell next to ours, from the tables that exist."""
    input:
        inputs(GRAPH.scoreboard),
    output:
        table=f"{RESULTS}/scoreboard.csv",
        page=report(f"{RESULTS}/scoreboard.html", category="scoreboard"),
    log:
        f"{LOGS}/scoreboard.log",
    localrule: True  # it takes seconds
    conda:
        "../envs/figures.yaml"
    params:
        **params(GRAPH.scoreboard, "template", "style", *contents(STUDIES.papers)),
        tables=lambda wildcards: GRAPH.built_tables(),  # includes tables made earlier in the same run
    message:
        "Set the printed cells beside ours"
    script:
        "../workflow/scripts/scoreboard.py"
