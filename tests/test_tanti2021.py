"""tanti2021: recipes, scores, tables against the published values, figures."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from crosslens.config.tanti2021 import Clustering, Probe, Tsne
from crosslens.config.whole import load
from crosslens.measures.intervals import mean_interval
from crosslens.papers.recipes import names, resolve
from crosslens.papers.tanti2021.clusters import cluster_records
from crosslens.papers.tanti2021.figures import figure
from crosslens.papers.tanti2021.items import ACCURACY, COLUMNS, FIGURES, PAPER, PROBE_RANDOM, TABLES, TOKEN_F1, TRANSFER, V_PAPER
from crosslens.papers.tanti2021.probes import probe_records, spelling_records
from crosslens.papers.tanti2021.projection import projection
from crosslens.papers.tanti2021.scores import by_language_interval, prediction_records
from crosslens.papers.tanti2021.tables import table
from crosslens.recipes import ENCODER, LANGUAGE, TASK
from crosslens.states.files import States
from crosslens.training.run import PREDICTIONS

ROOT = Path(__file__).parents[1]
RUNS = ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation", "untrained")
PRINTED = RUNS[:4]


@pytest.fixture(scope="module")
def values():
    return yaml.safe_load((ROOT / "config.yaml").read_text())


@pytest.fixture(scope="module")
def config(values):
    return load(values)


@pytest.fixture(scope="module")
def published():
    return pd.read_csv(ROOT / "resources" / "published" / "tanti2021.csv")


# Recipes.


def recipe(run, config):
    return resolve(f"tanti2021/pos/{run}", config)


def test_names_of_recipes(config):
    assert names(config) == [f"tanti2021/pos/{run}" for run in RUNS]
    with pytest.raises(KeyError, match="no recipe"):
        resolve("tanti2021/ner/frozen", config)


@pytest.mark.parametrize("run", RUNS)
def test_every_run_has_a_task_stage_and_a_language_stage(run, config):
    of = recipe(run, config)
    task, language = of.stages
    assert (task.name, language.name) == ("task", "language")
    assert (task.epochs, language.epochs) == (5, 5)
    assert task.select_head == TASK and task.select_data.languages == ("en",) and task.select_data.split == "validation"
    assert task.new_heads == (TASK, LANGUAGE)
    assert language.new_heads == (LANGUAGE,)  # drawn anew, also after an adversary
    assert language.select_head == LANGUAGE and len(language.select_data.languages) == 33
    assert language.select_data.corpus == "wikipedia"
    assert [(phase.update, [term.head for term in phase.terms]) for phase in language.phases] == [((LANGUAGE,), [LANGUAGE])]
    assert not language.trains_encoder()
    assert language.head_rate == task.head_rate and language.batch == task.batch  # the task's, as in the authors' code
    assert [(score.head, score.data.corpus, score.data.split) for score in of.scores] == [
        (TASK, "udpos", "test"), (LANGUAGE, "udpos", "test"), (LANGUAGE, "wikipedia", "test")
    ]  # fmt: skip
    assert all(len(score.data.languages) == 33 for score in of.scores)
    assert of.dropout == 0.1
    assert len(of.labels[TASK]) == 17 and len(of.labels[LANGUAGE]) == 33
    assert (of.warmup, of.decay, of.weight_decay, of.clip, of.precision) == (0, "none", 0, None, "float32")
    trained = [term.data for phase in task.phases for term in phase.terms if term.head == TASK]
    assert trained == [trained[0]] and trained[0].languages == ("en",) and trained[0].split == "train"


@pytest.mark.parametrize("run", ["frozen", "untrained"])
def test_frozen_runs_train_the_head_alone(run, config):
    of = recipe(run, config)
    (phase,) = of.stages[0].phases
    assert phase.update == (TASK,)
    assert not of.stages[0].trains_encoder()
    assert of.reinitialise == ("all" if run == "untrained" else "none")


def test_finetuning_trains_encoder_and_head(config):
    (phase,) = recipe("finetuned", config).stages[0].phases
    assert set(phase.update) == {ENCODER, TASK}
    assert [(term.head, term.loss, term.weight, term.reversal) for term in phase.terms] == [(TASK, "cross_entropy", 1.0, None)]


def test_gradient_reversal_is_a_second_term_unweighted(config):
    (phase,) = recipe("gradient_reversal", config).stages[0].phases
    assert set(phase.update) == {ENCODER, TASK, LANGUAGE}
    assert [(term.head, term.weight, term.reversal) for term in phase.terms] == [(TASK, 1.0, None), (LANGUAGE, 1.0, 0.1)]
    assert phase.terms[1].data.corpus == "wikipedia"


@pytest.mark.parametrize(("entropy", "loss"), [("paper", "uniformity"), ("entropy", "entropy")])
def test_entropy_maximisation_has_two_phases_language_first(values, entropy, loss):
    training = values["papers"]["tanti2021"]["training"] | {"entropy": entropy}
    changed = values | {"papers": {"tanti2021": values["papers"]["tanti2021"] | {"training": training}}}
    first, second = recipe("entropy_maximisation", load(changed)).stages[0].phases
    assert first.update == (LANGUAGE,)
    assert [(term.head, term.loss) for term in first.terms] == [(LANGUAGE, "cross_entropy")]
    assert set(second.update) == {ENCODER, TASK}  # the language head is in no optimiser here
    assert [(term.head, term.loss, term.weight) for term in second.terms] == [(TASK, "cross_entropy", 1.0), (LANGUAGE, loss, 0.7)]


def test_hyperparameters_are_table_5(config, published):
    """Every selected value of the UDPOS half that the paper prints."""
    runs = {"frozen": "frozen", "fine-tuned": "finetuned", "grad. rev.": "gradient_reversal", "ent. max.": "entropy_maximisation"}
    printed = published[(published["item"] == "table5") & published["row"].str.startswith("UDPOS")]
    assert len(printed) == 17
    for cell in printed.itertuples():
        of = recipe(runs[cell.row.removeprefix("UDPOS ")], config)
        task, terms = of.stages[0], [term for phase in of.stages[0].phases for term in phase.terms]
        held = {
            "Init. standard deviation": of.init_sd,
            "Minibatch size": task.batch,
            "Classifier learning rate": task.head_rate,
            "mBERT learning rate": task.encoder_rate,
            "Gradient reversal lambda": next((term.reversal for term in terms if term.reversal), None),
            "Entropy max. weighting": next((term.weight for term in terms if term.loss == "uniformity"), None),
        }[cell.column]
        assert held == pytest.approx(float(cell.value)), (cell.row, cell.column)


# Scores.


def predictions(path, config):
    """A language head that is right, wrong at one word, and a task head that errs in German."""
    of = recipe("frozen", config)
    upos, codes = of.labels[TASK], of.labels[LANGUAGE]
    noun, verb = upos.index("NOUN"), upos.index("VERB")
    en, de = codes.index("en"), codes.index("de")
    rows = [
        (TASK, "udpos", "en", [noun, verb, noun], [noun, verb, noun]),
        (TASK, "udpos", "de", [noun, -100, verb], [noun, verb, noun]),
        (LANGUAGE, "udpos", "en", [en] * 3, [en] * 3),
        (LANGUAGE, "udpos", "de", [de] * 4, [de, de, en, de]),
        (LANGUAGE, "wikipedia", "en", [en] * 2, [en] * 2),
    ]  # fmt: skip
    columns = [dict(zip(PREDICTIONS.names, (head, corpus, "test", language, str(i), gold, predicted), strict=True))
               for i, (head, corpus, language, gold, predicted) in enumerate(rows)]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(columns, schema=PREDICTIONS), path)
    return of


def test_scores_of_planted_predictions(tmp_path, config):
    of = predictions(tmp_path / "p.parquet", config)
    rows = pd.DataFrame(
        prediction_records(tmp_path / "p.parquet", of, target="udpos", source_language="en", resamples=20, seed=0)
    )

    def value(item, language, definition):
        (found,) = rows[(rows["item"] == item) & (rows["language"] == language) & (rows["definition"] == definition)].itertuples()
        return found.value, found.n

    assert value("task", "all", ACCURACY) == (0.8, 5)  # the word without a label counts for nothing
    assert value("task", "en", ACCURACY) == (1, 3)
    assert value("task", "de", ACCURACY) == (0.5, 2)
    assert value("task", "all", TRANSFER) == (0.5, 2)
    assert value("language, target", "all", ACCURACY) == (6 / 7, 7)
    assert value("language, target", "de", ACCURACY) == (0.75, 4)
    assert value("language, target", "de", PAPER)[0] == 0  # one wrong word loses the sentence
    assert value("language, target", "en", PAPER)[0] == 1
    assert value("language, wiki", "all", TOKEN_F1) == (1, 2)
    assert ((rows["low"] <= rows["value"]) & (rows["value"] <= rows["high"])).all()
    assert set(rows["item"]) == {"task", "language, target", "language, wiki"}
    assert len(rows) == 2 * 3 * 3 + 2 * 3 + 1  # all and two languages by three definitions; wiki has one language; transfer


def test_transfer_is_a_mean_over_languages_not_words():
    sentences = [(np.array([1.0]), np.array([1.0])), (np.zeros(9), np.ones(9))]
    assert by_language_interval(sentences, 10, 0) == (0.5, 0.5, 0.5)


# Tables.


def score(item, run, value, definition=PAPER, measure="score", seed=0, language="all"):
    return {"item": item, "recipe": f"tanti2021/pos/{run}", "seed": seed, "language": language, "measure": measure,
            "definition": definition, "value": value, "low": value - 0.01, "high": value + 0.01}  # fmt: skip


def scores(name, definition=PAPER):
    spec = TABLES[name]
    return pd.DataFrame(
        [score(item, run, (i + j / 10 + 1) / 10, definition, next(iter(spec.measures)))
         for i, item in enumerate(spec.rows.values()) for j, run in enumerate(spec.runs) if run != "spelling"]
    )  # fmt: skip


@pytest.mark.parametrize(("name", "cells"), [("table1", 12), ("table2", 12), ("table3", 12)])
def test_the_paper_prints_so_many_cells(published, name, cells):
    assert (published["item"] == name).sum() == cells


@pytest.mark.parametrize(("name", "cells"), [("table1", 6), ("table2", 6)])
def test_published_values_stand_in_their_cells(published, name, cells):
    made = table(name, scores(name), published, RUNS)
    printed = published[(published["item"] == name) & published["column"].str.startswith("UDPOS")]
    assert len(printed) == cells
    for cell in printed.itertuples():
        (line,) = made[made["row"] == cell.row].to_dict("records")
        assert line[f"{cell.column} published"] == cell.value
    shown = made[[column for column in made if column.endswith(" published")]]
    assert int(shown.notna().sum().sum()) == cells
    assert "UDPOS Untrained published" not in made


def test_table3_takes_the_other_runs_from_figure_3(published):
    made = table("table3", scores("table3", V_PAPER), published, RUNS).set_index("row")
    for cell in published[(published["item"] == "table3") & published["column"].str.startswith("UDPOS")].itertuples():
        assert made.loc[cell.row, f"{cell.column} published"] == cell.value
    captions = {"UDPOS Init.": (13.0, 49.2, 22.3), "UDPOS Fine-T.": (47.5, 10.4, 11.6)}
    for column, values in captions.items():
        assert tuple(made[f"{column} published"]) == values
    assert int(made[[column for column in made if column.endswith(" published")]].notna().sum().sum()) == 12


def test_captions_repeat_table_3(published):
    """Figure 5 prints the V-measures of table 3 once more: the csv agrees with itself."""
    kinds = {"Target labels": "UDPOS labels", "Language (Target)": "UDPOS languages", "Language (Wiki)": "Wikipedia languages"}
    found = published[(published["metric"] == "V-measure") & published["item"].str.startswith("figure5")]
    table3 = published[(published["item"] == "table3") & published["column"].str.startswith("UDPOS")]
    assert sorted(found["value"].astype(float)) == sorted(table3["value"].astype(float))
    assert {row.row.rsplit(" ", 2)[0] for row in found.itertuples()} <= {*kinds.values()}


def test_values_are_percent_to_two_places_beside_their_interval(published):
    german = score("task", "frozen", 0.1, language="de")  # of no interest to a table
    rows = pd.DataFrame([score("task", "frozen", 0.512349), score("task", "finetuned", 0.6), german])
    (line,) = table("table1", rows, published, RUNS).to_dict("records")
    assert line["UDPOS Init."] == 51.23
    assert (line["UDPOS Init. low"], line["UDPOS Init. high"]) == (50.23, 52.23)
    assert pd.isna(line["UDPOS Untrained"])


def test_several_seeds_give_the_t_interval(published):
    seeds = [0.50, 0.52, 0.57]
    rows = pd.DataFrame([score("task", "frozen", value, seed=seed) for seed, value in enumerate(seeds)])
    (line,) = table("table1", rows, published, RUNS).to_dict("records")
    expected = [round(100 * value, 2) for value in mean_interval(np.array(seeds))]
    assert [line["UDPOS Init."], line["UDPOS Init. low"], line["UDPOS Init. high"]] == expected


def test_only_configured_runs_have_columns_and_only_the_papers_definition_a_published_value(published):
    rows = pd.concat([scores("table1"), scores("table1", ACCURACY)])
    made = table("table1", rows, published, ("frozen",))
    assert COLUMNS["finetuned"] not in made
    assert len(made) == 6
    assert made[made["definition"] == ACCURACY]["UDPOS Init. published"].isna().all()
    assert made[made["definition"] == PAPER]["UDPOS Init. published"].tolist() == [51.2, 78.3, 59.3]


# Measures on states.


def states(seed, corpus):
    """Three languages around centres of their own, in sentences of five words."""
    generator = np.random.default_rng(seed)
    n = 300
    languages = np.repeat(["de", "en", "zh"], n // 3)
    centres = np.random.default_rng(9).normal(size=(3, 8))
    vectors = centres[np.repeat(np.arange(3), n // 3)] + 0.2 * generator.normal(size=(n, 8))
    letters = {"de": "äöü", "en": "thw", "zh": "猫狗好"}
    words = np.array(["".join(generator.choice(list(letters[language]), 3)) for language in languages])
    labels = generator.choice(["NOUN", "VERB"], n) if corpus == "target" else np.full(n, "")
    splits = np.full(n, "test") if corpus == "target" else generator.choice(["train", "test"], n)
    texts = np.array([f"{language}-{i // 5}" for i, language in enumerate(languages)])
    sample = generator.random(n) < 0.3
    return States(vectors.astype(np.float32), texts, words, labels, languages, splits, sample, np.ones(n, bool))


def test_probes_find_planted_languages_and_their_control_does_not():
    target, wiki = states(0, "target"), states(1, "wiki")
    rows = pd.DataFrame(probe_records(target, wiki, Probe(train_words=60, test_words=40, penalties=[0.1, 1.0]), 20, 0))
    assert len(rows) == 5
    control = rows["definition"] == PROBE_RANDOM
    assert (rows[~control]["value"] > 0.95).all()
    assert (rows[control]["value"] < 0.75).all()
    assert (rows["n"] < 300).all()
    spelling = pd.DataFrame(spelling_records(target, wiki, 20, 0))
    assert spelling["item"].tolist() == ["language, target", "language, wiki"]
    assert (spelling["value"] == 1).all()


def test_clusters_of_planted_languages():
    rows = pd.DataFrame(cluster_records(states(0, "target"), states(1, "wiki"), Clustering(runs=4)))
    of = rows[rows["definition"] == V_PAPER].set_index("item")["value"]
    assert len(rows) == 9
    assert of["labels"] < 0.1
    assert of["language, target"] > 0.6
    assert of["language, wiki"] > 0.6


# Figures.


@pytest.mark.parametrize("name", ["figure3", "figure5"])
def test_figures_have_six_panels_with_titles(name):
    settings = Tsne(iterations=250, perplexity=5)
    points = {run: projection(states(i, "target"), states(i + 5, "wiki"), settings) for i, run in enumerate(PRINTED)}
    rows = [score(item, run, 0.512) for item in TABLES["table1"].rows.values() for run in PRINTED]
    rows += [score(item, run, 0.934, ACCURACY) for item in TABLES["table1"].rows.values() for run in PRINTED]
    rows += [score(item, run, 0.228, V_PAPER, "clusters") for item in TABLES["table3"].rows.values() for run in PRINTED]
    drawn = figure(name, points, pd.DataFrame(rows), "A title")
    titles = [axis.get_title(loc="left") for axis in drawn.axes if axis.get_title(loc="left")]
    assert len(titles) == 6
    assert [title[:3] for title in titles] == ["(a)", "(b)", "(c)", "(d)", "(e)", "(f)"]
    assert all(title.endswith("F1 51.2, accuracy 93.4, V 22.8") for title in titles)
    runs = {"figure3": ("initial", "fine-tuned"), "figure5": ("gradient reversal", "entropy maximisation")}[name]
    assert [runs[i % 2] in title for i, title in enumerate(titles)] == [True] * 6
    shown = [sum(len(marks.get_offsets()) for marks in axis.collections) for axis in drawn.axes if axis.get_title(loc="left")]
    of = [points[run] for run in FIGURES[name]]
    assert shown == [int((of[i % 2]["corpus"] == corpus).sum()) for i, corpus in enumerate(["target"] * 4 + ["wiki"] * 2)]
    assert drawn._suptitle.get_text() == "A title"
