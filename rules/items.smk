# Tables, figures and records of every paper: ITEM.csv, or ITEM.svg and .png, and its page ITEM.html; report.html, a page of all
# items; scores/PAPER.parquet.

PAGES = {place: (paper, {name: item}) for place, (paper, name, item) in ITEMS.items() if item.page}
PAGES |= {paper.path("report"): (paper, regular_items(paper)) for paper in PAPERS if regular_items(paper)}
ENDINGS = {"table": (".csv", ".csv.json"), "figure": (".svg", ".png", ".svg.json")}


rule table:
    """Build a table with the published values next to ours."""
    input:
        unpack(item_inputs),
    output:
        table=f"{RESULTS}/{{item}}.csv",
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
        published=lambda wildcards: published(ITEMS[wildcards.item][0].key),
        cited=lambda wildcards: published(ITEMS[wildcards.item][2].cites),
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
        figure=f"{RESULTS}/{{item}}.svg",
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
        published=lambda wildcards: published(ITEMS[wildcards.item][0].key),
        cited=lambda wildcards: published(ITEMS[wildcards.item][2].cites),
        environment=environment("figures"),
    message:
        "Draw {wildcards.item}"
    script:
        "../workflow/scripts/figure.py"


rule page:
    """Write a page in one file: of a table or figure, or the report, of all items of a paper."""
    input:
        shown=lambda wildcards: page_items(wildcards),
        records=lambda wildcards: [f"{file}.json" for file in page_items(wildcards)],
        template=ancient(str(ROOT / "workflow/crosslens/reports/page.html.j2")),  # their content is among the params
        style=ancient(str(ROOT / "workflow/crosslens/reports/page.css")),
        several=ancient(lambda wildcards: [str(file) for file in several_seeds(wildcards)]),
        terms=ancient(str(ROOT / "resources/terms.yaml")),
    output:
        report(f"{RESULTS}/{{page}}.html", category=lambda wildcards: PAGES[wildcards.page][0].key),
    log:
        f"{LOGS}/{{page}}.html.log",
    wildcard_constraints:
        page="|".join(PAGES) or "none",
    localrule: True  # it takes a second
    conda:
        "../envs/figures.yaml"
    params:
        **resource_params(
            ["workflow/crosslens/reports/page.html.j2", "workflow/crosslens/reports/page.css", "resources/terms.yaml"]
        ),
        code=code("page"),
        several=lambda wildcards: [content(file, file.relative_to(ROOT)) for file in several_seeds(wildcards)],
        settings=page_settings,
        environment=environment("figures"),
    message:
        "Lay out {wildcards.page}"
    script:
        "../workflow/scripts/page.py"


rule scores:
    """Collect all records behind a paper's tables and figures in one file."""
    input:
        lambda wildcards: paper_measures(next(paper for paper in PAPERS if paper.key == wildcards.paper)),
    output:
        f"{RESULTS}/scores/{{paper}}.parquet",
    log:
        f"{LOGS}/scores/{{paper}}.log",
    wildcard_constraints:
        paper="|".join(paper.key for paper in PAPERS) or "none",
    conda:
        "../envs/measures.yaml"
    params:
        code=code("gather"),
        environment=environment("measures"),
    message:
        "Gather the records of {wildcards.paper}"
    script:
        "../workflow/scripts/gather.py"
