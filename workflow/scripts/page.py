"""Write a page of one or several tables and figures."""

from pathlib import Path

from crosslens.config.presets import read_yaml
from crosslens.jobs import logs
from crosslens.jobs.call import command
from crosslens.jobs.checksums import checksummed
from crosslens.reports.claims.decisions import main_result
from crosslens.reports.pages import page

output, inputs, settings = snakemake.output[0], snakemake.input, snakemake.params.settings
logs.start(snakemake.log[0], output)
terms = read_yaml(Path(inputs.terms))
with checksummed(output) as temporary:
    files, several = map(Path, inputs.shown), map(Path, inputs.several)
    tables = {file.stem: file for file in map(Path, inputs.shown) if file.suffix == ".csv"}
    result = "".join(main_result(Path(file), settings["names"], tables) for file in inputs.claims)
    text = page(settings, files, terms, command(output), several, Path(inputs.template), result)
    temporary.write_text(text, encoding="utf-8")
