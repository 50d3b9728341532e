"""Compare the passports of some encoders, as a table, a picture and a page."""

from itertools import combinations
from pathlib import Path

import pandas as pd
from crosslens.jobs import logs
from crosslens.jobs.checksums import checksummed
from crosslens.papers.passport.comparison import table
from crosslens.papers.passport.comparison_page import page
from crosslens.papers.passport.facts import Passport
from crosslens.papers.passport.figure import comparison
from crosslens.papers.passport.pretraining import Pretraining
from crosslens.reports.figures.save import save
from crosslens.reports.provenance import write_table

files, output = snakemake.input, snakemake.output
logs.start(snakemake.log[0], output.page)
passports = [Passport.read(Path(file)) for file in files.tables]
pretraining = Pretraining.read(Path(files.pretraining))
pairs = combinations(range(len(passports)), 2)
tables = {(a, b): table(passports[a], passports[b], pretraining) for a, b in pairs}
write_table(pd.concat(tables.values()), output.table, {"passports": [passport.facts for passport in passports]}, {})
save(comparison(passports), Path(output.figure), f"passports of {', '.join(passport.facts['name'] for passport in passports)}")
picture = Path(output.figure).read_bytes()
with checksummed(output.page) as temporary:
    text = page(tables, passports, picture, pretraining, Path(files.template))
    temporary.write_text(text, encoding="utf-8")
