"""Where muller2021's transfer lives, as far as it holds on the demo, over three seeds: `make test-demo`."""

import pandas as pd
import pytest
from crosslens.jobs.records import read
from measured import SEEDS, below, measured

pytestmark = pytest.mark.demo
TASK, DEFINITION, CORPUS = "pos", "accuracy", "pud"
LOWEST, UPPER = "init1-2", "init11-12"


@pytest.fixture(scope="module")
def losses() -> dict[str, pd.DataFrame]:
    """Points that drawing two blocks anew costs: set -> a line a seed, columns home (English) and across (the others' mean).

    Training runs of a seed that is there already are not repeated.
    """
    sets = ("ref", LOWEST, UPPER)
    names = [f"classification/muller2021/{TASK}/en/{of}" for of in sets]
    found = read(measured(names, "--config", f'papers={{"muller2021": {{"seeds": {list(SEEDS)}}}}}'))
    found = found[(found["corpus"] == CORPUS) & (found["definition"] == DEFINITION) & (found["language"] != "all")]
    assert sorted(set(found["seed"])) == list(SEEDS)
    scores = {}
    for of in sets:
        wide = found[found["recipe"].str.endswith(f"/{of}")].pivot(index="seed", columns="language", values="value")
        scores[of] = pd.DataFrame({"home": wide["en"], "across": wide.drop(columns="en").mean(axis=1)})
    return {of: 100 * (scores["ref"] - scores[of]) for of in (LOWEST, UPPER)}


def test_the_lowest_blocks_cost_more_across_languages_than_at_home(losses):
    of = losses[LOWEST]
    assert below(2 * of["home"].to_numpy().clip(0), of["across"].to_numpy())


def test_the_upper_blocks_cost_less_than_the_lowest(losses):
    assert below(losses[UPPER]["across"].to_numpy(), losses[LOWEST]["across"].to_numpy())
