"""tanti2021: the numbers that its authors released, as facts, and beside ours in tables by language and by epoch."""

from pathlib import Path

import pandas as pd
import pytest
from crosslens.jobs.checksums import write_checksums
from crosslens.numerics.definitions import ACCURACY, CHUNK_MACRO_F1, CHUNK_MICRO_F1, MACRO_F1, UNION_F1
from crosslens.papers.tanti2021 import recipes
from crosslens.papers.tanti2021.names import PAPER_F1, TASKS, column, recipe_name
from crosslens.papers.tanti2021.released import NATS, by_epoch, by_language, validation
from crosslens.papers.tanti2021.search import EXPERIMENTS, authors_name, authors_scores, published_run, trial_lines
from crosslens.reports.cells import Published
from goldens import assert_golden

ROOT = Path(__file__).parents[1]
RUNS = ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation")
COLUMNS = {recipe_name(task, run): column(task, run) for task in TASKS for run in RUNS}


@pytest.fixture(scope="module")
def published():
    return Published.read(ROOT / "resources" / "published" / "tanti2021.csv")


def facts(published, item):
    rows = published.table[published.table["item"] == item]
    return rows.assign(value=rows["value"].astype(float))


# The facts.


def test_so_many_numbers_are_released_each_with_its_file(published):
    """160 scores of the search, 188 by language, and of 8 runs 6 epochs of each head: F1 of 8 + 8 + 4, entropies of 8 + 4."""
    assert {item: len(facts(published, item)) for item in ("table5_search", "languages", "epochs")} == {
        "table5_search": 160, "languages": 188, "epochs": 6 * (8 + 8 + 4) + 6 * (8 + 4)
    }  # fmt: skip
    for item in ("table5_search", "languages", "epochs"):
        rows = facts(published, item)
        assert len(rows["note"].unique()) == 8 and rows["note"].str.endswith(".csv at 7b64d0a").all()
        assert not rows.duplicated(["row", "column", "metric"]).any()
        assert rows["value"].between(0, 100).all() and (rows["value"] < 3.4966).sum() >= (rows["unit"] == "nats").sum()


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("task", TASKS)
def test_scores_of_the_search_are_of_the_trials_here_and_the_best_is_table_5(config, published, task, run):
    experiment = f"{TASKS[task]} {EXPERIMENTS[run]}"
    scores = authors_scores(published, experiment)
    sampled = [trial.trial for job, trials in recipes.trials(config).items() for trial in trials if f"/{task}/{run}/" in job]
    assert list(scores) == [authors_name(each) for each in sampled] and len(scores) == 20
    best = max(scores, key=lambda name: scores[name])
    assert best == authors_name(published_run(published, task, run)) and sorted(scores.values())[-2] < scores[best]


def test_released_numbers_agree_with_the_printed_ones(published):
    """Scores by language with those over all texts, of English with the best epoch's; no entropy is above that of 33 classes."""
    languages, epochs = facts(published, "languages"), facts(published, "epochs")
    for name in COLUMNS.values():
        of_run = languages[languages["column"] == name].set_index("row")["value"]
        assert len(of_run) == (33 if "UDPOS" in name else 14)
        printed = published.value("table1" if name.endswith(("Init.", "Fine-T.")) else "table2", "Target task", name)
        least, most = (8, 12) if "UDPOS" in name else (0, 2)  # UDPOS has a few sentences of some languages
        assert least < printed - of_run.mean() < most, name
        task = epochs[epochs["row"] == f"{name}, task"].set_index("column")["value"]
        assert of_run["en"] == pytest.approx(task.max(), abs=3.5) and task.idxmax() != "epoch 0", name
    assert epochs[epochs["metric"] == "entropy"]["value"].max() <= 3.4966  # ln 33, rounded up


# Beside ours.


