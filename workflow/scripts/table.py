"""Make a table and its record."""

from importlib import import_module

from crosslens.jobs import logs
from crosslens.papers.inputs import inputs, with_unseen
from crosslens.reports.cells import set_apart
from crosslens.reports.provenance import write_table

log = logs.start(snakemake.log[0], snakemake.output[0])
settings = snakemake.params.settings
module = import_module(f"crosslens.papers.{settings['paper']}.{settings['module']}")
arguments = settings["item"], inputs(settings, snakemake.input), settings["settings"]
cells = set_apart(with_unseen(module.table, *arguments), settings["apart"])
log.info("%d cells", len(cells))
facts = {settings["paper"]: module.record(*arguments)} if hasattr(module, "record") else {}
write_table(cells, snakemake.output.table, settings, snakemake.input, facts)
