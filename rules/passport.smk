# Passports: the page of an encoder with its picture (NAME.html, NAME.svg, NAME.png), its exchange file NAME.json, and comparisons
# of encoders (A-B.html, A-B.csv, A-B.svg, A-B.png). All are made from the tables NAME.csv of rules/tables_and_figures.smk.


rule passport:
    """Write the page of an encoder, its picture and its exchange file."""
    input:
        inputs(GRAPH.passport),
    output:
        page=report(f"{RESULTS}/passport/{{encoder}}.html", category="passport"),
        figure=f"{RESULTS}/passport/{{encoder}}.svg",
        picture=f"{RESULTS}/passport/{{encoder}}.png",
        exchange=f"{RESULTS}/passport/{{encoder}}.json",
    log:
        f"{LOGS}/passport/{{encoder}}.html.log",
    wildcard_constraints:
        encoder=any_of(GRAPH.passports),
    localrule: True  # it takes seconds
    conda:
        "../envs/figures.yaml"
    params:
        **params(GRAPH.passport, "template", *contents(PASSPORT)),
    message:
        "Write the passport of {wildcards.encoder}"
    script:
        "../workflow/scripts/passport.py"


rule comparison:
    """Compare the passports of some encoders."""
    input:
        inputs(GRAPH.comparison),
    output:
        page=report(f"{RESULTS}/passport/{{pair}}.html", category="passport"),
        figure=f"{RESULTS}/passport/{{pair}}.svg",
        picture=f"{RESULTS}/passport/{{pair}}.png",
        table=f"{RESULTS}/passport/{{pair}}.csv",
        record=f"{RESULTS}/passport/{{pair}}.csv.json",
    log:
        f"{LOGS}/passport/{{pair}}.html.log",
    wildcard_constraints:
        pair=any_of(GRAPH.compared),
    localrule: True  # it takes seconds
    conda:
        "../envs/figures.yaml"
    params:
        **params(GRAPH.comparison, "template", *contents(PASSPORT)),
    message:
        "Compare {wildcards.pair}"
    script:
        "../workflow/scripts/comparison.py"
