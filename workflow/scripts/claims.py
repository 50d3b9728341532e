"""Decide claims by what there is, and write their table and pages."""

from pathlib import Path

from crosslens.reports.claims.decisions import decisions
from crosslens.reports.claims.pages import TEMPLATE, claims_page, front_page
from crosslens.reports.claims.table import table
from crosslens.reports.provenance import write_table
from crosslens.runs import logs
from crosslens.storage.seals import sealed

log = logs.start(snakemake.log[0], snakemake.output.table)
settings, output = snakemake.params.settings, snakemake.output
texts = dict(zip(snakemake.params.texts, map(Path, snakemake.input.texts), strict=True))
decided = decisions(settings, texts)
made = table(decided, settings)
log.info("%d claims: %s", len(made), ", ".join(f"{n} {verdict}" for verdict, n in made["verdict"].value_counts().items()))
write_table(made, output.table, {"evidence": snakemake.params.evidence}, {})
for path, page in ((output.page, claims_page), (output.front, front_page)):
    with sealed(path) as temporary:
        temporary.write_text(page(decided, made, settings, texts[TEMPLATE]), encoding="utf-8")
