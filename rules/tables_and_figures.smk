# Tables (ITEM.csv) and figures (ITEM.svg, .png, .svg.csv) of every paper; their pages ITEM.html; report.html, a page of them all;
# and scores/PAPER.parquet, the records behind them.


rule table:
    """Build a table with the published values next to ours."""
    input:
        inputs(GRAPH.item),
    output:
        table=f"{RESULTS}/{{item}}.csv",
        record=f"{RESULTS}/{{item}}.csv.json",
    log:
        f"{LOGS}/{{item}}.csv.log",
    wildcard_constraints:
        item=any_of(place for place, (_, _, item) in STUDIES.items.items() if item.form == "table"),
    conda:
        "../envs/measures.yaml"
    params:
        **params(GRAPH.item, "published", "cited"),
    message:
        "Make {wildcards.item}"
    script:
        "../workflow/scripts/table.py"


rule figure:
    """Draw a figure as SVG and PNG, with its data as CSV."""
    input:
        inputs(GRAPH.item),
    output:
        figure=f"{RESULTS}/{{item}}.svg",
        picture=f"{RESULTS}/{{item}}.png",
        data=f"{RESULTS}/{{item}}.svg.csv",
        record=f"{RESULTS}/{{item}}.svg.json",
    log:
        f"{LOGS}/{{item}}.svg.log",
    wildcard_constraints:
        item=any_of(place for place, (_, _, item) in STUDIES.items.items() if item.form == "figure"),
    conda:
        "../envs/figures.yaml"
    params:
        **params(GRAPH.item, "published", "cited"),
    message:
        "Draw {wildcards.item}"
    script:
        "../workflow/scripts/figure.py"


rule page:
    """Write a self-contained page of a table or figure, or the report with all tables and figures of a paper."""
    input:
        inputs(GRAPH.page),
    output:
        report(f"{RESULTS}/{{page}}.html", category=lambda wildcards: GRAPH.pages[wildcards.page][0].key),
    log:
        f"{LOGS}/{{page}}.html.log",
    wildcard_constraints:
        page=any_of(GRAPH.pages),
    localrule: True  # it takes a second
    conda:
        "../envs/figures.yaml"
    params:
        **params(GRAPH.page, "several", "claims", *contents(PAGE)),
    message:
        "Lay out {wildcards.page}"
    script:
        "../workflow/scripts/page.py"


rule scores:
    """Collect all records behind a paper's tables and figures in one file."""
    input:
        inputs(GRAPH.scores),
    output:
        f"{RESULTS}/scores/{{paper}}.parquet",
    log:
        f"{LOGS}/scores/{{paper}}.log",
    wildcard_constraints:
        paper=any_of(paper.key for paper in STUDIES.papers),
    conda:
        "../envs/measures.yaml"
    params:
        **params(GRAPH.scores),
    message:
        "Gather the records of {wildcards.paper}"
    script:
        "../workflow/scripts/gather.py"
