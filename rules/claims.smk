# What holds of the papers' claims: claims.csv, its record, its page claims.html, and the front page index.html. They tell of what
# there is and make nothing else: tables and records are no inputs but params, with the digests of their seals.

TOP += ["claims.csv", "claims.csv.json", "claims.html", "index.html"]


def claims_files(paper):
    """Ledger of a paper and its printed cells, by their names below the repository; none where it has no ledger."""
    ledger = f"workflow/crosslens/papers/{paper.key}/claims.yaml"
    printed = f"resources/published/{paper.key}.csv"
    return [file for file in (ledger, printed) if (ROOT / file).is_file()] if (ROOT / ledger).is_file() else []


def claims_modules():
    """Modules of papers with functions that ledgers name."""
    names = [f"papers/{paper.key}/claims" for paper in PAPERS if claims_files(paper)]
    return [name for name in names if (ROOT / f"workflow/crosslens/{name}.py").is_file()]


CLAIMS_PAGE = ["workflow/crosslens/reports/claims/claims.html.j2", "workflow/crosslens/reports/page.css"]
CLAIMED = [paper for paper in PAPERS if claims_files(paper)]
CLAIMS_TEXTS = [*(file for paper in CLAIMED for file in claims_files(paper)), *CLAIMS_PAGE]


@cache
def claims_settings():
    """What each paper's claims rest on, and what is to be said of it."""
    # Not at the top: ledgers are slow to import, and few runs plan claims.
    from crosslens.reports.claims.ledger import read_ledger
    from crosslens.reports.claims.plan import Plan

    try:
        plan = Plan(about(), RESULTS)
        return {
            paper.key: plan.settings(paper, read_ledger(ROOT / files[0], plan.names(paper)), files)
            for paper, files in ((paper, claims_files(paper)) for paper in CLAIMED)
        }
    except DataError as error:
        raise WorkflowError(str(error))


@cache
def claims_evidence():
    """Tables and records that exist, with the identities of their seals."""
    from crosslens.reports.claims.plan import evidence_files

    return identities(file for settings in claims_settings().values() for file in evidence_files(settings["evidence"]))


rule claims:
    """Decide the papers' claims by the tables and records that there are, and write the front page."""
    input:
        scoreboard=f"{RESULTS}/scoreboard.html",  # the front page leads to it
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
