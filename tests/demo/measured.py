"""Measures of the demo that its tests read; what is there already is not made again."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy import stats

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results/demo"
SEEDS = (0, 1, 2)


def measured(names: Iterable[str], *options: str) -> list[Path]:
    """Build files of the measures of the demo and return their paths. options: of Snakemake."""
    files = [RESULTS / f"measures/{name}.parquet" for name in names]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = [sys.executable, "-m", "snakemake", "--profile", "demo", *options, "--"]
    targets = [str(file.relative_to(ROOT)) for file in files]
    subprocess.run([*command, *targets], cwd=ROOT, env=os.environ | {"PATH": path}, check=True)
    return files


def below(lower: np.ndarray, higher: np.ndarray) -> bool:
    """Whether the differences of the seeds, paired, are below zero in every seed and by a one-sided t test at 5 %."""
    return bool((lower < higher).all() and stats.ttest_rel(lower, higher, alternative="less").pvalue < 0.05)
