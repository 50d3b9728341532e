# Verdicts on the papers' claims: claims.csv, its record, its page claims.html, and the front page index.html. They use the tables
# and records that exist and build no others: these are not inputs but a param, with the identities of their checksum files.


rule claims:
    """Decide the papers' claims from the tables and records that exist, and write the front page."""
    input:
        inputs(GRAPH.claims),
    output:
        table=f"{RESULTS}/claims.csv",
        record=f"{RESULTS}/claims.csv.json",
        page=f"{RESULTS}/claims.html",
        front=f"{RESULTS}/index.html",
    log:
        f"{LOGS}/claims.log",
    localrule: True  # it takes seconds
    conda:
        "../envs/figures.yaml"
    params:
        **params(GRAPH.claims, "evidence", "languages", *contents(GRAPH.claims_texts)),
    message:
        "Decide the claims of {RESULTS}"
    script:
        "../workflow/scripts/claims.py"
