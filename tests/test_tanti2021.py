"""tanti2021: recipes, scores, tables against the published values, figures."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import NLI
from crosslens.config.tanti2021 import Clustering, Probe, Tsne
from crosslens.config.whole import load
from crosslens.measures.f1 import CUT_TEXTS, CUT_WORDS
from crosslens.measures.intervals import mean_interval
from crosslens.papers.recipes import names, resolve
from crosslens.papers.tanti2021.clusters import cluster_records
from crosslens.papers.tanti2021.draws import draws
from crosslens.papers.tanti2021.figures import figure, legend
from crosslens.papers.tanti2021.items import (
    ACCURACY,
    CEILING,
    FIGURES,
    LABELS,
    MACRO_F1,
    MICRO_F1,
    PAPER,
    PROBE_RANDOM,
    TABLES,
    TRANSFER,
    V_PAPER,
    column,
)
from crosslens.papers.tanti2021.probes import probe_records, spelling_records
from crosslens.papers.tanti2021.projection import projection
from crosslens.papers.tanti2021.scores import by_language_interval, prediction_records
from crosslens.papers.tanti2021.tables import table
from crosslens.papers.tanti2021.views import panels
from crosslens.recipes import ENCODER, LANGUAGE, TASK, Edit, Reading
from crosslens.states.files import States
from crosslens.training.run import PREDICTIONS
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.metrics import accuracy_score, f1_score, v_measure_score
from sklearn.utils._testing import ignore_warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from seqeval.metrics import f1_score as seqeval_f1

ROOT = Path(__file__).parents[1]
TASKS = ("pos", "nli")
PRINTED = ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation")
RUNS = (*PRINTED, "untrained", "no_adversary", "true_entropy")
NAMES = {"zh": "Chinese", "de": "German", "en": "English", "tr": "Turkish"}  # of languages, in the order of their marks
CONFIGURED = dict.fromkeys(TASKS, RUNS)


@pytest.fixture(scope="module")
def published():
    return pd.read_csv(ROOT / "resources" / "published" / "tanti2021.csv")


def changed(values, task=None, **keys):
    """The configuration with other keys of the paper's training, or of a task."""
    paper = dict(values["papers"]["tanti2021"])
    if task:
        paper["tasks"] = paper["tasks"] | {task: paper["tasks"][task] | keys}
    else:
        paper["training"] = paper["training"] | keys
    return load(values | {"papers": {"tanti2021": paper}})


# Recipes.


def recipe(task, run, config):
    return resolve(f"tanti2021/{task}/{run}", config)


def test_names_of_recipes(config):
    found = [name for name in names(config) if name.startswith("tanti2021/")]
    assert found == [f"tanti2021/{task}/{run}" for task in TASKS for run in RUNS]


@pytest.mark.parametrize(
    "name", ["tanti2022/pos/frozen", "tanti2021/ner/frozen", "tanti2021/pos/froze", "tanti2021/pos/frozen/trial99"]
)
def test_other_names_are_no_recipes(config, name):
    with pytest.raises(KeyError):
        resolve(name, config)


@pytest.mark.parametrize(("task", "corpus", "languages", "labels"), [("pos", "udpos", 33, 17), ("nli", "xnli", 14, 3)])
@pytest.mark.parametrize("run", RUNS)
def test_every_run_has_a_task_stage_and_a_language_stage(run, config, task, corpus, languages, labels):
    of = recipe(task, run, config)
    first, second = of.stages
    assert (first.name, second.name) == ("task", "language")
    assert (first.epochs, second.epochs) == (5, 5)
    assert first.select_head == TASK and first.select_data.languages == ("en",) and first.select_data.split == "validation"
    assert first.select_data.corpus == corpus
    assert first.new_heads == (TASK, LANGUAGE)
    assert second.new_heads == (LANGUAGE,)  # drawn anew, also after an adversary
    assert second.select_head == LANGUAGE and len(second.select_data.languages) == 33
    assert second.select_data.corpus == "wikipedia"
    assert [(phase.update, [term.head for term in phase.terms]) for phase in second.phases] == [((LANGUAGE,), [LANGUAGE])]
    assert not second.trains_encoder()
    assert second.head_rate == first.head_rate and second.batch == first.batch  # the task's, as in the authors' code
    assert [(score.head, score.data.corpus, score.data.split, len(score.data.languages)) for score in of.scores] == [
        (TASK, corpus, "test", languages), (LANGUAGE, corpus, "test", languages), (LANGUAGE, "wikipedia", "test", 33)
    ]  # fmt: skip
    assert of.dropout == 0.1
    assert {name: (head.learns, len(head.labels)) for name, head in of.heads.items()} == {
        TASK: (TASK, labels), LANGUAGE: (LANGUAGE, 33)
    }  # fmt: skip
    assert (of.warmup, of.decay, of.weight_decay, of.clip, of.precision) == (0, "none", 0, None, "float32")
    trained = [term.data for phase in first.phases for term in phase.terms if term.head == TASK]
    assert trained == [trained[0]] and trained[0].languages == ("en",) and trained[0].split == "train"


