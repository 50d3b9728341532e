# Official files, from a mirror, the network or the phrasebook, under sources/ID/.

from crosslens.config.whole import nearest
from crosslens.sources.registry import load as load_sources

SOURCES = load_sources()
for name, corpus in CONFIG.corpora.items():
    for source in sorted(corpus.sources() - set(SOURCES)):
        key = "source" if source == corpus.source else "train_source"
        raise WorkflowError(
            f"corpora.{name}.{key}: an entry of resources/sources.yaml expected, found '{source}'{nearest(source, SOURCES)}"
        )
FETCHED = sorted({source for corpus in CONFIG.corpora.values() for source in corpus.sources()} - {"phrasebook"})


rule fetch:
    """Fetch one official file and verify it."""
    output:
        f"{RESULTS}/sources/{{source}}/{{path}}",
    log:
        f"{LOGS}/fetch/{{source}}/{{path}}.log",
    wildcard_constraints:
        source="|".join(FETCHED) or "none",
        path=".+",
    conda:
        "../envs/corpora.yaml"
    params:
        code=code("fetch"),
        settings=lambda wildcards: {
            "url": SOURCES[wildcards.source].url_of(wildcards.path),
            "sha256": SOURCES[wildcards.source].sha256_of(wildcards.path),
            "manual": SOURCES[wildcards.source].manual,
            "mirror": SOURCES[wildcards.source].mirror,
        },
        environment=environment("corpora"),
    message:
        "Fetch {wildcards.path} of {wildcards.source}"
    script:
        "../workflow/scripts/fetch.py"


rule phrasebook:
    """Write the phrasebook's treebanks and dumps in their official formats."""
    input:
        tables=sorted(str(path.relative_to(ROOT)) for path in (ROOT / "resources/phrasebook").glob("**/*.csv")),
        frames=sorted(str(path.relative_to(ROOT)) for path in (ROOT / "resources/phrasebook").glob("*/frames.txt")),
    output:
        [f"{RESULTS}/sources/phrasebook/{file}" for file in CONFIG.phrasebook.files()],
    log:
        f"{LOGS}/phrasebook.log",
    conda:
        "../envs/corpora.yaml"
    params:
        code=code("phrasebook"),
        settings=CONFIG.phrasebook.model_dump(),
        folder=f"{RESULTS}/sources/phrasebook",
        environment=environment("corpora"),
    message:
        "Write the phrasebook's corpora"
    script:
        "../workflow/scripts/phrasebook.py"
