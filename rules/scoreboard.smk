# The scoreboard: printed cells beside those of the tables that exist. These are no inputs, so that it starts no training; which of
# them exist, and the identities of their seals, are params, so that a new or changed table is a reason to make it again.

SCORED = "workflow/crosslens/reports/scoreboard.html.j2"


rule scoreboard:
    """Set each printed cell beside ours, with the tables that exist."""
    input:
        # Their content is among the params.
        published=lambda wildcards: of_study([ancient(file) for paper in PAPERS for file in published_file(paper.key)]),
        template=ancient(str(ROOT / SCORED)),
    output:
        table=f"{RESULTS}/scoreboard.csv",
        page=report(f"{RESULTS}/scoreboard.html", category="scoreboard"),
    log:
        f"{LOGS}/scoreboard.log",
    localrule: True  # it takes seconds
    conda:
        "../envs/figures.yaml"
    params:
        **resource_params([SCORED, *(f"resources/published/{paper.key}.csv" for paper in PAPERS)]),
        code=code("scoreboard", *(f"papers/{paper.key}/paper" for paper in PAPERS)),
        tables=lambda wildcards: built_tables(),
        heading=f"Scoreboard: {RESULTS}",
        environment=environment("figures"),
    message:
        "Set the printed cells beside ours"
    script:
        "../workflow/scripts/scoreboard.py"
