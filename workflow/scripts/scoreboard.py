"""Write the printed cells of all papers next to ours, from the tables that exist, as a table and a page."""

from pathlib import Path

from crosslens.jobs import logs
from crosslens.jobs.call import command
from crosslens.jobs.checksums import checksummed, verified
from crosslens.papers import papers
from crosslens.reports.scoreboard import page, read_published, read_table, scoreboard

output = snakemake.output
log = logs.start(snakemake.log[0], output.table)
published = {Path(file).stem: read_published(file) for file in snakemake.input.published}
results = Path(output.table).parent
tables = {place: read_table(verified(results / f"{place}.csv")) for place in snakemake.params.tables}
board = scoreboard([paper for paper in papers() if paper.key in published], published, tables)
with checksummed(output.table) as temporary:
    board.to_csv(temporary, index=False)
with checksummed(output.page) as temporary:
    template = Path(snakemake.input.template)
    temporary.write_text(page(board, snakemake.params.settings["heading"], command(output.table), template), encoding="utf-8")
log.info("%d printed cells, %d tables", len(board), len(tables))