def test_heads_read_words_for_pos_and_the_pooler_for_nli(values, config):
    assert recipe("pos", "frozen", config).reading == Reading(unit="word", state="hidden", segments=False)
    assert recipe("nli", "frozen", config).reading == Reading(unit="text", state="pooler", segments=False)
    other = changed(values, "nli", state="hidden", segments=True)
    assert recipe("nli", "frozen", other).reading == Reading(unit="text", state="hidden", segments=True)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("run", ["frozen", "untrained"])
def test_frozen_runs_train_the_head_alone(run, config, task):
    of = recipe(task, run, config)
    (phase,) = of.stages[0].phases
    assert phase.update == (TASK,)
    assert not of.stages[0].trains_encoder()
    assert of.edit == (Edit(layers="all", embeddings=True) if run == "untrained" else Edit())


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("run", ["finetuned", "no_adversary"])
def test_finetuning_trains_encoder_and_head(config, task, run):
    (phase,) = recipe(task, run, config).stages[0].phases
    assert set(phase.update) == {ENCODER, TASK}
    assert [(term.head, term.loss, term.weight, term.reversal) for term in phase.terms] == [(TASK, "cross_entropy", 1.0, None)]


@pytest.mark.parametrize("task", TASKS)
def test_controls_differ_from_what_they_control_in_one_thing(config, task):
    rates = {run: recipe(task, run, config).stages[0] for run in RUNS}
    without = {"phases": (), "watch": (), "head_rates": {}}
    assert rates["no_adversary"].model_copy(update=without) == rates["gradient_reversal"].model_copy(update=without)
    phases = [rates[run].phases for run in ("true_entropy", "entropy_maximisation")]
    assert [phase[1].terms[1].loss for phase in phases] == ["entropy", "uniformity"]
    both = [json.dumps([each.model_dump() for each in phase]).replace('"uniformity"', '"entropy"') for phase in phases]
    assert both[0] == both[1]


@pytest.mark.parametrize("task", TASKS)
def test_gradient_reversal_is_a_second_term_unweighted(config, task):
    (phase,) = recipe(task, "gradient_reversal", config).stages[0].phases
    assert set(phase.update) == {ENCODER, TASK, LANGUAGE}
    assert [(term.head, term.weight, term.reversal) for term in phase.terms] == [(TASK, 1.0, None), (LANGUAGE, 1.0, 0.1)]
    assert phase.terms[1].data.corpus == "wikipedia"


@pytest.mark.parametrize(("task", "weight"), [("pos", 0.7), ("nli", 0.1)])
@pytest.mark.parametrize(("run", "loss"), [("entropy_maximisation", "uniformity"), ("true_entropy", "entropy")])
def test_entropy_maximisation_has_two_phases_language_first(config, task, weight, run, loss):
    first, second = recipe(task, run, config).stages[0].phases
    assert first.update == (LANGUAGE,)
    assert [(term.head, term.loss, term.weight) for term in first.terms] == [(LANGUAGE, "cross_entropy", 1.0)]
    assert first.at_most == second.terms[0].data
    assert set(second.update) == {ENCODER, TASK}  # the language head is in no optimiser here
    assert [(term.head, term.loss, term.weight) for term in second.terms] == [
        (TASK, "cross_entropy", 1 - weight), (LANGUAGE, loss, weight)
    ]  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_further_language_heads_follow_with_their_rates(values, task):
    of = recipe(task, "finetuned", changed(values, language_head_rates=[1e-1, 1e-3]))
    plain = recipe(task, "finetuned", load(values))
    heads = ["language 1e-01", "language 1e-03"]
    assert of.stages[:2] == plain.stages and of.scores[:3] == plain.scores
    assert [(stage.name, stage.head_rate, stage.new_heads, stage.select_head) for stage in of.stages[2:]] == [
        (head, rate, (head,), head) for head, rate in zip(heads, (1e-1, 1e-3), strict=True)
    ]  # fmt: skip
    main = of.stages[1]
    for stage in of.stages[2:]:  # trained alike
        assert [(phase.update, [(term.head, term.data) for term in phase.terms]) for phase in stage.phases] == [
            ((stage.name,), [(stage.name, main.phases[0].terms[0].data)])
        ]  # fmt: skip
        assert (stage.epochs, stage.batch, stage.select_data) == (main.epochs, main.batch, main.select_data)
    assert [(score.head, score.data.corpus) for score in of.scores[3:]] == [
        (head, corpus) for head in heads for corpus in (plain.scores[0].data.corpus, "wikipedia")
    ]  # fmt: skip
    assert [of.heads[head] for head in heads] == [plain.heads[LANGUAGE]] * 2


