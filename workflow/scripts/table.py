"""Make a table, its page and its record."""

from importlib import import_module
from pathlib import Path

from crosslens import logs
from crosslens.files import written
from crosslens.pages import page
from crosslens.papers.inputs import inputs
from crosslens.provenance import write_table

log = logs.start(snakemake.log[0], title=snakemake.wildcards.item)
settings = snakemake.params.settings
module = import_module(f"crosslens.papers.{settings['paper']}.{settings['module']}")
made = module.table(settings["item"], inputs(settings, snakemake.input), settings["settings"])
log.info("%d cells", len(made))
write_table(made, snakemake.output.table, settings, snakemake.input.get("records", []))
with written(snakemake.output.page) as temporary:
    temporary.write_text(page(Path(snakemake.output.table), snakemake.params.title), encoding="utf-8")
