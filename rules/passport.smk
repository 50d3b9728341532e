# Passports: the page of an encoder with its picture, NAME.html, NAME.svg and NAME.png, its exchange file NAME.json, and the pages of two
# encoders, A-B.html with A-B.csv. All tell of the tables NAME.csv, which rules/items.smk makes.

PASSPORT = CONFIG.paper("passport")
COMPARED = {f"{a}-{b}": (a, b) for a, b in PASSPORT.compare} if PASSPORT else {}
if doubled := [name for name in COMPARED if name in PASSPORT.encoders]:
    raise WorkflowError(f"papers.passport.compare: {doubled[0]} is also the name of an encoder; give one of them another name")


rule passport:
    """Write the page of an encoder, its picture and its exchange file."""
    input:
        **passport_files("passport"),
        table=lambda wildcards: of_study(f"{RESULTS}/passport/{wildcards.encoder}.csv"),
        record=f"{RESULTS}/passport/{{encoder}}.csv.json",
    output:
        page=report(f"{RESULTS}/passport/{{encoder}}.html", category="passport"),
        figure=f"{RESULTS}/passport/{{encoder}}.svg",
        picture=f"{RESULTS}/passport/{{encoder}}.png",
        exchange=f"{RESULTS}/passport/{{encoder}}.json",
    log:
        f"{LOGS}/passport/{{encoder}}.html.log",
    wildcard_constraints:
        encoder="|".join(PASSPORT.encoders if PASSPORT else []) or "none",
    localrule: True  # it takes seconds
    conda:
        "../envs/figures.yaml"
    params:
        **resource_params([passport_template("passport"), *PASSPORT_FILES.values()]),
        code=code("passport"),
        environment=environment("figures"),
    message:
        "Write the passport of {wildcards.encoder}"
    script:
        "../workflow/scripts/passport.py"


rule comparison:
    """Compare the passports of two encoders."""
    input:
        **passport_files("comparison"),
        tables=lambda wildcards: of_study([f"{RESULTS}/passport/{name}.csv" for name in COMPARED[wildcards.pair]]),
        records=lambda wildcards: [f"{RESULTS}/passport/{name}.csv.json" for name in COMPARED[wildcards.pair]],
    output:
        page=report(f"{RESULTS}/passport/{{pair}}.html", category="passport"),
        table=f"{RESULTS}/passport/{{pair}}.csv",
        record=f"{RESULTS}/passport/{{pair}}.csv.json",
    log:
        f"{LOGS}/passport/{{pair}}.html.log",
    wildcard_constraints:
        pair="|".join(COMPARED) or "none",
    localrule: True  # it takes seconds
    conda:
        "../envs/figures.yaml"
    params:
        **resource_params([passport_template("comparison"), *PASSPORT_FILES.values()]),
        code=code("comparison"),
        environment=environment("figures"),
    message:
        "Compare {wildcards.pair}"
    script:
        "../workflow/scripts/comparison.py"
