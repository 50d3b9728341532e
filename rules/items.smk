# Tables, figures and records of every paper: ITEM.csv and its page ITEM.html, ITEM.svg and .png, scores/PAPER.parquet.


rule table:
    """Build a table with the published values next to ours, and its HTML page."""
    input:
        unpack(item_inputs),
    output:
        table=shown(f"{RESULTS}/{{item}}.csv"),
        page=shown(f"{RESULTS}/{{item}}.html"),
        record=f"{RESULTS}/{{item}}.csv.json",
    log:
        f"{LOGS}/{{item}}.csv.log",
    wildcard_constraints:
        item="|".join(place for place, (_, _, item) in ITEMS.items() if item.form == "table") or "none",
    conda:
        "../envs/measures.yaml"
    params:
        code=item_code,
        settings=item_settings,
        title=lambda wildcards: "{0.title}: {0.shows}".format(ITEMS[wildcards.item][2]),
        environment=environment("measures"),
    message:
        "Make {wildcards.item}"
    script:
        "../workflow/scripts/table.py"


rule figure:
    """Draw a figure as SVG and PNG."""
    input:
        unpack(item_inputs),
    output:
        figure=shown(f"{RESULTS}/{{item}}.svg"),
        picture=f"{RESULTS}/{{item}}.png",
        record=f"{RESULTS}/{{item}}.svg.json",
    log:
        f"{LOGS}/{{item}}.svg.log",
    wildcard_constraints:
        item="|".join(place for place, (_, _, item) in ITEMS.items() if item.form == "figure") or "none",
    conda:
        "../envs/figures.yaml"
    params:
        code=item_code,
        settings=item_settings,
        environment=environment("figures"),
    message:
        "Draw {wildcards.item}"
    script:
        "../workflow/scripts/figure.py"


rule scores:
    """Collect all records behind a paper's tables and figures in one file."""
    input:
        lambda wildcards: paper_measures(next(paper for paper in PAPERS if paper.key == wildcards.paper)),
    output:
        f"{RESULTS}/scores/{{paper}}.parquet",
    log:
        f"{LOGS}/scores/{{paper}}.log",
    wildcard_constraints:
        paper="|".join(paper.key for paper in PAPERS),
    conda:
        "../envs/measures.yaml"
    params:
        code=code("gather"),
        environment=environment("measures"),
    message:
        "Gather the records of {wildcards.paper}"
    script:
        "../workflow/scripts/gather.py"
