"""wu2019: places of the printed cells in our tables."""

from crosslens.numerics.definitions import F1_BY_WINDOW
from crosslens.papers.wu2019.names import CELLS, TABLES, TASKS
from crosslens.reports.paper import Place, same_place


def place(cell: Place) -> Place | None:
    """Place of a printed cell in our tables: figure 1 is in figure1_cells; NER is scored by window, as in the released code."""
    if cell.item in CELLS.values():
        task = next(task for task, panel in CELLS.items() if panel == cell.item)
        return cell._replace(item="figure1_cells", row=f"{TASKS[task]}: {cell.row}")
    return cell._replace(definition=F1_BY_WINDOW) if cell.item == TABLES["ner"] else same_place(cell)
