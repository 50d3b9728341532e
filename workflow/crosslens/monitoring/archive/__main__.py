"""Write the archive of a folder of results, or verify one.

python -m crosslens.monitoring.archive pack RESULTS FILE ("": crosslens-SCALE.zip)
python -m crosslens.monitoring.archive verify FILE
"""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from crosslens.monitoring.archive.contents import tables
from crosslens.monitoring.archive.packing import pack
from crosslens.monitoring.archive.verification import Unpacked, unpack
from crosslens.runs.errors import DataError, shown
from crosslens.runs.machine import revision
from crosslens.runs.quantities import duration, readable
from crosslens.storage.files import sha256


def write(results: Path, file: Path) -> int:
    """Write an archive and say what is in it; return the exit status."""
    missing, stale = pack(results, file)
    print(f"{file}: {readable(file.stat().st_size)}, sha256 {sha256(file)}, revision {revision()}")
    if missing:
        print(f"not built, and so not in it: {', '.join(missing)}")
    if stale:
        print(f"in it as they are, though this configuration and code would make them again: {', '.join(stale)}")
    return 0


def verify(file: Path) -> int:
    """Verify an archive and say what differs; return the exit status."""
    start = time.monotonic()
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        faults, archive = unpack(file, folder), Unpacked(folder)
        print(f"{file}: files that are not as archived: {len(faults) or 'none'}", flush=True)
        for place, fault in sorted(faults.items()):
            names = ", ".join(archive.tables_from(place))
            print(shown(f"{place}: {fault}", 1000) + f"; made from it: {names}" * bool(names))
        if faults:
            print("nothing was made again, since not everything is as archived")
            return 1
        archive.rebuild()
        rows, different = Counter[str](), 0
        for place in (*archive.rebuilt, *archive.summaries):
            number, lines = archive.compared(place)
            rows[_unit(place)] += number
            different += len(lines)
            for line in lines:
                print(f"{place}: {line}")
        counts = ", ".join(f"{number:,} {unit}" for unit, number in rows.items())
        print(f"made again: {counts}; of these differ: {different or 'none'}")
        as_archived = [place for place in archive.artefacts.seals if place not in {*archive.rebuilt, *archive.summaries}]
        print("not made again, since what they are made of is not in the archive, or not as archived:")
        print(f"  tables: {', '.join(tables(as_archived)) or 'none'}")
        kinds = dict.fromkeys(place.split("/")[1] for place in as_archived if place.startswith("measures/"))
        print(f"  measures: {', '.join(kinds) or 'none'}")
    print(f"in {duration(time.monotonic() - start)}")
    return 1 if different else 0


def _unit(place: str) -> str:
    """Name of the rows of a measure or table, in the plural."""
    if place.startswith("measures/"):
        return "records of measures"
    return {"claims.csv": "verdicts", "scoreboard.csv": "lines of the scoreboard"}.get(place, "cells of tables")


def main(arguments: Sequence[str]) -> None:
    """Write or verify an archive. arguments: pack, a folder of results and a file; or verify and a file."""
    try:
        match arguments:
            case ["pack", results, file]:
                sys.exit(write(Path(results), Path(file or f"crosslens-{Path(results).name}.zip")))
            case ["verify", file]:
                sys.exit(verify(Path(file)))
    except DataError as error:
        sys.exit(f"archive: {error}")
    sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
