"""Where muller2021's transfer lives, as far as it holds on the demo, over three seeds: `make test-demo`."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from crosslens.jobs.records import read
from scipy import stats

pytestmark = pytest.mark.demo
ROOT = Path(__file__).parents[2]
SEEDS = (0, 1, 2)
TASK, DEFINITION, CORPUS = "pos", "accuracy", "pud"
LOWEST, UPPER = "init1-2", "init11-12"


@pytest.fixture(scope="module")
def losses() -> dict[str, pd.DataFrame]:
    """Points that drawing two blocks anew costs: set -> a line a seed, columns home (English) and across (the others' mean).

    Training runs of a seed that is there already are not repeated.
    """
    sets = ("ref", LOWEST, UPPER)
    files = [f"results/demo/measures/classification/muller2021/{TASK}/en/{of}.parquet" for of in sets]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    seeds = f'papers={{"muller2021": {{"seeds": {list(SEEDS)}}}}}'
    subprocess.run(
        [sys.executable, "-m", "snakemake", "--profile", "demo", "--config", seeds, "--", *files],
        cwd=ROOT, env=os.environ | {"PATH": path}, check=True,
    )  # fmt: skip
    found = read(ROOT / file for file in files)
    found = found[(found["corpus"] == CORPUS) & (found["definition"] == DEFINITION) & (found["language"] != "all")]
    assert sorted(set(found["seed"])) == list(SEEDS)
    scores = {}
    for of in sets:
        wide = found[found["recipe"].str.endswith(f"/{of}")].pivot(index="seed", columns="language", values="value")
        scores[of] = pd.DataFrame({"home": wide["en"], "across": wide.drop(columns="en").mean(axis=1)})
    return {of: 100 * (scores["ref"] - scores[of]) for of in (LOWEST, UPPER)}


def above(higher: np.ndarray, lower: np.ndarray) -> bool:
    """Whether the differences of the seeds, paired, are above zero in every seed and by a one-sided t test at 5 %."""
    return bool((higher > lower).all() and stats.ttest_rel(higher, lower, alternative="greater").pvalue < 0.05)


def test_the_lowest_blocks_cost_more_across_languages_than_at_home(losses):
    of = losses[LOWEST]
    assert above(of["across"].to_numpy(), 2 * of["home"].to_numpy().clip(0))


def test_the_upper_blocks_cost_less_than_the_lowest(losses):
    assert above(losses[LOWEST]["across"].to_numpy(), losses[UPPER]["across"].to_numpy())