def records(values):
    """Records of the task: language -> value, of each definition."""
    common = {"measure": "score", "item": "task", "low": 0.1, "high": 0.9, "n": 7, "seed": 0}
    return pd.DataFrame([
        common | {"recipe": recipe, "language": language, "definition": definition, "value": value}
        for recipe in ("tanti2021/pos/frozen", "tanti2021/nli/finetuned")
        for language, value in values.items()
        for definition in (UNION_F1 if "nli" in recipe else CHUNK_MACRO_F1, MACRO_F1, ACCURACY, CHUNK_MICRO_F1)
    ])  # fmt: skip


def test_scores_by_language_stand_beside_the_released_ones(published):
    """Swedish is no language of the study, Afrikaans none of XNLI; texts that are cut and other heads are in other tables."""
    scores = records({"all": 0.99, "en": 0.98, "de": 0.01, "af": 0.5, "sv": 0.4})
    others = [scores.assign(measure="cut", definition="cut texts"), scores.assign(item="language")]
    assert_golden(pd.DataFrame(by_language(pd.concat([scores, *others]), COLUMNS, published)), "tanti2021/languages")


def histories(folder, seeds=(0,)):
    """Recipe, seed and history.csv of a training run: two epochs of the task, one of the language head."""
    stages = [("task", 0, 0.1), ("task", 1, 0.7), ("task", 2, 0.8), ("language", 0, 0.0), ("language", 1, 0.5),
              ("language 1e-03", 1, 1.0)]  # fmt: skip
    for seed in seeds:
        path = folder / f"{seed}.csv"
        rows = [{"stage": stage, "epoch": epoch, "score": score + seed / 10} for stage, epoch, score in stages]
        pd.DataFrame(rows).to_csv(path, index=False)
        write_checksums(path)
        yield "tanti2021/pos/frozen", seed, path


@pytest.mark.parametrize(("seeds", "select_by"), [((0,), PAPER_F1), ((0, 1), MACRO_F1)])
def test_validation_by_epoch_stands_beside_the_released_one(published, tmp_path, seeds, select_by):
    """Under the same score only; the rest is the authors' alone."""
    made = pd.DataFrame(by_epoch(validation(histories(tmp_path, seeds), COLUMNS), published, select_by))
    assert_golden(made[made["here"].notna()], f"tanti2021/epochs_{len(seeds)}")
    assert made["published"].notna().sum() == 192
    assert set(made[made["published"].notna()]["definition"]) == {PAPER_F1, NATS}


def test_trials_stand_beside_the_authors_score_of_the_same_set(config, published):
    """Under the paper's score, wherever in the order they are drawn; a set of ours alone has none."""
    trials = {trial.name: trial.trial for job in recipes.trials(config).values() for trial in job if "/nli/frozen/" in trial.name}
    shown = {name: {"task": "nli", "run": "frozen", "trial": name[-7:]} | values for name, values in reversed(trials.items())}
    shown["own"] = {"task": "nli", "run": "frozen", "trial": "own", "init_sd": 0.1, "batch": 7, "head_rate": 0.1}
    scores = pd.DataFrame(
        [{"recipe": name, "definition": definition, "value": 0.25} for name in shown for definition in (PAPER_F1, MACRO_F1)]
    )
    made = pd.DataFrame(trial_lines(shown, scores, published, PAPER_F1))
    made = made[made["column"] == "score"].set_index("row")
    released = authors_scores(published, "XNLI frozen")
    assert {row: made.loc[row, "published"] for row in made.index if ", trial" in row} == {
        f"XNLI frozen, {name[-7:]}": released[authors_name(values)] for name, values in trials.items()
    }
    assert pd.isna(made.loc["XNLI frozen, own", "published"])
    assert made.loc["XNLI frozen, published", "published"] == max(released.values()) == made["published"].max()
    made = pd.DataFrame(trial_lines(shown, scores, published, MACRO_F1))
    assert made[made["column"] == "score"]["published"].isna().all()
