"""Write the generated documents: python -m crosslens.commands.documents.

With --check, name those that are out of date and exit with status 1.
"""

import argparse
import sys
from pathlib import Path

from crosslens.commands.documents import configuration, errata, reports, templates, verdicts
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import written

ROOT = Path(__file__).parents[4]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m crosslens.commands.documents", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with status 1 if a document is out of date")
    parser.add_argument("--site", type=Path, help="write what the site alone has, front page and reports, into its copy of pages")
    options = parser.parse_args(arguments)
    try:
        front_page = templates.rendered(templates.environment(root), templates.FRONT_PAGE)
        if options.site:
            (options.site / "index.md").write_text(front_page, encoding="utf-8")
            reports.write(root, options.site)
            return 0
        errata.check(ROOT)
        texts = configuration.documents() | templates.documents(root) | verdicts.documents(root)
    except DataError as error:
        print(error)
        return 1
    stale = [name for name, text in texts.items() if not (root / name).is_file() or (root / name).read_text("utf-8") != text]
    for name in stale:
        if options.check:
            print(f"{name} is out of date with what it is generated from: run make docs")
        else:
            with written(root / name) as temporary:
                temporary.write_text(texts[name], encoding="utf-8")
            print(f"wrote {name}")
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
