# What `snakemake --report` has, and under which names; its captions are in workflow/report/.


def shown(path, items, caption=None):
    """Mark an item for the report.

    items: stem of its file, wildcards filled in -> category, its name in the paper, what it shows. caption: file of its own.
    """
    stem, form = Path(path).stem, Path(path).suffix[1:]
    caption = caption or {"svg": "figure", "parquet": "scores"}.get(form, "table")

    def of(wildcards):
        return items[stem.format(**dict(wildcards.items()))]

    def labels(wildcards):
        _, item, shows = of(wildcards)
        return {"item": item, "shows": shows, "type": "to read" if form == "html" else form}

    return report(
        path, caption=f"{ROOT}/workflow/report/{caption}.rst", category=lambda wildcards: of(wildcards)[0], labels=labels
    )
