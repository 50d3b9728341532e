"""How the workflow grows with 1, 2 and 4 times as many languages, texts, seeds and papers.

    python benchmarks/growth.py                 plans of the demo, and of the published study with all papers and searches
    python benchmarks/growth.py --stand-ins     the demo with stand-ins for its scripts, which only put a file in each place
    python benchmarks/growth.py --build         the tests' tiny study, built

Stand-ins leave Snakemake's work alone: it chooses, starts and records jobs. Papers differ, so that their row has no exponent.
The exponent p is that of a + b n**p, which goes through all three values: 1 where twice as many add twice as much.
"""

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))

from crosslens.commands.planned_jobs import FILE as PLAN
from crosslens.config.presets import read_yaml

ROOT = Path(__file__).resolve().parents[1]
DEMO, TINY, PUBLISHED = "demo", "tests/workflow", "profiles"  # folders of scales; the last one has no overlay
SIZES = (1, 2, 4)
LANGUAGES = ("de", "en", "tr", "fr", "ar", "es", "hi", "ru", "zh", "id", "it", "ja")  # XNLI has the first nine
FEWEST = {DEMO: 3, TINY: 2}  # languages, a quarter of the most
TEXTS = ("train", "dev", "test", "parallel", "articles", "nli_train", "nli_dev", "nli_test")
PAPERS = ("tanti2021", "liang2021", "wu2019", "muller2021")
SEARCHES = ("table5_search", "muller2021/table3_search", "wu2019/search")
MAIN = """
import atexit, os, sys
from snakemake.cli import main
atexit.register(lambda: print(sum(os.times()[2:4]), file=sys.stderr))
main()
"""
STAND_IN = '''"""Something in the place of each output, checksummed as by its job."""

from pathlib import Path

from crosslens.jobs.checksums import seal

for output in map(Path, snakemake.output):
    (output.parent if output.suffix else output).mkdir(parents=True, exist_ok=True)
    (output if output.suffix else output / "en.test.parquet").write_text(str(output))
    seal(output)
'''


class Cost(NamedTuple):
    """Cost of a call of Snakemake."""

    jobs: int
    snakemake: float  # CPU seconds of Snakemake's process
    scripts: float  # CPU seconds of the processes that it started
    memory: float  # MiB, of the largest process
    disk: float  # MiB of the results


class Study(NamedTuple):
    """A scale, overlays of its configuration, and what is asked of it."""

    scale: str
    overlays: Sequence[Mapping[str, Any]]
    targets: Sequence[str]


def studies(scale: str) -> Iterator[tuple[str, list[Study]]]:
    """Yield what varies, and studies of a scale with 1, 2 and 4 times as much of it: of the headline, but for papers."""
    values, fewest = read_yaml(ROOT / scale / "overlay.yaml"), languages(scale, FEWEST[scale])
    reports = [f"{values['results']}/{folder}report.html" for folder in ("", *(f"{paper}/" for paper in PAPERS[1:]))]
    yield "languages", [Study(scale, [languages(scale, size * FEWEST[scale])], reports[:1]) for size in SIZES]
    yield "texts", [Study(scale, [fewest, texts(values, size)], reports[:1]) for size in SIZES]
    yield "seeds", [Study(scale, [fewest, {"seeds": list(range(size))}], reports[:1]) for size in SIZES]
    yield "papers", [Study(scale, [], reports[:size]) for size in SIZES]


