# From official files to typed rows: corpora/CORPUS/LANG.SPLIT.parquet. A job makes a corpus or, of paragraphs, a language.


rule corpus:
    """Read the official files of a corpus, all languages and splits, of any kind except paragraphs and typology."""
    input:
        inputs(GRAPH.corpus),
    output:
        directory(f"{RESULTS}/corpora/{{corpus}}"),
    log:
        f"{LOGS}/corpora/{{corpus}}.log",
    wildcard_constraints:
        corpus=corpora_that(lambda corpus: isinstance(corpus, OfficialCorpus)),
    conda:
        "../envs/corpora.yaml"
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        **params(GRAPH.corpus, "languages"),
    message:
        "Read {wildcards.corpus}"
    script:
        "../workflow/scripts/corpus.py"


rule paragraphs:
    """Sample a language's paragraphs and split them by page."""
    input:
        inputs(GRAPH.paragraphs),
    output:
        train=f"{RESULTS}/corpora/{{corpus}}/{{language}}.train.parquet",
        validation=f"{RESULTS}/corpora/{{corpus}}/{{language}}.validation.parquet",
        dev=f"{RESULTS}/corpora/{{corpus}}/{{language}}.dev.parquet",
        test=f"{RESULTS}/corpora/{{corpus}}/{{language}}.test.parquet",
    log:
        f"{LOGS}/corpora/{{corpus}}/{{language}}.log",
    wildcard_constraints:
        corpus=corpora_that(lambda corpus: corpus.kind == "paragraphs"),
    conda:
        "../envs/corpora.yaml"
    threads: CONFIG.threads
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        **params(GRAPH.paragraphs, "content0"),
    message:
        "Sample {wildcards.language} paragraphs of {wildcards.corpus}"
    script:
        "../workflow/scripts/paragraphs.py"


rule typology:
    """Extract the features of the configured languages from WALS."""
    input:
        inputs(GRAPH.typology),
    output:
        f"{RESULTS}/corpora/{{corpus}}/typology.parquet",
    log:
        f"{LOGS}/corpora/{{corpus}}/typology.log",
    wildcard_constraints:
        corpus=corpora_that(lambda corpus: corpus.kind == "typology"),
    conda:
        "../envs/corpora.yaml"
    params:
        **params(GRAPH.typology, "languages"),
    message:
        "Read {wildcards.corpus}"
    script:
        "../workflow/scripts/typology.py"


rule inventory:
    """List the contents of every configured corpus."""
    input:
        inputs(GRAPH.inventory),
    output:
        f"{RESULTS}/corpora.csv",
    log:
        f"{LOGS}/corpora.log",
    conda:
        "../envs/corpora.yaml"
    params:
        **params(GRAPH.inventory),
    message:
        "List all corpora"
    script:
        "../workflow/scripts/inventory.py"
