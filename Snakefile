# Five studies of multilingual encoders. docs/design.md gives an overview; rules/ has one file per step.

from snakemake.utils import min_version

min_version("9.16")


configfile: "config.yaml"


include: "rules/common.smk"
include: "rules/inputs.smk"
include: "rules/sources.smk"
include: "rules/corpora.smk"
include: "rules/encoders.smk"
include: "rules/tokens.smk"
include: "rules/draws.smk"
include: "rules/models.smk"
include: "rules/states.smk"
include: "rules/measures.smk"
include: "rules/items.smk"


logger.addFilter(explain)


onstart:
    if not workflow.touch:
        check_start(workflow.dag)


onerror:
    JOBS.summary()


# fetch and dump_sample are local because compute nodes often have no network, pages because they take a second.
localrules:
    all,
    demo,
    fetch,
    dump_sample,
    page,
    prefetch,


rule all:
    """Tables and figures of the headline paper."""
    default_target: True
    input:
        targets("tanti2021"),


rule demo:
    """The same, and its random search: what `make demo` builds."""
    input:
        targets("tanti2021"),
        targets("tanti2021", searched=True),


rule demo_all:
    """Tables and figures of all papers implemented so far, and every corpus: what `make demo-all` builds."""
    input:
        rules.demo.input,
        f"{RESULTS}/corpora.csv",
        targets(*(paper.key for paper in PAPERS)),
