"""Tables of made-up records, beside the files in tests/golden that somebody has checked.

After a change that is meant to move a table, write its file anew with GOLDEN=write in the environment, and read the difference.
"""

import os
from pathlib import Path

import pandas as pd

GOLDEN = Path(__file__).parent / "golden"


def assert_golden(table: pd.DataFrame, name: str) -> None:
    """The table is, byte for byte, the file of that name, a path below tests/golden without its ending."""
    path, text = GOLDEN / f"{name}.csv", table.to_csv(index=False, lineterminator="\n")
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    expected = path.read_text("utf-8").splitlines()
    assert text.splitlines() == expected
