"""tanti2021: recipes, tables against the published values, figures."""

import json
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import NLI
from crosslens.config.base import languages_table
from crosslens.config.heads import LANGUAGE, TASK
from crosslens.config.recipes import ENCODER, Edit
from crosslens.config.units import Units
from crosslens.numerics.definitions import ACCURACY, PROBE_ACROSS, PROBE_RANDOM, PROBE_WITHIN, TRANSFER, V_CHANCE
from crosslens.papers.configuration import load
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.figures import record, scattered
from crosslens.papers.tanti2021.names import FIGURES, MICRO_F1, PAPER_F1, TABLES, V_PAPER, chance, recipe_name
from crosslens.papers.tanti2021.recipes import recipes
from crosslens.papers.tanti2021.records import named
from crosslens.papers.tanti2021.samples import samples
from crosslens.papers.tanti2021.tables import table_of
from crosslens.papers.tanti2021.tables_and_figures import items
from crosslens.reports.cells import Published
from goldens import assert_golden

ROOT = Path(__file__).parents[1]
TASKS = ("pos", "nli")
PRINTED = ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation")
RUNS = (*PRINTED, "untrained", "no_adversary", "true_entropy")
LANGUAGES = {code: languages_table()[code] for code in ("zh", "de", "en", "tr")}
CONFIGURED = dict.fromkeys(TASKS, (*RUNS, "several_languages"))


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
    return recipes(config)[recipe_name(task, run)]


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
    settings = config.papers.tanti2021.tasks[task].runs[run]
    assert (of.dropout, of.init_sd, first.batch) == (0.1, settings.init_sd, settings.batch)
    assert (first.head_rate, first.encoder_rate) == (settings.head_rate, settings.encoder_rate or 0)
    assert {name: (head.learns, len(head.labels)) for name, head in of.heads.items()} == {
        TASK: (TASK, labels), LANGUAGE: (LANGUAGE, 33)
    }  # fmt: skip
    assert (of.warmup, of.decay, of.weight_decay, of.clip, of.precision) == (0, "none", 0, None, "float32")
    trained = [term.data for phase in first.phases for term in phase.terms if term.head == TASK]
    assert trained == [trained[0]] and trained[0].languages == ("en",) and trained[0].split == "train"


def test_heads_read_words_for_pos_and_the_pooler_for_nli(values, config):
    assert recipe("pos", "frozen", config).units == Units(unit="word", state="hidden", segments=False)
    assert recipe("nli", "frozen", config).units == Units(unit="text", state="pooler", segments=False)
    other = changed(values, "nli", state="hidden", segments=True)
    assert recipe("nli", "frozen", other).units == Units(unit="text", state="hidden", segments=True)


def test_several_languages_have_as_many_texts_together_as_one(values):
    """The training differs from the fine-tuned run in its texts alone, which `capped_by` limits."""
    changed = deepcopy(values)
    changed["corpora"]["udpos"]["source_languages"] = ["en", "de", "zh"]
    runs = changed["papers"]["tanti2021"]["tasks"]["pos"]["runs"]
    runs["several_languages"] = runs["finetuned"] | {"languages": ["en", "de", "zh"]}
    one, several = (recipe("pos", run, load(changed)).stages[0] for run in ("finetuned", "several_languages"))
    texts = several.phases[0].terms[0].data, several.select_data
    assert [(data.split, data.languages, data.capped_by) for data in texts] == [
        (split, ("en", "de", "zh"), "en") for split in ("train", "validation")
    ]
    assert several.model_copy(update={"phases": one.phases, "select_data": one.select_data}) == one


@pytest.mark.parametrize("task", TASKS)
def test_controls_differ_from_what_they_control_in_one_thing(config, task):
    rates = {run: recipe(task, run, config).stages[0] for run in RUNS}
    without = {"phases": (), "watch": (), "head_rates": {}}
    assert rates["no_adversary"].model_copy(update=without) == rates["gradient_reversal"].model_copy(update=without)
    phases = [rates[run].phases for run in ("true_entropy", "entropy_maximisation")]
    assert [phase[1].terms[1].loss for phase in phases] == ["entropy", "uniformity"]
    both = [json.dumps([each.model_dump() for each in phase]).replace('"uniformity"', '"entropy"') for phase in phases]
    assert both[0] == both[1]


def learnt(phase):
    """What a phase updates, and head, loss, weight and reversal of its terms."""
    return set(phase.update), [(term.head, term.loss, term.weight, term.reversal) for term in phase.terms]