def test_hyperparameters_are_table_5(config, published):
    """Every selected value that the paper prints."""
    runs = {"frozen": "frozen", "fine-tuned": "finetuned", "grad. rev.": "gradient_reversal", "ent. max.": "entropy_maximisation"}
    printed = published[published["item"] == "table5"]
    assert len(printed) == 34
    for cell in printed.itertuples():
        task, run = cell.row.split(" ", 1)
        of = recipe({"UDPOS": "pos", "XNLI": "nli"}[task], runs[run], config)
        first, terms = of.stages[0], [term for phase in of.stages[0].phases for term in phase.terms]
        held = {
            "Init. standard deviation": of.init_sd,
            "Minibatch size": first.batch,
            "Classifier learning rate": first.head_rate,
            "mBERT learning rate": first.encoder_rate,
            "Gradient reversal lambda": next((term.reversal for term in terms if term.reversal), None),
            "Entropy max. weighting": next((term.weight for term in terms if term.loss == "uniformity"), None),
        }[cell.column]
        assert held == pytest.approx(float(cell.value)), (cell.row, cell.column)


@pytest.mark.parametrize(("task", "corpus", "points"), [("pos", "udpos", 10), ("nli", "xnli", 50)])
def test_samples_have_the_sizes_of_appendix_b(config, published, task, corpus, points):
    of = draws(task, config)
    assert list(of) == [corpus, "wikipedia"]
    assert (of[corpus].sample_per_label, of[corpus].sample_per_language) == (points, None)
    assert (of["wikipedia"].sample_per_label, of["wikipedia"].sample_per_language) == (None, 100)
    printed = published[published["column"] == "t-SNE/V-measure sample"].set_index(["row", "metric"])["value"]
    assert printed[{"pos": "UDPOS", "nli": "XNLI"}[task], "maximum points per unit"] == points
    assert printed["Wikipedia", "maximum points per unit"] == 100


# Scores.


def predictions(path, config):
    """A language head that is right, wrong at one word, and a task head that errs in German."""
    of = recipe("pos", "frozen", config)
    upos, codes = of.labels(TASK), of.labels(LANGUAGE)
    noun, verb = upos.index("NOUN"), upos.index("VERB")
    en, de = codes.index("en"), codes.index("de")
    rows = [
        (TASK, "udpos", "en", [noun, verb, noun], [noun, verb, noun]),
        (TASK, "udpos", "de", [noun, -100, verb], [noun, verb, noun]),
        (LANGUAGE, "udpos", "en", [en] * 3, [en] * 3),
        (LANGUAGE, "udpos", "de", [de] * 4, [de, de, en, de]),
        (LANGUAGE, "wikipedia", "en", [en] * 2, [en] * 2),
    ]  # fmt: skip
    values = [
        (head, corpus, "test", language, str(i), gold, predicted, i == 0, 2 * (i == 0))  # two words of the first are cut away
        for i, (head, corpus, language, gold, predicted) in enumerate(rows)
    ]
    columns = [dict(zip(PREDICTIONS.names, row, strict=True)) for row in values]
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
    assert value("language, wiki", "all", MACRO_F1) == (1, 2)
    assert value("task", "en", MICRO_F1)[0] == 1
    assert value("task", "all", CUT_TEXTS) == (0.5, 2)
    assert value("task", "all", CUT_WORDS) == (2 / 7, 7)
    assert value("language, target", "all", CUT_WORDS) == (0, 7)
    counted = rows["definition"].isin([CUT_TEXTS, CUT_WORDS])
    rows = rows[~counted]
    assert ((rows["low"] <= rows["value"]) & (rows["value"] <= rows["high"])).all()
    assert set(rows["item"]) == {"task", "language, target", "language, wiki"}
    assert {item: list(dict.fromkeys(part["definition"])) for item, part in rows.groupby("item")} == {
        "task": [PAPER, MICRO_F1, MACRO_F1, ACCURACY, TRANSFER],
        "language, target": [PAPER, MACRO_F1, ACCURACY],
        "language, wiki": [PAPER, MACRO_F1, ACCURACY],
    }
    assert len(rows) == 3 * 4 + 1 + 3 * 3 + 2 * 3  # all and two languages; transfer; all and one language


