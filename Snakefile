# Five studies of multilingual encoders. docs/design.md is the map; rules/ has one file a step and one a paper.

from snakemake.utils import min_version

min_version("9.16")


configfile: "config.yaml"


report: "workflow/report/workflow.rst"


include: "rules/common.smk"
include: "rules/inputs.smk"
include: "rules/report.smk"
include: "rules/sources.smk"
include: "rules/corpora.smk"
include: "rules/encoders.smk"
include: "rules/tokens.smk"
include: "rules/models.smk"
include: "rules/states.smk"
include: "rules/papers/tanti2021.smk"
include: "rules/papers/muller2021.smk"


# Compute nodes often have no network: fetch and dump_sample.
localrules:
    all,
    demo,
    fetch,
    dump_sample,
    prefetch,


rule all:
    default_target: True
    input:
        TANTI2021_ITEMS,


rule demo:
    """The headline paper's tables and figures, its search included: what `make demo` builds."""
    input:
        TANTI2021_ITEMS,
        TANTI2021_SEARCH,


rule demo_all:
    """Every table and figure of every paper that is there, and every corpus: what `make demo-all` builds."""
    input:
        rules.demo.input,
        f"{RESULTS}/corpora.csv",
        MULLER2021_ITEMS,
