# Official files from a mirror, the network or the phrasebook, under sources/ID/.

from crosslens.sources.layout import Layout
from crosslens.sources.registry import load as load_sources

with errors_in_a_line():
    SOURCES = load_sources(additions=CONFIG.sources)
OFFICIAL = Layout(f"{RESULTS}/sources", SOURCES)
USES_SOURCES = {f"corpora.{name}": corpus for name, corpus in CONFIG.corpora.items()}
USES_SOURCES |= {f"encoders.{name}": encoder for name, encoder in CONFIG.encoders.items()}
for place, entry in USES_SOURCES.items():
    for source in sorted(entry.sources() - set(SOURCES)):
        key = next(key for key in ("source", "train_source", "texts_source", "vocabulary") if getattr(entry, key, None) == source)
        raise WorkflowError(
            f"{place}.{key}: expected an entry of resources/sources.yaml, or of sources in an overlay, found "
            f"'{source}'{nearest(source, SOURCES)}"
        )
OF_READINGS = {file.split("/")[0] for reading in CONFIG.readings.values() for file in reading.official()}
FETCHED = "|".join(sorted(OF_READINGS.union(*(entry.sources() for entry in USES_SOURCES.values())) - {"phrasebook"})) or "none"


rule fetch:
    """Fetch one official file and verify it."""
    output:
        f"{RESULTS}/sources/{{source}}/{{path}}",
    log:
        f"{LOGS}/fetch/{{source}}/{{path}}.log",
    wildcard_constraints:
        source=FETCHED,
        path=".+",
    retries: 0  # it has tried every server already
    localrule: True  # compute nodes often have no network
    conda:
        "../envs/corpora.yaml"
    params:
        code=code("fetch"),
        settings=lambda wildcards: OFFICIAL.facts(wildcards.source, wildcards.path),
        changed=lambda wildcards: changed(f"{wildcards.source}/{wildcards.path}"),
        environment=environment("corpora"),
    message:
        "Fetch {wildcards.path} of {wildcards.source}"
    script:
        "../workflow/scripts/fetch.py"


rule dump_sample:
    """Fetch some blocks of a Wikipedia dump, as a small dump in the same format."""
    input:
        index=f"{RESULTS}/sources/{{source}}/{{dump}}-index.txt.bz2",
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
        code=code("dump_sample"),
        settings=lambda wildcards: OFFICIAL.facts(wildcards.source, f"{wildcards.dump}.xml.bz2"),
        environment=environment("corpora"),
    message:
        "Fetch {wildcards.blocks} blocks of {wildcards.dump}"
    script:
        "../workflow/scripts/dump_sample.py"


LANGUAGES = sorted({*CONFIG.phrasebook.languages, *CONFIG.phrasebook.train_languages})
LANGUAGE_TABLES = ["resources/languages.csv", "resources/phrasebook/languages.csv"]  # of which the rows of LANGUAGES are read
SHARED = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "resources/phrasebook").glob("*.csv"))
GRAMMAR = [file for file in SHARED if file not in LANGUAGE_TABLES]
GRAMMAR += [f"resources/phrasebook/{language}/{name}" for language in LANGUAGES for name in ("frames.txt", "lexicon.csv")]


rule phrasebook:
    """Generate the phrasebook's corpora in their official formats."""
    input:
        [ancient(str(ROOT / file)) for file in [*LANGUAGE_TABLES, *GRAMMAR]],  # their content is among the params
    output:
        [f"{RESULTS}/sources/phrasebook/{file}" for file in CONFIG.phrasebook.files()],
    log:
        f"{LOGS}/phrasebook.log",
    conda:
        "../envs/corpora.yaml"
    params:
        **resource_params(GRAMMAR),
        looked_up=[rows(file, LANGUAGES) for file in LANGUAGE_TABLES],
        code=code("write_phrasebook"),
        settings=CONFIG.phrasebook.model_dump(),
        folder=f"{RESULTS}/sources/phrasebook",
        environment=environment("corpora"),
    message:
        "Write the phrasebook's corpora"
    script:
        "../workflow/scripts/write_phrasebook.py"