def random_predictions(path, of, target, unit, heads=(TASK, LANGUAGE)):
    """Rows of random predictions on two languages, right at 7 of 10 units; one in ten has no label."""
    generator, rows = np.random.default_rng(0), []
    for head in heads:
        classes = len(of.heads[head].labels)
        for corpus in (target, "wikipedia") if head != TASK else (target,):
            for number in range(60):
                n = 1 if unit == "text" else int(generator.integers(1, 7))
                gold = generator.integers(0, min(5, classes), n)  # some classes are only ever predicted
                predicted = np.where(generator.random(n) < 0.7, gold, generator.integers(0, classes, n))
                gold = np.where(generator.random(n) < 0.1, -100, gold)
                rows.append((head, corpus, "test", ("en", "de")[number % 2], str(number), gold.tolist(), predicted.tolist()))
    columns = [dict(zip(PREDICTIONS.names, (*row, False, 0), strict=True)) for row in rows]
    pq.write_table(pa.Table.from_pylist(columns, schema=PREDICTIONS), path)
    return pd.DataFrame(columns)


def records(path, of, target):
    found = prediction_records(path, of, target=target, source_language="en", resamples=20, seed=0)
    return pd.DataFrame(found).set_index(["item", "language", "definition"])["value"]


@pytest.mark.parametrize("language", ["all", "en", "de"])
@pytest.mark.parametrize(("head", "item", "corpus"), [
    (TASK, "task", "xnli"), (LANGUAGE, "language, target", "xnli"), (LANGUAGE, "language, wiki", "wikipedia"),
])  # fmt: skip
def test_scores_of_texts_are_scikit_learns(tmp_path, config, head, item, corpus, language):
    of = recipe("nli", "frozen", config)
    table = random_predictions(tmp_path / "p.parquet", of, "xnli", "text")
    value = records(tmp_path / "p.parquet", of, "xnli")
    part = table[
        (table["head"] == head)
        & (table["corpus"] == corpus)
        & table["language"].isin(["en", "de"] if language == "all" else [language])
    ]
    gold, predicted = (np.concatenate(part[name].to_numpy()) for name in ("gold", "predicted"))
    gold, predicted = gold[gold >= 0], predicted[gold >= 0]
    # The authors' code gives predictions first: the score is the same.
    expected = f1_score(predicted, gold, average="macro", zero_division=0)
    assert value[item, language, PAPER] == pytest.approx(expected, abs=1e-12)
    expected = f1_score(gold, predicted, average="macro", labels=np.unique(gold), zero_division=0)
    assert value[item, language, MACRO_F1] == pytest.approx(expected, abs=1e-12)
    assert value[item, language, ACCURACY] == pytest.approx(accuracy_score(gold, predicted), abs=1e-12)
    if head == TASK:
        assert (item, language, CEILING) not in value
        return
    ceiling = len(np.unique(gold)) / len(np.union1d(gold, predicted))
    assert value[item, language, CEILING] == pytest.approx(ceiling, abs=1e-12)
    assert value[item, language, PAPER] < ceiling < 1


@ignore_warnings()
@pytest.mark.parametrize("head", [TASK, LANGUAGE])
def test_papers_scores_of_words_are_seqevals(tmp_path, config, head):
    of = recipe("pos", "frozen", config)
    table = random_predictions(tmp_path / "p.parquet", of, "udpos", "word")
    value = records(tmp_path / "p.parquet", of, "udpos")
    part, names = table[(table["head"] == head) & (table["corpus"] == "udpos")], of.heads[head].labels
    gold = [[names[tag] for tag in row if tag >= 0] for row in part["gold"]]
    pairs = zip(part["gold"], part["predicted"], strict=True)
    predicted = [[names[guess] for tag, guess in zip(*pair, strict=True) if tag >= 0] for pair in pairs]
    item = "task" if head == TASK else "language, target"
    for definition, average in ((PAPER, "macro"), (MICRO_F1, "micro")):
        if (head, average) != (LANGUAGE, "micro"):
            expected = seqeval_f1(predicted, gold, average=average, zero_division=0)  # in the authors' order
            assert value[item, "all", definition] == pytest.approx(expected, abs=1e-12)
    assert ((item, "all", MICRO_F1) in value) == (head == TASK)


