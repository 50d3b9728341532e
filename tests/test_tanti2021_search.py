"""tanti2021: the random search of hyperparameters and tables 4 and 5."""

import hashlib
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from crosslens.config.heads import LANGUAGE, TASK
from crosslens.numerics.definitions import ACCURACY, MACRO_F1
from crosslens.papers.configuration import load
from crosslens.papers.tanti2021 import recipes
from crosslens.papers.tanti2021.names import PAPER_F1
from crosslens.papers.tanti2021.search import grid, published_run, selected_values, trial_lines
from crosslens.reports.cells import Published, table
from goldens import assert_golden

ROOT = Path(__file__).parents[1]
PRINTED = ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation")
SHARED = ("init_sd", "batch", "head_rate")
# Of the authors' repository at 7b64d0a, experiments/hyperparam_search/*/parameter_space.txt, alike for both tasks: sha256 of its
# sets in their order, a line each, our names in alphabetical order.
AUTHORS_SETS = {
    "frozen": "750ecd06aefd8481a5a48c6a967526346617c38c0e071fc8b43dd22ce6593bed",
    "finetuned": "d61b4c201c011b123688358ebc432e1c5ecd5c618cd5030d51a981ed269e5e9f",
    "gradient_reversal": "658f0742b6e59ff29e324d37b436de294b6968e0415869ba2d054bd45e308b84",
    "entropy_maximisation": "86d84b875235c63f379b2a6ea443351f9dd87d1c67e6ed71d522e12e0cc0bf69",
}
# Which of them table 5 prints: the best of results.csv beside it.
AUTHORS_CHOICE = {
    ("pos", "frozen"): 13, ("pos", "finetuned"): 4, ("pos", "gradient_reversal"): 13, ("pos", "entropy_maximisation"): 1,
    ("nli", "frozen"): 18, ("nli", "finetuned"): 2, ("nli", "gradient_reversal"): 13, ("nli", "entropy_maximisation"): 10,
}  # fmt: skip


@pytest.fixture(scope="module")
def published():
    return Published.read(ROOT / "resources" / "published" / "tanti2021.csv")


def searching(values, **search):
    """The configuration with another search."""
    paper = values["papers"]["tanti2021"]
    return load(values | {"papers": {"tanti2021": paper | {"search": paper["search"] | search}}})


def resolve(name, config):
    """A training run or a trial by name."""
    return (recipes.recipes(config) | trials_by_name(config))[name]


def trials_by_name(config):
    """The trials, whichever share a job."""
    return {trial.name: trial for job in recipes.trials(config).values() for trial in job}


def trials(config):
    """Hyperparameters of the trials by name."""
    return {name: recipe.trial for name, recipe in trials_by_name(config).items()}


# The draw.


def test_every_printed_experiment_has_twenty_trials(config):
    drawn = trials(config)
    assert list(drawn) == [
        f"tanti2021/{task}/{run}/trials{i:02d}/trial{i:02d}" for task in ("pos", "nli") for run in PRINTED for i in range(20)
    ]
    assert not set(drawn) & set(recipes.recipes(config))  # their weights are not kept


@pytest.mark.parametrize("run", PRINTED)
@pytest.mark.parametrize("task", ["pos", "nli"])
def test_trials_are_the_authors_own_twenty_sets_in_their_order(config, published, task, run):
    drawn = [each for name, each in trials(config).items() if name.startswith(f"tanti2021/{task}/{run}/")]
    lines = (",".join(f"{key}={value:g}" for key, value in sorted(each.items())) for each in drawn)
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == AUTHORS_SETS[run]
    assert drawn.index(published_run(published, task, run)) == AUTHORS_CHOICE[task, run]


def test_a_search_as_large_as_the_grid_takes_it_whole(values):
    small = {"init_sd": [0.1, 0.01], "batch": [64], "head_rate": [0.1, 0.001, 0.01], "encoder_rate": [1e-4, 1e-5]}
    drawn = trials(searching(values, experiments=["pos/frozen", "nli/finetuned"], trials=99, **small))
    points = {run: [tuple(each.values()) for name, each in drawn.items() if run in name] for run in ("frozen", "finetuned")}
    assert sorted(points["frozen"]) == sorted(product([0.1, 0.01], [64], [0.1, 0.001, 0.01]))
    assert sorted(points["finetuned"]) == sorted(product([1e-4, 1e-5], [0.1, 0.01], [64], [0.1, 0.001, 0.01]))


def test_a_draw_depends_on_its_seed_and_run_alone(values, config):
    every = trials(config)
    assert trials(config) == every
    one = trials(searching(values, experiments=["nli/frozen"]))
    assert one == {name: each for name, each in every.items() if name.startswith("tanti2021/nli/frozen/")}
    assert trials(searching(values, seed=1)) != every


def test_trials_that_share_a_job_are_the_same_trials(values, config):
    alone, jobs = trials_by_name(config), recipes.trials(searching(values, trials_per_job=8))
    frozen = [[trial.name for trial in job] for name, job in jobs.items() if name.startswith("tanti2021/pos/frozen/")]
    assert frozen == [
        [f"tanti2021/pos/frozen/trials{first:02d}/trial{i:02d}" for i in range(first, min(first + 8, 20))] for first in (0, 8, 16)
    ]
    for together, one in zip([trial for job in jobs.values() for trial in job], alone.values(), strict=True):
        assert together == one.model_copy(update={"name": together.name})


