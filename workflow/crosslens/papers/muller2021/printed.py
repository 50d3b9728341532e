"""muller2021: places of the printed cells in our tables."""

from crosslens.papers.muller2021.names import ALL_EMBEDDINGS, FROM_ZERO, HEADS, TASKS
from crosslens.reports.paper import Place, same_place

IN_TEXT = {
    "EN->EN layers 1-2 parsing": ("table1", "EN->EN", "delta 1-2"),
    "EN->X layers 1-2 parsing": ("table1", "EN->X", "delta 1-2"),
    "EN->EN upper layers parsing": ("table1", "EN->EN", "delta 11-12"),
    "EN->X upper layers parsing": ("table1", "EN->X", "delta 11-12"),
    "EN->EN Lit first two layers parsing": ("table2", "EN->EN LIT.", "delta 1-2"),
    "EN->FR first two layers parsing": ("table2", "EN->FR TRAN.", "delta 1-2"),
}
"""Row of the published values from section 4.1 -> item, row and column in our tables."""
CORRELATION = "rho(score, CKA)"  # has the sign of the printed correlations


def place(cell: Place) -> Place | None:
    """Place of a printed cell in our tables, which count layers from 1, while some printed tables count from 0."""
    if cell.item == "text section 4.1":
        return Place(*IN_TEXT[cell.row], cell.metric)
    if cell.item == "text section 4.3":
        task = next(name for name in TASKS.values() if name.casefold() == cell.column.casefold())
        return Place("table4", task, "fine-tuned", CORRELATION)
    if cell.item == "table4":
        return cell._replace(metric=CORRELATION)
    if cell.item == "table5" and cell.column == "ALL":
        return cell._replace(column=HEADS[ALL_EMBEDDINGS])
    if cell.item in FROM_ZERO and cell.column.startswith("delta "):
        first, last = cell.column.removeprefix("delta ").split("-")
        return cell._replace(column=f"delta {int(first) + 1}-{int(last) + 1}")
    return same_place(cell)
