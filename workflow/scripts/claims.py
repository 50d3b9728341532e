"""Decide claims from the tables and records that exist, and write their table and pages."""

from pathlib import Path

from crosslens.jobs import logs
from crosslens.jobs.checksums import checksummed
from crosslens.reports.claims.decisions import decisions
from crosslens.reports.claims.pages import pages
from crosslens.reports.claims.table import table
from crosslens.reports.provenance import write_table

output, params, settings = snakemake.output, snakemake.params, snakemake.params.settings
log = logs.start(snakemake.log[0], output.table)
texts = dict(zip(settings["texts"], map(Path, snakemake.input.texts), strict=True))
decisions_by_paper, outcomes = decisions(settings["papers"], texts)
claims = table(decisions_by_paper, settings["papers"])
log.info("%d claims: %s", len(claims), ", ".join(f"{n} {verdict}" for verdict, n in claims["verdict"].value_counts().items()))
*_, template, _ = texts.values()
all_claims, front = pages(decisions_by_paper, outcomes, settings["papers"], Path(output.front).parent, template)
write_table(claims, output.table, {"evidence": params.evidence}, {})
for path, page in ((output.page, all_claims), (output.front, front)):
    with checksummed(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