@pytest.mark.parametrize(("task", "weight"), [("pos", 0.7), ("nli", 0.1)])
@pytest.mark.parametrize("run", RUNS)
def test_phases_of_the_task_stage(config, task, weight, run):
    """Gradient reversal is a second term, unweighted; entropy maximisation has two phases, of the language first."""
    of = recipe(task, run, config)
    label = (TASK, "cross_entropy", 1.0, None)
    alone, both = ({TASK}, [label]), ({ENCODER, TASK}, [label])
    reversal = {ENCODER, TASK, LANGUAGE}, [label, (LANGUAGE, "cross_entropy", 1.0, 0.1)]
    language = {LANGUAGE}, [(LANGUAGE, "cross_entropy", 1.0, None)]
    uniform, entropy = (  # the language head is in no optimiser here
        ({ENCODER, TASK}, [(TASK, "cross_entropy", 1 - weight, None), (LANGUAGE, loss, weight, None)])
        for loss in ("uniformity", "entropy")
    )
    phases = {
        "frozen": [alone], "untrained": [alone], "finetuned": [both], "no_adversary": [both], "gradient_reversal": [reversal],
        "entropy_maximisation": [language, uniform], "true_entropy": [language, entropy],
    }  # fmt: skip
    first = of.stages[0]
    assert [learnt(phase) for phase in first.phases] == phases[run]
    assert first.trains_encoder() == (phases[run] != [alone])
    assert of.edit == (Edit(layers="all", embeddings=True) if run == "untrained" else Edit())
    assert {term.data.corpus for phase in first.phases for term in phase.terms if term.head == LANGUAGE} <= {"wikipedia"}
    if len(phases[run]) == 2:
        assert first.phases[0].at_most == first.phases[1].terms[0].data


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


@pytest.mark.parametrize(("task", "corpus", "points"), [("pos", "udpos", 10), ("nli", "xnli", 50)])
def test_samples_have_the_sizes_of_appendix_b(config, published, task, corpus, points):
    of = samples(config)[f"tanti2021/{task}"].corpora
    assert list(of) == [corpus, "wikipedia"]
    assert (of[corpus].sample_per_label, of[corpus].sample_per_language) == (points, None)
    assert (of["wikipedia"].sample_per_label, of["wikipedia"].sample_per_language) == (None, 100)
    printed = published[published["column"] == "t-SNE/V-measure sample"].set_index(["row", "metric"])["value"]
    assert printed[{"pos": "UDPOS", "nli": "XNLI"}[task], "maximum points per unit"] == points
    assert printed["Wikipedia", "maximum points per unit"] == 100


# Tables.


def score(item, run, value, definition=PAPER_F1, measure="score", seed=0, task="pos"):
    """A record as `named` leaves it."""
    return {"item": item, "recipe": f"tanti2021/{task}/{run}", "seed": seed, "measure": measure, "definition": definition,
            "value": value, "low": value - 0.01, "high": value + 0.01, "n": 900, "gradient": None, "converged": None}  # fmt: skip


def scores(name, definition=PAPER_F1):
    spec = TABLES[name]
    return pd.DataFrame(
        [score(item, run, (i + j / 10 + 1) / 10, definition, task=task)
         for i, item in enumerate(spec.rows.values()) for j, run in enumerate(spec.runs) if run != "spelling" for task in TASKS]
    )  # fmt: skip


def table(name, rows, published, runs=CONFIGURED):
    return table_of(name, rows, Published(published), runs)


def test_records_get_the_papers_names():
    rows = [
        ("task", "udpos", "all", "macro F1 of chunks of bare tags"), ("language", "udpos", "all", "accuracy"),
        ("language", "wikipedia", "all", "accuracy"), ("language", "wikipedia", "de", "accuracy"),
        ("labels", "udpos", "all", "V-measure"), ("language 1e-01", "wikipedia", "all", "accuracy"),
    ]  # fmt: skip
    records = pd.DataFrame(rows, columns=["item", "corpus", "language", "definition"]).assign(
        measure="score", task="pos", recipe="tanti2021/pos/frozen"
    )
    spelling = records.iloc[[1]].assign(measure="spelling")
    adversary = records.iloc[[1]].assign(measure="adversary", corpus=None)
    found = named(pd.concat([records, spelling, adversary]), "wikipedia")
    assert list(zip(found["item"], found["definition"], strict=True)) == [
        ("task", PAPER_F1), ("language, target", ACCURACY), ("language, wiki", ACCURACY), ("labels", V_PAPER),
        ("language 1e-01, wiki", ACCURACY), ("language, target", ACCURACY), ("adversary, wiki", ACCURACY),
    ]  # fmt: skip
    assert found["recipe"].tolist() == ["tanti2021/pos/frozen"] * 5 + ["tanti2021/pos/spelling", "tanti2021/pos/frozen"]


def test_footnote_6_stands_beside_its_printed_scores(published):
    """None of ours under XTREME's name."""
    rows = [score("task", "finetuned", 0.7, MICRO_F1), score("task", "finetuned", 0.6, ACCURACY, task="nli"),
            score("task", "finetuned", 0.1, ACCURACY), score("task", "finetuned", 0.2, PAPER_F1, task="nli"),
            score("task", "frozen", 0.3, MICRO_F1),
            score("language, target", "finetuned", 0.4, ACCURACY, task="nli")]  # fmt: skip
    assert_golden(table("footnote6", pd.DataFrame(rows), published), "tanti2021/footnote6")