def test_further_heads_have_items_of_their_own_that_no_table_shows(tmp_path, values, published):
    of = recipe("nli", "frozen", changed(values, language_head_rates=[1e-1]))
    heads = (TASK, LANGUAGE, "language 1e-01")
    random_predictions(tmp_path / "p.parquet", of, "xnli", "text", heads)
    found = prediction_records(tmp_path / "p.parquet", of, target="xnli", source_language="en", resamples=20, seed=0)
    rows = pd.DataFrame(found).assign(recipe=of.name, seed=0, converged=None)
    assert set(rows["item"]) == {"task"} | {f"{head}, {where}" for head in heads[1:] for where in ("target", "wiki")}
    without = rows[~rows["item"].str.startswith("language 1e-01")]
    assert table("table1", rows, published, CONFIGURED).equals(table("table1", without, published, CONFIGURED))


def test_transfer_is_a_mean_over_languages_not_words():
    sentences = [(np.array([1.0]), np.array([1.0])), (np.zeros(9), np.ones(9))]
    assert by_language_interval(sentences, 10, 0) == (0.5, 0.5, 0.5)


# Tables.


def score(item, run, value, definition=PAPER, measure="score", seed=0, language="all", task="pos"):
    return {"item": item, "recipe": f"tanti2021/{task}/{run}", "seed": seed, "language": language, "measure": measure,
            "definition": definition, "value": value, "low": value - 0.01, "high": value + 0.01, "n": 900,
            "gradient": None, "converged": None}  # fmt: skip


def scores(name, definition=PAPER):
    spec = TABLES[name]
    return pd.DataFrame(
        [score(item, run, (i + j / 10 + 1) / 10, definition, next(iter(spec.measures)), task=task)
         for i, item in enumerate(spec.rows.values()) for j, run in enumerate(spec.runs) if run != "spelling" for task in TASKS]
    )  # fmt: skip


@pytest.mark.parametrize(("name", "cells"), [("table1", 12), ("table2", 12), ("table3", 12), ("table4", 22), ("table5", 34)])
def test_the_paper_prints_so_many_cells(published, name, cells):
    assert (published["item"] == name).sum() == cells


@pytest.mark.parametrize("name", ["table1", "table2"])
def test_published_values_stand_in_their_cells(published, name):
    made = table(name, scores(name), published, CONFIGURED)
    printed = published[published["item"] == name]
    for cell in printed.itertuples():
        (line,) = made[made["row"] == cell.row].to_dict("records")
        assert line[f"{cell.column} published"] == float(cell.value)
    shown = made[[name for name in made if name.endswith(" published")]]
    assert int(shown.notna().sum().sum()) == 12
    assert not any(control in name for name in shown for control in ("Untrained", "No adversary", "True entropy"))


def test_columns_of_both_tasks_stand_side_by_side(published):
    made = table("table1", scores("table1"), published, CONFIGURED)
    columns = [name for name in made if not name.endswith((" low", " high", " n"))]
    runs = ["Init.", "Init. published", "Fine-T.", "Fine-T. published", "Untrained", "Spelling alone"]
    assert columns == ["row", "definition", *(f"{task} {run}" for task in ("UDPOS", "XNLI") for run in runs), "remark"]


def test_table3_takes_the_other_runs_from_figures_3_and_4(published):
    made = table("table3", scores("table3", V_PAPER), published, CONFIGURED).set_index("row")
    for cell in published[published["item"] == "table3"].itertuples():
        assert made.loc[cell.row, f"{cell.column} published"] == float(cell.value)
    captions = {"UDPOS Init.": (13.0, 49.2, 22.3), "UDPOS Fine-T.": (47.5, 10.4, 11.6),
                "XNLI Init.": (0.1, 35.1, 11.7), "XNLI Fine-T.": (20.3, 6.8, 8.9)}  # fmt: skip
    for name, values in captions.items():
        assert tuple(made[f"{name} published"]) == values
    assert int(made[[name for name in made if name.endswith(" published")]].notna().sum().sum()) == 24


