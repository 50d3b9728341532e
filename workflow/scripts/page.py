"""Write a page to read."""

from pathlib import Path

from crosslens.reports.pages import page, read_terms
from crosslens.runs import logs
from crosslens.runs.call import command
from crosslens.storage.seals import sealed

made, given = snakemake.output[0], snakemake.input
logs.start(snakemake.log[0], made)
terms = read_terms(Path(given.terms))
with sealed(made) as temporary:
    text = page(snakemake.params.settings, map(Path, given.shown), terms, command(made), Path(given.template))
    temporary.write_text(text, encoding="utf-8")
