"""Write a page of one or several items."""

from pathlib import Path

from crosslens.jobs import logs
from crosslens.jobs.call import command
from crosslens.jobs.checksums import checksummed
from crosslens.reports.pages import page, read_terms

output, inputs = snakemake.output[0], snakemake.input
logs.start(snakemake.log[0], output)
terms = read_terms(Path(inputs.terms))
with checksummed(output) as temporary:
    files, several = map(Path, inputs.shown), map(Path, inputs.several)
    text = page(snakemake.params.settings, files, terms, command(output), several, Path(inputs.template))
    temporary.write_text(text, encoding="utf-8")
