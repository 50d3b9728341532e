"""Draw a figure, and write its record."""

from importlib import import_module
from pathlib import Path

from crosslens.jobs import logs
from crosslens.papers.inputs import inputs
from crosslens.reports.figures.save import save
from crosslens.reports.provenance import write_record

logs.start(snakemake.log[0], snakemake.output[0])
settings = snakemake.params.settings
module = import_module(f"crosslens.papers.{settings['paper']}.{settings['module']}")
arguments = settings["item"], inputs(settings, snakemake.input), settings["settings"]
save(module.figure(*arguments), Path(snakemake.output.figure), settings["origin"])
facts = {settings["paper"]: module.record(*arguments)} if hasattr(module, "record") else {}
write_record(snakemake.output.figure, settings, snakemake.input, facts)