@pytest.mark.parametrize(("figure", "task"), [("figure5", "UDPOS"), ("figure6", "XNLI")])
def test_captions_repeat_table_3(published, figure, task):
    """Figures 5 and 6 print the V-measures of table 3 once more: the csv agrees with itself."""
    rows = {"Target labels": f"{task} labels", "Language (Target)": f"{task} languages", "Language (Wiki)": "Wikipedia languages"}
    names = {"Grad.": "gradient reversal", "Ent.": "entropy maximisation"}
    captions = published[(published["metric"] == "V-measure") & published["item"].str.startswith(figure)]
    captions = dict(zip(captions["row"], captions["value"], strict=True))
    table3 = published[(published["item"] == "table3") & published["column"].str.startswith(task)]
    assert len(captions) == len(table3) == 6
    for cell in table3.itertuples():
        assert captions[f"{rows[cell.row]} {names[cell.column.removeprefix(f'{task} ')]}"] == cell.value


def test_footnote_6_stands_beside_its_printed_scores(published):
    rows = [score("task", "finetuned", 0.7, MICRO_F1), score("task", "finetuned", 0.6, ACCURACY, task="nli"),
            score("task", "finetuned", 0.1, ACCURACY), score("task", "finetuned", 0.2, PAPER, task="nli"),
            score("task", "frozen", 0.3, MICRO_F1), score("language, target", "finetuned", 0.4, ACCURACY, task="nli"),
            score("task", "finetuned", 0.5, MICRO_F1, language="de")]  # fmt: skip
    made = table("footnote6", pd.DataFrame(rows), published, CONFIGURED)
    assert made.to_dict("records") == [
        {"row": "UDPOS", "definition": MICRO_F1, "Fine-T.": 70, "Fine-T. low": 69, "Fine-T. high": 71, "Fine-T. n": 900,
         "published": 73.4, "XTREME published": 70.3},
        {"row": "XNLI", "definition": ACCURACY, "Fine-T.": 60, "Fine-T. low": 59, "Fine-T. high": 61, "Fine-T. n": 900,
         "published": 66.3, "XTREME published": 65.4},
    ]  # fmt: skip


def test_values_are_percent_to_two_places_beside_their_interval(published):
    german = score("task", "frozen", 0.1, language="de")  # of no interest to a table
    inference = score("task", "frozen", 0.3, task="nli")
    rows = pd.DataFrame([score("task", "frozen", 0.512349), score("task", "finetuned", 0.6), german, inference])
    (line,) = table("table1", rows, published, CONFIGURED).to_dict("records")
    assert line["UDPOS Init."] == 51.23
    assert (line["UDPOS Init. low"], line["UDPOS Init. high"]) == (50.23, 52.23)
    assert line["XNLI Init."] == 30
    assert pd.isna(line["UDPOS Untrained"]) and pd.isna(line["XNLI Fine-T."])


@pytest.mark.parametrize("name", ["table1", "table2", "table3"])
def test_every_value_stands_beside_the_units_it_rests_on(published, name, tmp_path):
    rows = scores(name).drop(columns="n").assign(n=range(700, 700 + len(scores(name))))
    more = rows.assign(seed=1, n=rows["n"] - 5)  # another split by sentence: the least is told
    made = table(name, pd.concat([rows, more]), published, CONFIGURED)
    made.to_csv(tmp_path / "table.csv", index=False)
    text = pd.read_csv(tmp_path / "table.csv", dtype=str)
    for of in more.itertuples():
        (row,) = [row for row, item in TABLES[name].rows.items() if item == of.item]
        _, task, run = of.recipe.split("/")
        assert text.set_index("row").loc[row, f"{column(task, run)} n"] == str(of.n)


def test_probes_that_did_not_converge_are_named(published):
    rows = [score("language, target", run, 0.5, PROBE_RANDOM, "probe", seed, task=task) | {"gradient": 1e-7, "converged": True}
            for run in ("frozen", "finetuned") for task in TASKS for seed in (0, 1)]  # fmt: skip
    rows[-1] |= {"gradient": 0.0123, "converged": False}
    rows.append(score("language, target", "frozen", 0.5))
    lines = table("table1", pd.DataFrame(rows), published, CONFIGURED)
    assert lines["remark"].tolist() == ["XNLI Fine-T.: not converged, gradient 1e-02", ""]


def test_several_seeds_give_the_t_interval(published):
    seeds = [0.50, 0.52, 0.57]
    rows = pd.DataFrame([score("task", "frozen", value, seed=seed) for seed, value in enumerate(seeds)])
    (line,) = table("table1", rows, published, CONFIGURED).to_dict("records")
    expected = [round(100 * value, 2) for value in mean_interval(np.array(seeds))]
    assert [line["UDPOS Init."], line["UDPOS Init. low"], line["UDPOS Init. high"]] == expected


