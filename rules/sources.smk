# Official files from a mirror, the network or the synthetic corpora, in sources/ID/.

FETCHED = any_of(GRAPH.fetched_sources())


rule fetch:
    """Fetch one official file and verify it."""
    output:
        f"{RESULTS}/sources/{{source}}/{{path}}",
    log:
        f"{LOGS}/fetch/{{source}}/{{path}}.log",
    wildcard_constraints:
        source=FETCHED,
        path=".+",
    retries: 0  # the job itself tries every server
    localrule: True  # compute nodes often have no network
    conda:
        "../envs/corpora.yaml"
    params:
        **params(GRAPH.fetch, "changed"),
    message:
        "Fetch {wildcards.path} of {wildcards.source}"
    script:
        "../workflow/scripts/fetch.py"


rule dump_sample:
    """Fetch some blocks of a Wikipedia dump, as a small dump in the same format."""
    input:
        inputs(GRAPH.dump_sample),
    output:
        f"{RESULTS}/sources/{{source}}-sample/{{blocks}}-{{seed}}/{{dump}}.xml.bz2",
    log:
        f"{LOGS}/fetch/{{source}}-sample/{{blocks}}-{{seed}}/{{dump}}.log",
    wildcard_constraints:
        source=FETCHED,
        dump=".+",
        blocks=r"\d+",
    retries: 0
    localrule: True
    conda:
        "../envs/corpora.yaml"
    params:
        **params(GRAPH.dump_sample),
    message:
        "Fetch {wildcards.blocks} blocks of {wildcards.dump}"
    script:
        "../workflow/scripts/dump_sample.py"


rule synthetic:
    """Generate the synthetic corpora in their official formats."""
    input:
        inputs(GRAPH.synthetic),
    output:
        [f"{RESULTS}/sources/synthetic/{file}" for file in CONFIG.synthetic.files()],
    log:
        f"{LOGS}/synthetic.log",
    conda:
        "../envs/corpora.yaml"
    params:
        **params(GRAPH.synthetic, "languages", *contents(GRAPH.grammar)),
    message:
        "Write the synthetic corpora"
    script:
        "../workflow/scripts/synthetic.py"
