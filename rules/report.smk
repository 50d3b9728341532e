# What `snakemake --report` has, and under which names; the captions of a paper are in workflow/report/PAPER.rst.


SHOWN = {}  # paper -> stem of an item's file -> where the report has it, its name in the paper, what it shows


def shown(path, paper):
    """Mark an item of a paper for the report; in the stem of its file, wildcards are filled in."""
    stem, form = Path(path).stem, Path(path).suffix[1:]

    def of(wildcards):
        return SHOWN[paper][stem.format(**dict(wildcards.items()))]

    def labels(wildcards):
        _, item, shows = of(wildcards)
        return {"item": item, "shows": shows, "type": "to read" if form == "html" else form}

    return report(path, caption=f"{ROOT}/workflow/report/{paper}.rst", category=lambda wildcards: of(wildcards)[0], labels=labels)