@pytest.mark.parametrize("name", ["table1", "table2", "table3"])
def test_scores_of_several_seeds_and_definitions(published, name):
    """One run has a single seed, one a probe that did not converge, and XNLI only some of the runs."""
    first = scores(name)
    rows = pd.concat([first.assign(seed=seed, n=900 - 5 * seed, value=first["value"] + seed / 99) for seed in range(3)])
    usual = scores(name, ACCURACY if name != "table3" else "adjusted mutual information")
    probes = scores(name, PROBE_RANDOM).assign(measure="probe", gradient=1e-7, converged=True)
    probes.iloc[-1, [*probes.columns].index("converged")] = False
    rows = pd.concat([rows, usual, probes])
    rows = rows[(rows["seed"] == 0) | ~rows["recipe"].str.endswith("finetuned")]
    found = table(name, rows, published, {"pos": RUNS, "nli": ("frozen", "gradient_reversal", "true_entropy")})
    assert_golden(found, f"tanti2021/{name}")


def test_guessing_has_an_accuracy_and_no_f1():
    assert [chance(task, TRANSFER) for task in TASKS] == [100 / 17, 100 / 3]
    assert chance("nli", ACCURACY) == 100 / 3 and chance("nli", PAPER_F1) == 0


def test_tables_and_figures_of_texts_with_unknown_subwords_read_how_many_there_are(values, config):
    values_with_unknown = deepcopy(values)
    values_with_unknown["tokenisations"]["without_unknown"]["drop_unknown"] = False
    items_without_unknown, items_with_unknown = items(config), items(load(values_with_unknown))
    corpora = {"table1": ("udpos", "xnli", "wikipedia"), "figure3": ("udpos", "wikipedia"), "figure6": ("xnli", "wikipedia")}
    for name, read in corpora.items():
        assert (items_with_unknown[name].tokenizer, items_with_unknown[name].corpora) == (True, read)
        assert (items_without_unknown[name].tokenizer, items_without_unknown[name].corpora) == (False, ())
    facts = {
        name: record(name, Inputs([], [], Published.empty(), {}, {}), items_with_unknown[name].settings)
        for name in (*corpora, "figure2")
    }
    assert facts.pop("figure2") == {}  # no texts
    assert [*facts.values()] == [{"tokenisation": "without_unknown", "drop_unknown": False}] * len(corpora)


# Figures.


def planted_points(seed, labels):
    """Points of two corpora in three languages, some of every kind."""
    generator, n = np.random.default_rng(seed), 90
    frame = pd.DataFrame({"x": generator.normal(size=n), "y": generator.normal(size=n), "language": ["de", "en", "zh"] * 30})
    target = frame.assign(corpus="target", label=[labels[i % len(labels)] for i in range(n)])
    return pd.concat([target, frame[:60].assign(corpus="wiki", label="")])


def drawn_figure(name, labels):
    task, runs = FIGURES[name]
    points = {recipe_name(task, run): planted_points(i, labels) for i, run in enumerate(runs)}
    rows = []
    for of in TASKS:  # the other task's are not shown
        shift = 0 if of == task else 0.1
        for run in PRINTED:
            for item in TABLES["table1"].rows.values():
                rows += [score(item, run, 0.512 + shift, task=of), score(item, run, 0.934 + shift / 10, ACCURACY, task=of)]
            for item in ("language, target", "language, wiki"):
                rows.append(score(item, run, 0.604 + shift, PROBE_ACROSS, "probe", task=of))
            rows.append(score("language, target", run, 0.715 + shift, PROBE_WITHIN, "probe", task=of))
            for item in TABLES["table3"].rows.values():
                rows += [score(item, run, 0.228 + shift, V_PAPER, "clusters", task=of)]
                rows += [score(item, run, 0.031 + shift, V_CHANCE, "clusters", task=of)]
    table = pd.concat([part.assign(recipe=recipe) for recipe, part in points.items()])
    return scattered(name, table, pd.DataFrame(rows), LANGUAGES, "A title")


@pytest.mark.parametrize(("name", "labels"), [("figure3", ("NOUN", "VERB")), ("figure6", NLI)])
def test_figures_have_six_panels_that_say_what_they_show(name, labels):
    """Points and name of each class, none in Turkish, and below them the scores of each panel."""
    figure = drawn_figure(name, labels)
    table = figure.axes[-1].tables[0]
    assert figure.get_suptitle() == "A title"
    rows = []
    for axis in figure.axes:
        names = [text.get_text() for text in axis.texts]
        numbers = [len(dots.get_offsets()) for dots in axis.collections if not dots.get_rasterized()]  # but the grey ones
        title = axis.get_title(loc="left").replace("\n", " | ")
        rows += [(title, *each) for each in zip(names, numbers, strict=True)]
    rows += [(cell.get_text().get_text(), "score", line) for (line, _), cell in sorted(table.get_celld().items())]
    assert_golden(pd.DataFrame(rows, columns=["panel", "class", "points"]), f"tanti2021/{name}")
