# From official files to typed rows: corpora/CORPUS/LANG.SPLIT.parquet, one folder per job; of paragraphs, one language.


rule corpus:
    """Read the official files of a corpus, all languages and splits, regardless of their kind."""
    input:
        lambda wildcards: OFFICIAL.of_corpus(CONFIG.corpora[wildcards.corpus]),
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
        code=lambda wildcards: code("corpus", f"corpora/{CONFIG.corpora[wildcards.corpus].READER}"),
        reader=lambda wildcards: CONFIG.corpora[wildcards.corpus].READER,
        parts=lambda wildcards: OFFICIAL.parts(CONFIG.corpora[wildcards.corpus]),
        settings=lambda wildcards: corpus_settings(CONFIG.corpora[wildcards.corpus]),
        looked_up=looked_up,
        environment=environment("corpora"),
    message:
        "Read {wildcards.corpus}"
    script:
        "../workflow/scripts/corpus.py"


rule paragraphs:
    """Sample a language's paragraphs and split them by page."""
    input:
        lambda wildcards: OFFICIAL.dump(CONFIG.corpora[wildcards.corpus], wildcards.language),
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
        **resource_params(["resources/mediawiki.yaml"]),
        code=code("paragraphs"),
        settings=lambda wildcards: sample_settings(CONFIG.corpora[wildcards.corpus], wildcards.language),
        environment=environment("corpora"),
    message:
        "Sample {wildcards.language} paragraphs of {wildcards.corpus}"
    script:
        "../workflow/scripts/paragraphs.py"


rule typology:
    """Extract the features of the configured languages from WALS."""
    input:
        lambda wildcards: OFFICIAL.of_corpus(CONFIG.corpora[wildcards.corpus]),
    output:
        f"{RESULTS}/corpora/{{corpus}}/typology.parquet",
    log:
        f"{LOGS}/corpora/{{corpus}}/typology.log",
    wildcard_constraints:
        corpus=corpora_that(lambda corpus: corpus.kind == "typology"),
    conda:
        "../envs/corpora.yaml"
    params:
        code=code("typology"),
        settings=lambda wildcards: {"languages": CONFIG.corpora[wildcards.corpus].languages},
        looked_up=looked_up,
        environment=environment("corpora"),
    message:
        "Read {wildcards.corpus}"
    script:
        "../workflow/scripts/typology.py"


rule inventory:
    """List the contents of every configured corpus."""
    input:
        [path for corpus in CONFIG.corpora for path in corpus_outputs(corpus)],
    output:
        f"{RESULTS}/corpora.csv",
    log:
        f"{LOGS}/corpora.log",
    conda:
        "../envs/corpora.yaml"
    params:
        code=code("inventory"),
        files=[file for corpus in CONFIG.corpora for file in corpus_files(corpus)],
        settings={name: {"kind": corpus.kind, "source": corpus.source} for name, corpus in CONFIG.corpora.items()},
        environment=environment("corpora"),
    message:
        "List all corpora"
    script:
        "../workflow/scripts/inventory.py"