# The training runs.


@pytest.mark.parametrize(("task", "corpus", "languages"), [("pos", "udpos", 29), ("nli", "xnli", 14)])
@pytest.mark.parametrize("run", PRINTED)
def test_a_trial_is_the_task_stage_alone_scored_on_dev(config, task, corpus, languages, run):
    name = f"tanti2021/{task}/{run}/trials07/trial07"
    of, plain, point = resolve(name, config), resolve(f"tanti2021/{task}/{run}", config), trials(config)[name]
    (stage,) = of.stages
    assert of.name == name and stage.name == "task"
    assert [(score.head, score.data.corpus, score.data.split, len(score.data.languages)) for score in of.scores] == [
        (TASK, corpus, "dev", languages)
    ]
    assert not [file for file in of.files() if file[2] == "test"]
    assert list(of.heads) == [TASK, LANGUAGE]
    assert (of.init_sd, stage.batch, stage.head_rate) == tuple(point[key] for key in SHARED)
    assert stage.encoder_rate == point.get("encoder_rate", 0)
    terms = [term for phase in stage.phases for term in phase.terms]
    assert [term.reversal for term in terms if term.reversal] == [point[key] for key in ("reversal",) if key in point]
    assert [term.weight for term in terms if term.loss == "uniformity"] == [point[key] for key in ("uniformity",) if key in point]
    # All else is the training run that is searched for.
    assert [phase.update for phase in stage.phases] == [phase.update for phase in plain.stages[0].phases]
    assert (stage.epochs, stage.select_data) == (plain.stages[0].epochs, plain.stages[0].select_data)
    assert (of.units, of.dropout, of.select_by) == (plain.units, plain.dropout, plain.select_by)


# Tables 4 and 5.


def cells(lines):
    """Lines as a table."""
    return table([*lines], "tanti2021", "table")


def printed(published, item):
    rows = published.table[published.table["item"] == item]
    return {(cell.row, cell.column): float(cell.value) for cell in rows.itertuples()}


def places(found, column):
    values = found.dropna(subset=[column])
    return dict(zip(zip(values["row"], values["column"], strict=True), values[column], strict=True))


def test_table_4_is_the_printed_grid(config, published):
    made = cells(grid(config.papers.tanti2021.search.model_dump(), published))
    assert len(made) == 22 and (made["difference"] == 0).all()
    assert places(made, "here") == places(made, "published") == printed(published, "table4")


def runs_of(config):
    return {
        task: {run: values.model_dump() for run, values in of.runs.items()} for task, of in config.papers.tanti2021.tasks.items()
    }


def test_table_5_is_the_printed_choice(config, published):
    made = cells(selected_values(runs_of(config), published))
    assert len(made) == 34
    assert places(made, "here") == places(made, "published") == printed(published, "table5")


def test_table_5_shows_where_a_training_is_another(config, published):
    tasks = runs_of(config)
    tasks["nli"]["finetuned"] |= {"batch": 8, "encoder_rate": None}
    made = cells(selected_values(tasks, published)).set_index(["row", "column"])
    line = made.loc["XNLI fine-tuned", "Minibatch size"]
    assert (line["here"], line["published"]) == (8, 64)
    line = made.loc["XNLI fine-tuned", "mBERT learning rate"]
    assert pd.isna(line["here"]) and line["published"] == 1e-5


# Table 5 by search.


def record(recipe, value, definition=MACRO_F1):
    return {"recipe": recipe, "definition": definition, "value": value, "low": value - 0.02, "high": value + 0.01, "n": 9}


def shown(drawn):
    """Trials as the table's settings have them."""
    for name, trial in drawn.items():
        _, task, run, _, number = name.split("/")
        yield name, {"task": task, "run": run, "trial": number} | trial


@pytest.fixture(scope="module")
def search(values):
    """Two experiments of four trials with planted dev scores; two are best to two places alike."""
    drawn = dict(shown(trials(searching(values, experiments=["pos/frozen", "nli/gradient_reversal"], trials=4))))
    scores = dict(zip(drawn, [0.3, 0.51231, 0.1, 0.51234, 0.7, 0.2, 0.9, 0.9], strict=True))
    rows = [record(name, value) for name, value in scores.items()]
    rows += [record(name, 1 - value, PAPER_F1) for name, value in scores.items()]
    rows += [record(name, 0.99, ACCURACY) for name in scores]
    return drawn, pd.DataFrame(rows)


@pytest.mark.parametrize("definition", [MACRO_F1, PAPER_F1])
def test_trials_stand_best_first_above_the_printed_choice(search, published, definition):
    """The first of two equal trials wins, and one trial of each experiment is selected."""
    name = "trials" if definition == MACRO_F1 else "trials_by_another_score"
    assert_golden(cells(trial_lines(*search, published, definition)), f"tanti2021/{name}")
