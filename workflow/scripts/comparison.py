"""Compare the passports of two encoders, as a table and a page."""

from pathlib import Path

from crosslens.jobs import logs
from crosslens.jobs.checksums import checksummed
from crosslens.papers.passport.comparison import Pair, page, table
from crosslens.papers.passport.facts import Passport
from crosslens.papers.passport.pretraining import Pretraining
from crosslens.reports.provenance import write_table

files, output = snakemake.input, snakemake.output
logs.start(snakemake.log[0], output.page)
pair = Pair.of(*(Passport.read(Path(file)) for file in files.tables))
pretraining = Pretraining.read(Path(files.pretraining))
cells = table(pair, pretraining)
write_table(cells, output.table, {"passports": [passport.facts for passport in (pair.a, pair.b)]}, {})
with checksummed(output.page) as temporary:
    temporary.write_text(page(cells, pair, pretraining, Path(files.template), Path(files.style)), encoding="utf-8")
