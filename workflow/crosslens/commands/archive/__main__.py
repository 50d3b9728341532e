"""Write the archive of a folder of results, or verify one.

python -m crosslens.commands.archive pack RESULTS FILE ("": crosslens-PRESET.zip)
python -m crosslens.commands.archive verify FILE
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from crosslens.commands.archive.artefacts import is_table
from crosslens.commands.archive.packing import pack
from crosslens.commands.archive.verification import Unpacked, unpack
from crosslens.jobs.errors import DataError, shown
from crosslens.jobs.files import sha256
from crosslens.jobs.machine import revision
from crosslens.jobs.quantities import duration, readable


def write(results: Path, file: Path) -> int:
    """Write an archive and print what is in it; return the exit status."""
    missing, stale = pack(results, file)
    print(f"{file}: {readable(file.stat().st_size)}, sha256 {sha256(file)}, revision {revision()}")
    if missing:
        print(f"not built, and so not in it: {', '.join(missing)}")
    if stale:
        print(f"in it as they are, though this configuration and code would make them again: {', '.join(stale)}")
    return 0


def verify(file: Path) -> int:
    """Verify an archive and print each file that differs; return the exit status."""
    start = time.monotonic()
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        faults, archive = unpack(file, folder), Unpacked(folder)
        faults = faults or archive.contradictions()
        print(f"{file}: files that are not as archived: {len(faults) or 'none'}", flush=True)
        for place, fault in sorted(faults.items()):
            print(shown(f"{place}: {fault}", 1000))
        if faults:
            print("nothing was recomputed, since not everything is as archived")
            return 1
        archive.rebuild()
        differing = archive.differing()
        for place in differing:
            print(f"{place}: recomputed, it has other values")
        remade = (*archive.rebuilt, *archive.summaries)
        measures = [place for place in remade if place.startswith("measures/")]
        print(f"recomputed: {len(remade) - len(measures)} tables and {len(measures)} files of measures")
        print(f"of these differ: {len(differing) or 'none'}")
        kinds = dict.fromkeys(place.split("/")[1] for place in archive.kept if place.startswith("measures/"))
        print("not recomputed, since what they are made from is not in the archive:")
        print(f"  tables: {', '.join(filter(is_table, archive.kept)) or 'none'}")
        print(f"  measures: {', '.join(kinds) or 'none'}")
    print(f"in {duration(time.monotonic() - start)}")
    return 1 if differing else 0


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
