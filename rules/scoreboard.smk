# The scoreboard: printed cells beside those of the tables that exist. These are no inputs, so that it starts no training; which
# of them exist, and the identities of their checksum files, are a param, so that a new or changed table is a reason to make it
# again.


rule scoreboard:
    """Set each printed cell beside ours, with the tables that exist."""
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
        tables=lambda wildcards: GRAPH.built_tables(),  # also those that the same call has made before
    message:
        "Set the printed cells beside ours"
    script:
        "../workflow/scripts/scoreboard.py"
