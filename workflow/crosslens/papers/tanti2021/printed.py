"""tanti2021: where our tables show the cells that the paper prints and those that the authors released."""

from crosslens.papers.tanti2021.names import (
    CAPTIONS,
    CLUSTER_ROWS,
    FIGURES,
    HYPERPARAMETERS,
    PANELS,
    SCORE_ROWS,
    SEARCHED,
    TABLES,
    TASKS,
    column,
)
from crosslens.reports.paper import Place, same_place

POINTS = {  # row of appendix B -> metrics in our table for its maximum points per unit and its total points
    "UDPOS": ("points per label and language (pos)", "words (pos)"),
    "XNLI": ("points per label and language (nli)", "pairs (nli)"),
    "Wikipedia": ("points per language (pos)", "words (pos)"),
}
SIZES = {"UDPOS": "sentences", "XNLI": "pairs", "Wikipedia": "paragraphs"}


def place(cell: Place) -> Place | None:
    """Place of a printed cell in our tables.

    The captions of figures 3 to 6 are in tables 1 to 3, appendices A and B in dataset_sizes.
    """
    if cell.column == "caption":
        return _caption(cell)
    if cell.item == "table5_search":
        names = {authors_name: HYPERPARAMETERS[key] for key, authors_name in SEARCHED.items()}
        values = dict(part.split("=") for part in cell.column.split(","))
        settings = {names[name]: float(value) for name, value in values.items()}
        return Place(cell.item, f"{cell.row}, ", "score", "trial", settings=settings)
    if cell.item == "text" and cell.metric in ("micro F1", "accuracy"):
        return cell._replace(item="footnote6")
    if cell.metric == "size":
        return cell._replace(item="dataset_sizes", metric=SIZES[cell.row])
    if cell.metric in ("maximum points per unit", "total points"):
        return cell._replace(item="dataset_sizes", metric=POINTS[cell.row][cell.metric == "total points"])
    return same_place(cell)


def _caption(cell: Place) -> Place:
    """Place of a number from a panel's caption: V-measures are in table 3, others in the table that has the panel's run."""
    task = next(task for figure, (task, _) in FIGURES.items() if cell.item.startswith(figure))
    run = next(run for run, name in CAPTIONS.items() if cell.row.endswith(name))
    panel = next(item for item, name in PANELS.items() if f"{name.format(TASKS[task])} {CAPTIONS[run]}" == cell.row)
    rows = CLUSTER_ROWS if cell.metric == "V-measure" else SCORE_ROWS
    if cell.metric == "V-measure":
        table = "table3"
    else:
        table = next(name for name in ("table1", "table2") if run in TABLES[name].runs)
        panel = "task" if panel == "labels" else panel
    return Place(table, next(row for row, item in rows.items() if item == panel), column(task, run), cell.metric)
