# What holds of the papers' claims: claims.csv, its record, its page claims.html, and the front page index.html. They tell of what
# there is and make nothing else: tables and records are no inputs but params, with the digests of their seals.


rule claims:
    """Decide the papers' claims by the tables and records that there are, and write the front page."""
    input:
        scoreboard=lambda wildcards: of_study(f"{RESULTS}/scoreboard.html"),  # the front page leads to it
        texts=[ancient(str(ROOT / file)) for file in CLAIMS_TEXTS],  # their content is among the params
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
        **resource_params([*CLAIMS_TEXTS, "resources/languages.csv"]),
        code=lambda wildcards: code("claims", *claims_modules()),
        settings=lambda wildcards: claims_settings(),
        evidence=lambda wildcards: claims_evidence(),
        texts=CLAIMS_TEXTS,
        environment=environment("figures"),
    message:
        "Decide the claims of {RESULTS}"
    script:
        "../workflow/scripts/claims.py"
