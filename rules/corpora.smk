# From official files to typed rows: corpora/CORPUS/LANG.SPLIT.parquet.


TREEBANKS = "|".join(name for name, corpus in CONFIG.corpora.items() if corpus.kind == "treebank") or "none"
PARAGRAPHS = "|".join(name for name, corpus in CONFIG.corpora.items() if corpus.kind == "paragraphs") or "none"
PAIRS = "|".join(name for name, corpus in CONFIG.corpora.items() if corpus.kind == "pairs") or "none"


rule treebank:
    """Read a language's test or dev treebanks."""
    input:
        unpack(lambda wildcards: corpus_sources(wildcards, [wildcards.split])),
    output:
        f"{RESULTS}/corpora/{{corpus}}/{{language}}.{{split}}.parquet",
    log:
        f"{LOGS}/corpora/{{corpus}}/{{language}}.{{split}}.log",
    wildcard_constraints:
        corpus=TREEBANKS,
        split="dev|test",
    conda:
        "../envs/corpora.yaml"
    params:
        code=code("treebank"),
        settings=treebank_settings(None),
        environment=environment("corpora"),
    message:
        "Read {wildcards.language} {wildcards.split} treebanks of {wildcards.corpus}"
    script:
        "../workflow/scripts/treebank.py"


rule treebank_source:
    """Read a source language's training treebanks and split off validation."""
    input:
        unpack(lambda wildcards: corpus_sources(wildcards, ["train", "validation"])),
    output:
        train=f"{RESULTS}/corpora/{{corpus}}/{{language}}.train.parquet",
        validation=f"{RESULTS}/corpora/{{corpus}}/{{language}}.validation.parquet",
    log:
        f"{LOGS}/corpora/{{corpus}}/{{language}}.train.log",
    wildcard_constraints:
        corpus=TREEBANKS,
    conda:
        "../envs/corpora.yaml"
    params:
        code=code("treebank"),
        settings=treebank_settings(["train", "validation"]),
        environment=environment("corpora"),
    message:
        "Read {wildcards.language} training treebanks of {wildcards.corpus}"
    script:
        "../workflow/scripts/treebank.py"


rule paragraphs:
    """Sample a language's paragraphs and split them by page."""
    input:
        lambda wildcards: dump(CONFIG.corpora[wildcards.corpus], wildcards.language),
    output:
        train=f"{RESULTS}/corpora/{{corpus}}/{{language}}.train.parquet",
        validation=f"{RESULTS}/corpora/{{corpus}}/{{language}}.validation.parquet",
        dev=f"{RESULTS}/corpora/{{corpus}}/{{language}}.dev.parquet",
        test=f"{RESULTS}/corpora/{{corpus}}/{{language}}.test.parquet",
    log:
        f"{LOGS}/corpora/{{corpus}}/{{language}}.log",
    wildcard_constraints:
        corpus=PARAGRAPHS,
    conda:
        "../envs/corpora.yaml"
    threads: CONFIG.threads
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        code=code("paragraphs"),
        settings=lambda wildcards: CONFIG.corpora[wildcards.corpus].model_dump(
            include={"form", "paragraphs", "minimum_characters", "shares", "spare", "seed"}
        ),
        environment=environment("corpora"),
    message:
        "Sample {wildcards.language} paragraphs of {wildcards.corpus}"
    script:
        "../workflow/scripts/paragraphs.py"


rule pairs:
    """Read a language's test or dev sentence pairs."""
    input:
        unpack(lambda wildcards: corpus_sources(wildcards, [wildcards.split])),
    output:
        f"{RESULTS}/corpora/{{corpus}}/{{language}}.{{split}}.parquet",
    log:
        f"{LOGS}/corpora/{{corpus}}/{{language}}.{{split}}.log",
    wildcard_constraints:
        corpus=PAIRS,
        split="dev|test",
    conda:
        "../envs/corpora.yaml"
    params:
        code=code("pairs"),
        settings=pair_settings(None),
        environment=environment("corpora"),
    message:
        "Read {wildcards.language} {wildcards.split} pairs of {wildcards.corpus}"
    script:
        "../workflow/scripts/pairs.py"


rule pairs_source:
    """Read a source language's training sentence pairs and split off validation."""
    input:
        unpack(lambda wildcards: corpus_sources(wildcards, ["train", "validation"])),
    output:
        train=f"{RESULTS}/corpora/{{corpus}}/{{language}}.train.parquet",
        validation=f"{RESULTS}/corpora/{{corpus}}/{{language}}.validation.parquet",
    log:
        f"{LOGS}/corpora/{{corpus}}/{{language}}.train.log",
    wildcard_constraints:
        corpus=PAIRS,
    conda:
        "../envs/corpora.yaml"
    resources:
        mem_mb=4000,
    params:
        code=code("pairs"),
        settings=pair_settings(["train", "validation"]),
        environment=environment("corpora"),
    message:
        "Read {wildcards.language} training pairs of {wildcards.corpus}"
    script:
        "../workflow/scripts/pairs.py"
