"""Print the cost of a run.

python -m crosslens.monitoring.cost [TARGET ...] [--profile NAME] [--card NAME] [options of snakemake]
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from joblib import cpu_count
from rich.console import Console
from rich.table import Table

from crosslens.config.scales import read_yaml, scales
from crosslens.monitoring.cost import rehearsal
from crosslens.monitoring.cost.bill import Bill, Biller, Line
from crosslens.monitoring.cost.rehearsal import Rehearsal
from crosslens.monitoring.cost.speed import Card, speed
from crosslens.monitoring.plan import plan
from crosslens.runs.errors import DataError
from crosslens.runs.quantities import duration, readable
from crosslens.sources.registry import load

ASSUMED = "a100"  # card of a cluster, where none is named: its login node says nothing of its nodes


def spent(seconds: list[float]) -> str:
    """Likely time, and the range in which it lies: 17 h (5.5 to 50)."""
    if not seconds[1]:
        return ""
    unit, size = ("h", 3600) if seconds[1] >= 3600 else ("min", 60)
    low, likely, high = (f"{time / size:,.0f}" if time >= 10 * size else f"{time / size:.2g}" for time in seconds)
    return f"{likely} {unit} ({low} to {high})"


def table(bill: Bill, machine: str) -> Table:
    """Table with a row for each rule, and one for all."""
    bill_table = Table("rule", title=f"What would run, and what it takes on {machine}", title_justify="left")
    for column in ("jobs", "trainings", "with an encoder", "the longest", "others", "memory requested", "disk"):
        bill_table.add_column(column, justify="right")
    for line in [*bill.lines, bill.total]:
        if line is bill.total:
            bill_table.add_section()
        bill_table.add_row(line.rule, *_cells(line))
    return bill_table


def _cells(line: Line) -> list[str]:
    longest = duration(line.longest) if line.longest >= 60 else ""
    memory = readable(line.memory * 10**6) if line.memory else ""
    counts = [f"{line.jobs:,}", f"{line.trainings:,}" if line.trainings else ""]
    return [*counts, spent(line.encoders), longest, spent(line.others), memory, readable(int(line.disk))]


def announcement(profile: str | None, targets: list[str], card: str | None) -> Iterator[str]:
    """Sentences for the time before the bill: what is planned, how something else is, and that this machine is measured.

    targets: as on the command line, [] for the default one; card: of the bill, None for this machine. Raises DataError where a
    profile cannot be read.
    """
    subject = " ".join(targets) or "all tables and figures of tanti2021 (TARGET= names others)"
    profiles = ", ".join(scale.profile for scale in scales(Path()))
    scale = f"with --profile {profile}" if profile else f"of the published study on this machine (PROFILE= one of {profiles})"
    yield f"Planning {subject} {scale}."
    if card is None:
        yield "Then this machine is measured, the first time for a minute; CARD=h100 (or --card) prices a card instead."


def main(arguments: list[str]) -> None:
    """Ask Snakemake for the plan and print the bill."""
    parser = argparse.ArgumentParser(prog="crosslens.monitoring.cost", description=__doc__)
    parser.add_argument("--profile")
    parser.add_argument("--card", help=f"a GPU: {', '.join(Card.PEAKS)}; otherwise this machine is measured, for a minute")
    named_options, options = parser.parse_known_args(arguments)
    profile = Path(named_options.profile or "profiles/default", "config.yaml")
    cluster = profile.is_file() and "executor" in read_yaml(profile)
    card = named_options.card or (ASSUMED if cluster else None)
    try:
        if profile.is_file():  # otherwise it may be a misspelt one, which the plan's error says
            targets = options[options.index("--") + 1 :] if "--" in options else options
            print(*announcement(named_options.profile, targets, card), sep="\n", flush=True)
        # As many cores as here: with fewer than a job's threads Snakemake would plan, and the probe measure, fewer threads.
        where = ["--profile", named_options.profile] if named_options.profile else ["--cores", str(cpu_count())]
        config, jobs = plan([*where, *options])
        if config.rehearse:
            _, jobs = plan([*where, "--forceall", *options])
        if not jobs:
            print("cost: everything is built; nothing would run")
            return
        console = Console(width=None if sys.stdout.isatty() else 140)
        biller, machine = Biller(config, speed(card), load(additions=config.sources)), card or "this machine"
        if config.rehearse:
            console.print(rehearsal.table(Rehearsal(biller).rows(jobs), config.rehearse, machine))
            return
        bill = biller.bill(jobs)
    except DataError as error:
        sys.exit(f"cost: {error}")
    console.print(table(bill, machine))
    assumptions = list(bill.assumptions)
    if card and not named_options.card:
        assumptions.insert(0, f"Card: none was named, so {ASSUMED} is assumed; CARD=h100 (or --card) names another.")
    if bill.total.checkpoint:
        weights, checkpoint = (readable(int(size)) for size in (bill.total.weights, bill.total.checkpoint))
        assumptions.append(
            f"Disk: {weights} of it are weights of trained models, kept where later jobs read them. A running training also has "
            f"a checkpoint of {checkpoint} at most, removed at its end."
        )
    for line in assumptions:
        console.print(f"- {line}", soft_wrap=True, highlight=False, markup=False)


if __name__ == "__main__":
    main(sys.argv[1:])
