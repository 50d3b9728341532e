"""Write a page to read."""

from pathlib import Path

from crosslens import logs
from crosslens.digests import sealed
from crosslens.pages import page, read_terms

made, given = snakemake.output[0], snakemake.input
logs.start(snakemake.log[0], made)
terms = read_terms(Path(given.terms))
with sealed(made) as temporary:
    text = page(snakemake.params.settings, map(Path, given.shown), terms, logs.command(made), Path(given.template))
    temporary.write_text(text, encoding="utf-8")
