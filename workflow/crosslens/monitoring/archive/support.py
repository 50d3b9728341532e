"""The files that each cell of a table, and each verdict, rests on."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa

from crosslens.monitoring.archive.comparison import as_text, cell_names, differing
from crosslens.papers.inputs import Inputs
from crosslens.reports.about import PRINTED, About
from crosslens.reports.cells import Published
from crosslens.reports.claims.ledger import read_ledger
from crosslens.reports.claims.plan import Plan, evidence_files
from crosslens.reports.paper import Item, Paper
from crosslens.reports.studies import Studies
from crosslens.storage import parquet

LEDGERS = Path(__file__).parents[2] / "papers"
COLUMNS = ("table", "cell", "file")
"""table, file: places below the results; cell: its row, column, metric and definition, or the name of a claim."""
NUMBERS = ("value", "low", "high")  # columns of a record that are scores or other numbers


def support(about: About, results: Path) -> pd.DataFrame:
    """The files on which each cell and each verdict that exists rests: a row of COLUMNS for each cell and file.

    A cell rests on a measure if it changes when all numbers of the measure do; it is found by making the table again from changed
    numbers. Files whose numbers cannot be changed, such as histories of trainings, are taken to support all cells of a table. A
    verdict rests on the tables and measures that its claim reads, and on those that show whether trainings have learned.
    """
    rows = []
    for place, (paper, name, item) in about.here.items.items():
        if item.form == "table" and (results / f"{place}.csv").exists() and item.needs:
            rows += [(f"{place}.csv", *row) for row in _cells(about.here, results, paper, name, item)]
    if (results / "claims.csv").exists():
        rows += [("claims.csv", *row) for row in _verdicts(about, results)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _cells(studies: Studies, results: Path, paper: Paper, name: str, item: Item) -> Iterator[tuple[str, str]]:
    """Cells of a table, each with the place of a file on which it rests; none where a file is missing."""
    groups = [studies.need_files(paper.key, need) for need in item.needs]
    tokens = {key: results / place for key, place in studies.item_tokens(paper, item).items()}
    draws = {key: results / "draws" / key for key in item.draws}
    tokenizer = results / studies.item_tokenizer(paper, item) if item.tokenizer else None
    published, cited = (_printed(key) for key in (paper.key, item.cites))
    module = import_module(f"crosslens.papers.{paper.key}.{item.module}")
    measured = (results / file for group in groups for file in group)
    if item.typology or not all(map(Path.exists, (*measured, *tokens.values(), *draws.values(), *filter(None, [tokenizer])))):
        return

    def cells(copies: Mapping[str, Path]) -> pd.DataFrame:
        files = [[copies.get(file, results / file) for file in group] for group in groups]
        inputs = Inputs(item.needs, files, published or Published.empty(), tokens, draws, tokenizer, cited=cited)
        return as_text(module.table(name, inputs, item.settings))

    usual = cells({})
    for group in {tuple(group): None for group in groups}:
        with TemporaryDirectory() as folder:
            copies = {file: Path(folder, f"{number}.parquet") for number, file in enumerate(group)}
            is_changed = [_write_changed(results / file, copy) for file, copy in copies.items()]
            is_affected = differing(usual, cells(copies)) if all(is_changed) else np.full(len(usual), True)
        yield from ((cell, file) for cell in cell_names(usual)[is_affected] for file in group)


def _printed(key: str | None) -> Published | None:
    """Printed values of a paper; None without a paper, or where it printed none."""
    file = PRINTED / f"{key}.csv"
    return Published.read(file) if file.is_file() else None


def _write_changed(file: Path, copy: Path) -> bool:
    """Write a copy of a file of records with other numbers; return False where it has no records.

    Each number x becomes a x + b, with a and b of its own row: scores stay scores, intervals stay around them, and neither
    differences nor means over rows are likely to stay equal.
    """
    if file.suffix != ".parquet" or not {*NUMBERS} <= {*parquet.schema(file).names}:
        return False
    rows = parquet.read(file)
    random = np.random.default_rng(0).uniform(size=len(rows))
    for column in NUMBERS:
        number = rows[column].to_numpy() * (0.4 + 0.4 * random) + 0.1 + 0.1 * random
        rows = rows.set_column(rows.column_names.index(column), column, pa.array(number, from_pandas=True))
    parquet.write(rows, copy)
    return True


def _verdicts(about: About, results: Path) -> Iterator[tuple[str, str]]:
    """Claims, each with the place of a table or measure that its verdict rests on."""
    plan = Plan(about, str(results))
    for paper in about.here.papers:
        file = LEDGERS / paper.key / "claims.yaml"
        if not file.is_file():
            continue
        ledger = read_ledger(file, plan.names(paper))
        for key, claim in ledger.claims.items():
            evidence = plan.evidence(paper, ledger.model_copy(update={"claims": {key: claim}}))
            places = dict.fromkeys(path.relative_to(results) for path in evidence_files(evidence) if path.exists())
            yield from ((f"{paper.key}-{key}", str(place)) for place in places)