def texts(values: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Overlay in which the synthetic corpus writes, and corpora take, so many times as many texts as in values, those of a scale."""
    return {
        "synthetic": {key: values["synthetic"][key] * size for key in TEXTS},
        "corpora": {"wikipedia": {"paragraphs": values["corpora"]["wikipedia"]["paragraphs"] * size}},
    }


def languages(scale: str, number: int) -> dict[str, Any]:
    """Overlay in which the headline's corpora have so many languages; the synthetic corpus has as many as the largest study."""
    most, chosen = LANGUAGES[: FEWEST[scale] * SIZES[-1]], sorted(LANGUAGES[:number])
    corpora = {"udpos": chosen, "wikipedia": chosen, "xnli": sorted(LANGUAGES[: min(number, 9)])}
    return {
        "synthetic": {"languages": sorted(most)},
        "corpora": {corpus: {"languages": codes} for corpus, codes in corpora.items()},
    }


def call(root: Path, folder: Path, study: Study, *options: str) -> Cost:
    """Call Snakemake for a study in a folder. root: a copy of the repository. Raises SystemExit with what it said on an error."""
    files, plan = [root / "config.yaml", root / study.scale / "overlay.yaml"], folder / "plan.jsonl"
    for number, overlay in enumerate(study.overlays):
        files.append(folder / f"overlay{number}.yaml")
        files[-1].write_text(yaml.safe_dump(dict(overlay)))
    plan.unlink(missing_ok=True)
    command = [sys.executable, "-c", MAIN, "--snakefile", root / "Snakefile", "--workflow-profile", root / "profiles/default",
               "--cores", "2", *options, "--configfile", *filter(Path.is_file, files), "--", *study.targets]  # fmt: skip
    environment = os.environ | {PLAN: str(plan), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        list(map(str, command)), cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    messages = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(messages)
    scripts = float(messages.splitlines()[-1])
    jobs = len(plan.read_text().splitlines()) - 1  # its first line is the configuration
    disk = sum(file.stat().st_size for file in (folder / "results").rglob("*") if file.is_file())
    return Cost(jobs, usage.ru_utime + usage.ru_stime - scripts, scripts, usage.ru_maxrss / 2**10, disk / 2**20)


def costs(root: Path, folder: Path, study: Study, runs: bool, repeats: int) -> dict[str, float]:
    """Quantities of a study in an empty folder, by name. runs: whether its jobs are run; repeats: of each plan, for a median."""
    plans = [call(root, folder, study, "-n") for _ in range(repeats)]
    planning = median(plan.snakemake for plan in plans)
    quantities = {"jobs": plans[0].jobs, "planning, CPU seconds": planning}
    if runs:
        run = call(root, folder, study)
        quantities |= {
            "Snakemake in a run, without planning, CPU seconds": run.snakemake - planning,
            "scripts, CPU seconds": run.scripts,
            "largest process, MiB": run.memory,
            "disk, MiB": run.disk,
            "planning what is built, CPU seconds": median(call(root, folder, study, "-n").snakemake for _ in range(repeats)),
        }
    return quantities


def exponent(values: Sequence[float]) -> float | None:
    """Exponent p of a + b n**p through values of three sizes, each twice the one before; None where they grow less than 3 %."""
    once, twice, four_times = values
    if min(twice - once, four_times - twice) < 0.03 * once:
        return None
    return math.log2((four_times - twice) / (twice - once))


def row(name: str, quantity: str, values: Sequence[float]) -> str:
    """Line of the table: a quantity at each size, and the exponent of its growth."""
    cells = [f"{value:,.0f}" if value >= 100 or quantity == "jobs" else f"{value:.1f}" for value in values]
    power = None if name == "papers" else exponent(values)
    return f"| {name} | {quantity} | {' | '.join(cells)} | {'' if power is None else f'{power:.1f}'} |"


def copy(target: Path, stand_ins: bool) -> Path:
    """Copy of what Snakemake reads of the repository. stand_ins: whether scripts only put a file in the place of each output."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".*", "results", "tests", "docs"), symlinks=True)
    shutil.copytree(ROOT / TINY, target / TINY)
    for script in (target / "workflow/scripts").glob("*.py") if stand_ins else ():
        script.write_text(STAND_IN)
    return target


def main() -> None:
    """Print a table of costs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stand-ins", action="store_true", help="run the demo's jobs, which only put a file in each place")
    parser.add_argument("--build", action="store_true", help="build the tests' tiny study")
    parser.add_argument("--only", choices=("languages", "texts", "seeds", "papers"), help="vary this alone")
    parser.add_argument("--repeats", type=int, default=3, help="of each plan, for a median")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root, folder = copy(Path(temporary, "repository"), settings.stand_ins), Path(temporary, "study")

        def cost(study: Study) -> dict[str, float]:
            folder.mkdir()
            quantities = costs(root, folder, study, settings.build or settings.stand_ins, settings.repeats)
            shutil.rmtree(folder)
            print(f"# {quantities}", file=sys.stderr, flush=True)
            return quantities

        folder.mkdir()
        call(root, folder, Study(DEMO, [], ["demo_all"]), "-n")  # the first plan in a copy of the repository reads all code
        shutil.rmtree(folder)
        print("| what grows | quantity | once | twice | 4 times | exponent |\n|---|---|---|---|---|---|")
        for name, variants in studies(TINY if settings.build else DEMO):
            if settings.only in (None, name):
                quantities = [cost(study) for study in variants]
                for quantity in quantities[0]:
                    print(row(name, quantity, [values[quantity] for values in quantities]), flush=True)
        if not (settings.build or settings.stand_ins or settings.only):
            targets = ["demo_all", *(f"results/{name}.html" for name in SEARCHES)]
            jobs, seconds = cost(Study(PUBLISHED, [], targets)).values()
            print(f"\nthe published study, all papers and searches: {jobs:,} jobs, planned in {seconds:.1f} CPU seconds")


if __name__ == "__main__":
    main()
