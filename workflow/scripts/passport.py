"""Write the page of a passport, its picture and its exchange file."""

from pathlib import Path

from crosslens.jobs import logs
from crosslens.jobs.checksums import checksummed
from crosslens.jobs.records import write_json
from crosslens.papers.passport.exchange import exchange
from crosslens.papers.passport.facts import Passport
from crosslens.papers.passport.figure import figure
from crosslens.papers.passport.page import page
from crosslens.papers.passport.pretraining import Pretraining
from crosslens.reports.figures.save import save

files, output = snakemake.input, snakemake.output
logs.start(snakemake.log[0], output.page)
table, pretraining = Path(files.table), Pretraining.read(Path(files.pretraining))
passport = Passport.read(table)
save(figure(passport), Path(output.figure), f"passport {passport.facts['version']} of {passport.facts['name']}")
write_json(exchange(passport, pretraining, table), Path(output.exchange))
with checksummed(output.page) as temporary:
    text = page(passport, Path(output.figure).read_bytes(), pretraining, Path(files.template))
    temporary.write_text(text, encoding="utf-8")