def test_only_configured_runs_have_columns(published):
    made = table("table2", scores("table2"), published, {"pos": RUNS, "nli": ("frozen", "gradient_reversal", "true_entropy")})
    shown = {name for name in made if not name.endswith((" low", " high", " n", " published"))} - {"row", "definition", "remark"}
    assert shown == {
        *(f"UDPOS {run}" for run in ("Grad.", "Ent.", "No adversary", "True entropy")),
        "XNLI Grad.",
        "XNLI True entropy",
    }


@pytest.mark.parametrize("other", [ACCURACY, MACRO_F1, MICRO_F1])
def test_published_values_stand_beside_the_definition_that_was_printed_alone(published, other):
    rows = pd.concat([scores("table1"), scores("table1", other)])
    made = table("table1", rows, published, CONFIGURED)
    assert len(made) == 6
    assert made[made["definition"] == other][["UDPOS Init. published", "XNLI Fine-T. published"]].isna().all(axis=None)
    assert made[made["definition"] == PAPER]["UDPOS Init. published"].tolist() == [51.2, 78.3, 59.3]


# Measures on states.


def states(seed, corpus, classes=("NOUN", "VERB")):
    """Three languages around centres of their own, in sentences of five words."""
    generator = np.random.default_rng(seed)
    n = 300
    languages = np.repeat(["de", "en", "zh"], n // 3)
    centres = np.random.default_rng(9).normal(size=(3, 8))
    vectors = centres[np.repeat(np.arange(3), n // 3)] + 0.2 * generator.normal(size=(n, 8))
    letters = {"de": "äöü", "en": "thw", "zh": "猫狗好"}
    words = np.array(["".join(generator.choice(list(letters[language]), 3)) for language in languages])
    labels = generator.choice(classes, n) if corpus == "target" else np.full(n, "")
    splits = np.full(n, "test") if corpus == "target" else generator.choice(["train", "test"], n)
    texts = np.array([f"{language}-{i // 5}" for i, language in enumerate(languages)])
    sample = generator.random(n) < 0.3
    return States(vectors.astype(np.float32), texts, words, labels, languages, splits, sample, np.ones(n, bool))


def test_probes_find_planted_languages_and_their_control_does_not():
    target, wiki = states(0, "target"), states(1, "wiki")
    rows = pd.DataFrame(probe_records(target, wiki, Probe(train_words=60, test_words=40, penalties=[0.1, 1.0]), 20, 0))
    assert len(rows) == 5
    assert rows["converged"].all() and (rows["gradient"] <= 1e-6).all() and set(rows["penalty"]) <= {0.1, 1.0}
    assert not pd.DataFrame(probe_records(target, wiki, Probe(tolerance=1e-300, penalties=[1.0]), 20, 0))["converged"].any()
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


@pytest.mark.parametrize("language_clusters", [None, 33])
def test_v_measures_are_the_mean_of_ten_random_starts(language_clusters):
    """As the authors' code computes them: fine_tune_tag/evaluate.py."""
    target, wiki = states(0, "target"), states(1, "wiki")
    rows = pd.DataFrame(cluster_records(target, wiki, Clustering(language_clusters=language_clusters)))
    of = rows[rows["definition"] == V_PAPER].set_index("item")["value"]
    for item, states_, truth, k in (
        ("labels", target, "labels", 2),
        ("language, target", target, "languages", language_clusters or 3),
        ("language, wiki", wiki, "languages", language_clusters or 3),
    ):
        sample = states_.take(states_.sample)
        found = [
            v_measure_score(
                getattr(sample, truth),
                KMeans(k, random_state=seed, n_init=1, max_iter=100, init="random", algorithm="lloyd").fit_predict(
                    sample.vectors
                ),
            )
            for seed in range(1, 11)
        ]
        assert of[item] == pytest.approx(np.mean(found), abs=1e-12)


def test_points_of_figures_are_scikit_learns_tsne_of_the_sample():
    target, wiki = states(0, "target"), states(1, "wiki")
    points = projection(target, wiki, Tsne(iterations=250, perplexity=20, seed=4))
    for name, of in (("target", target), ("wiki", wiki)):
        here, sample = points[points["corpus"] == name], of.take(of.sample)
        start = PCA(2, svd_solver="randomized", random_state=4).fit_transform(sample.vectors).astype(np.float32)
        expected = TSNE(2, perplexity=20, learning_rate=200, max_iter=250, init=start, random_state=4)
        assert np.array_equal(here[["x", "y"]].to_numpy(), expected.fit_transform(sample.vectors))
        assert here["language"].tolist() == sample.languages.tolist()
        assert here["label"].tolist() == sample.labels.tolist()


def test_defaults_of_tsne_are_those_that_the_authors_code_ran_with():
    assert Tsne().model_dump() == {"perplexity": 30, "learning_rate": 200, "iterations": 1000, "seed": 0}


def test_points_without_a_label_are_in_no_panel():
    target, wiki = states(0, "target", ("NOUN", "")), states(1, "wiki")
    (_, labelled, truth), (_, same, _), (_, paragraphs, _) = panels(target, wiki)
    assert set(truth) == {"NOUN"} and labelled is same
    assert len(labelled.labels) == ((target.labels == "NOUN") & target.sample).sum() > 0
    assert len(paragraphs.labels) == wiki.sample.sum()


# Figures.


def drawn_figure(name, labels, points=None):
    task, runs = FIGURES[name]
    settings = Tsne(iterations=250, perplexity=5)
    points = {run: projection(states(i, "target", labels), states(i + 5, "wiki"), settings) for i, run in enumerate(runs)}
    rows = []
    for of in TASKS:  # the other task's are not shown
        shift = 0 if of == task else 0.1
        for run in PRINTED:
            for item in TABLES["table1"].rows.values():
                rows += [score(item, run, 0.512 + shift, task=of), score(item, run, 0.934 + shift / 10, ACCURACY, task=of)]
            rows += [score(item, run, 0.228 + shift, V_PAPER, "clusters", task=of) for item in TABLES["table3"].rows.values()]
    return points, figure(name, points, pd.DataFrame(rows), NAMES, "A title")


def titles_of(drawn):
    return [axis.get_title(loc="left") for axis in drawn.axes if axis.get_title(loc="left")]


def legends_of(drawn):
    return [[text.get_text() for text in axis.get_legend().get_texts()] for axis in drawn.axes if axis.get_legend()]


@pytest.mark.parametrize(("name", "task", "labels", "captions"), [
    ("figure3", "UDPOS", ("NOUN", "VERB"), ("initial", "fine-tuned")),
    ("figure4", "XNLI", NLI, ("initial", "fine-tuned")),
    ("figure5", "UDPOS", ("NOUN", "VERB"), ("gradient reversal", "entropy maximisation")),
    ("figure6", "XNLI", NLI, ("gradient reversal", "entropy maximisation")),
])  # fmt: skip
def test_figures_have_six_panels_with_titles(name, task, labels, captions):
    points, drawn = drawn_figure(name, labels)
    kinds = [f"{task} labels"] * 2 + [f"{task} languages"] * 2 + ["Wikipedia languages"] * 2
    scores_of = "F1 51.2, accuracy 93.4, V 22.8"
    assert titles_of(drawn) == [f"({'abcdef'[i]}) {kind}, {captions[i % 2]}\n{scores_of}" for i, kind in enumerate(kinds)]
    shown = [sum(len(marks.get_offsets()) for marks in axis.collections) for axis in drawn.axes if axis.get_title(loc="left")]
    of = [points[run] for run in FIGURES[name][1]]
    assert shown == [int((of[i % 2]["corpus"] == corpus).sum()) for i, corpus in enumerate(["target"] * 4 + ["wiki"] * 2)]
    assert drawn._suptitle.get_text() == "A title"
    assert sorted(legends_of(drawn)[0]) == sorted(labels)
    assert [sorted(names) for names in legends_of(drawn)[1:]] == [["Chinese", "English", "German"]] * 2  # none in Turkish


def colours(drawn, row):
    axis = [axis for axis in drawn.axes if axis.get_legend()][row]
    handles = axis.get_legend().legend_handles
    return {line.get_label(): (line.get_color(), line.get_marker()) for line in handles}


def test_figure_2_has_the_marks_of_the_other_figures():
    drawn = legend(NAMES, TASKS, "Legends")
    languages, upos, inference = legends_of(drawn)
    assert languages == [*NAMES.values()]
    assert upos == sorted(LABELS["pos"]) and inference == sorted(LABELS["nli"])
    assert len(set(colours(drawn, 0).values())) == 4 and len(set(colours(drawn, 1).values())) == 17
    for name, labels, row in (("figure3", ("NOUN", "VERB"), 1), ("figure4", NLI, 2)):
        _, other = drawn_figure(name, labels)
        assert colours(other, 0).items() <= colours(drawn, row).items()
        assert colours(other, 1).items() <= colours(drawn, 0).items()
