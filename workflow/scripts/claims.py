"""Decide claims by what there is, and write their table and pages."""

from pathlib import Path

from crosslens.reports.claims.decisions import decisions
from crosslens.reports.claims.pages import pages
from crosslens.reports.claims.table import table
from crosslens.reports.provenance import write_table
from crosslens.runs import logs
from crosslens.storage.seals import sealed

output, params = snakemake.output, snakemake.params
log = logs.start(snakemake.log[0], output.table)
texts = dict(zip(params.texts, map(Path, snakemake.input.texts), strict=True))
decided = decisions(params.settings, texts)
made = table(decided, params.settings)
log.info("%d claims: %s", len(made), ", ".join(f"{n} {verdict}" for verdict, n in made["verdict"].value_counts().items()))
*_, template, style = texts.values()
written = pages(decided, params.settings, Path(output.front).parent, template, style)
write_table(made, output.table, {"evidence": params.evidence}, {})
for path, page in zip((output.page, output.front), written, strict=True):
    with sealed(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
