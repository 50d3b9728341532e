"""muller2021: its recipes, and the scores and similarities that its tables are made of."""

import copy
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from conftest import LANGUAGES, write_states
from crosslens.config.heads import ARC, TASK
from crosslens.config.labels import ENTITIES, RELATIONS, UPOS
from crosslens.config.recipes import Edit
from crosslens.encoding.extract import text_means
from crosslens.encoding.texts import load as load_texts
from crosslens.encoding.tokens.schema import TOKENS
from crosslens.jobs import parquet
from crosslens.jobs import records as records_of
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from crosslens.measures import attachment, similarity
from crosslens.measures.kinds import KINDS
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import LAS_SEEN, LAS_WITH_SUBTYPES
from crosslens.papers import grid_search
from crosslens.papers.configuration import load
from crosslens.papers.inputs import Inputs
from crosslens.papers.muller2021 import recipes
from crosslens.papers.muller2021.hyperparameters import hyperparameters
from crosslens.papers.muller2021.names import BY_LANGUAGE, ITEMS, item_recipes
from crosslens.papers.muller2021.paper import measures
from crosslens.papers.muller2021.rows import rows
from crosslens.papers.muller2021.tables import table
from crosslens.reports.cells import Published
from crosslens.reports.paper import Need
from crosslens.training.run import PREDICTIONS
from goldens import assert_golden
from test_config import REPOSITORY

# Recipes


def resolve(name, config):
    """A training run or a trial by name."""
    trials = {trial.name: trial for job in recipes.trials(config).values() for trial in job}
    return (recipes.recipes(config) | trials)[name]


def test_published_settings(config):
    """550 training runs: 110 settings of five seeds, 63 of tables 1 and 6 to 8; three are ours (ALL, embeddings kept)."""
    found = [name for name, recipe in recipes.recipes(config).items() if recipe.stages]
    assert len(found) == len(set(found)) == 110 and len(config.papers.muller2021.seeds) == 5
    assert len([name for name in found if name in item_recipes("table1", ("en", "ru", "ar"))]) == 63
    assert len([name for name in found if "_domain" in name]) == 14
    needed = {recipe for item in ITEMS for recipe in item_recipes(item, ("en", "ru", "ar"))}
    assert needed == {*found, "muller2021/pretrained", "muller2021/untrained"}


def test_sets_are_named_by_blocks_that_count_from_1(config):
    assert [recipes.set_name(layers) for layers in ([1], [1, 2], [10, 11, 12], [2, 4], "all", "all_embeddings")] == [
        "1", "1-2", "10-12", "2_4", "all", "all_embeddings",
    ]  # fmt: skip
    assert resolve("muller2021/ner/en/init5-8", config).edit == Edit(layers=(5, 6, 7, 8))
    assert resolve("muller2021/ner/ru/init11-12", config).edit == Edit(layers=(11, 12))
    assert resolve("muller2021/ner/en/initall", config).edit == Edit(layers="all")
    for name in ("ner/en/ref", "pretrained"):
        assert not resolve(f"muller2021/{name}", config).edit.changes()
    assert resolve("muller2021/untrained", config).edit == Edit(layers="all", embeddings=True)


def test_further_sets_go_where_sets_are_shown():
    names = ("pretrained", "untrained", "pos/en/ref", "pos/en/init1-2", "pos/en/init1-4")
    assert item_recipes("figure7", ["en"], ["1-4", "1-2"]) == tuple(f"muller2021/{name}" for name in names)
    assert set(item_recipes("table7", ["ru"], ["1-4"])) - set(item_recipes("table7", ["ru"])) == {"muller2021/pos/ru/init1-4"}
    assert item_recipes("figure3", ["en"], ["1-4"]) == item_recipes("figure3", ["en"])


def test_recipes_differ_in_their_edit_alone(config):
    reference, edited = (resolve(f"muller2021/pos/ar/{of}", config).model_dump() for of in ("ref", "init3-4"))
    assert {key for key in reference if reference[key] != edited[key]} == {"name", "edit"}


@pytest.mark.parametrize(
    ("task", "labels", "by"), [("parsing", RELATIONS, "las"), ("pos", UPOS, "accuracy"), ("ner", ENTITIES, "spans")]
)
def test_tasks(config, task, labels, by):
    of = resolve(f"muller2021/{task}/ru/ref", config)
    kinds = {name: (head.kind, head.learns, head.labels) for name, head in of.heads.items()}
    assert kinds == {TASK: ("parser" if task == "parsing" else "linear", TASK, labels)} and of.select_by == by
    (stage,) = of.stages
    published = {"parsing": (15, 32, 5e-5), "pos": (6, 16, 5e-5), "ner": (6, 16, 3.5e-5)}
    assert (stage.epochs, stage.batch, stage.encoder_rate) == published[task]
    assert stage.select_data.languages == ("ru",) and stage.select_data.split == "validation"
    tests = {(score.data.corpus, score.data.split): score.data.languages for score in of.scores}
    if task == "ner":
        assert set(tests) == {("wikiann", "validation"), ("wikiann", "test")} and len(tests["wikiann", "test"]) == 17
    else:
        assert len(tests["pud", "test"]) == 16 and "sl" in tests["muller2021_ud", "test"] and "sl" not in tests["pud", "test"]


def test_tests_of_domains(config):
    """The news are read by the sentence; wu2019 reads the same corpus in windows."""
    domain, news = resolve("muller2021/pos/en_domain/ref", config), resolve("muller2021/ner/en/ref", config)

    def texts(recipe):
        return [(score.data.corpus, score.data.split, score.data.languages) for score in recipe.scores]

    assert texts(domain)[:3] == [
        ("muller2021_partut", "validation", ("en",)), ("muller2021_partut", "test", ("en", "fr")), ("lines", "test", ("en",)),
    ]  # fmt: skip
    assert ("conll2003", "test", ("en",)) in texts(news)
    tokenisation = config.tokenisations[news.tokenisation]
    assert (tokenisation.windows, tokenisation.maximum, tokenisation.drop_unknown) == (None, 501, False)


def test_settings_of_the_training_reach_the_recipe(values):
    values = copy.deepcopy(values)
    paper = values["papers"]["muller2021"]
    ours = {"training": {"epsilon": 1e-6, "keep": "last", "divide_twice": True, "dropout": 0.0, "length_pools": True,
                         "beta2": 0.99},
            "parser": {"relation_divisor": "words_plus_two", "subtypes": True}}  # fmt: skip

    def resolved(more):
        of = load(values | {"papers": values["papers"] | {"muller2021": paper | more}})
        return {task: resolve(f"muller2021/{task}/en/ref", of) for task in paper["tasks"]}

    defaults, changed = resolved({}), resolved(ours)

    def settings(of):
        (stage,) = of.stages
        (term,) = stage.phases[0].terms
        divisor = getattr(of.heads[TASK], "relation_divisor", None)
        return [of.epsilon, of.beta2, stage.keep, term.divided_twice, of.dropout, of.length_pools, divisor]

    assert settings(defaults["pos"]) == [1e-8, 0.999, "best", False, 0.1, False, None]  # the paper's, or silent
    assert settings(changed["pos"]) == settings(changed["ner"]) == [1e-6, 0.99, "last", True, 0.0, True, None]
    assert settings(defaults["parsing"]) == [1e-8, 0.999, "best", False, 0.1, False, "words"]
    # The tag loss alone is divided twice.
    assert settings(changed["parsing"]) == [1e-6, 0.99, "last", False, 0.0, True, "words_plus_two"]


def test_relations_with_subtypes_are_those_of_the_training_data(values):
    """Neither the recipe nor its scores write them out; the second definition of the tables is named after the setting."""
    paper = values["papers"]["muller2021"]
    for subtypes, labels, definition in ((False, RELATIONS, LAS_SEEN), (True, (), LAS_WITH_SUBTYPES)):
        muller = paper | {"parser": {"subtypes": subtypes}}
        of = load(values | {"papers": values["papers"] | {"muller2021": muller}})
        for source, corpus in (("en", "muller2021_ud"), ("ar", "muller2021_ud"), ("en_domain", "muller2021_partut")):
            recipe = resolve(f"muller2021/parsing/{source}/ref", of)
            assert recipe.heads[TASK].labels == labels and recipe.heads[TASK].subtypes == subtypes
            settings = measures(recipe, of)["attachment"]
            assert (settings["relations"], settings["training"]) == (labels, [(corpus, source[:2], "train")])
        study = recipes.study(of)
        for name in ("table1", "table2", "table5", "table6"):
            parsing = [row for row in rows(name, study) if row.task == "parsing"]
            assert {row.definition for row in parsing} == {"", definition}
            first, second = ([row for row in parsing if row.definition == way] for way in ("", definition))
            assert [replace(row, definition="") for row in second] == first and any(row.printed for row in second)


def test_every_score_of_a_printed_tables_recipes_is_shown(config):
    """No configured test set is left out of the tables in silence; validation is for table 5 alone."""
    study = recipes.study(config)
    shown = {(row.task, row.source, *text) for name in ITEMS if name in BY_LANGUAGE.values() or name in ("table2", "table5")
             for row in rows(name, study) for text in row.texts}  # fmt: skip
    for name, recipe in recipes.recipes(config).items():
        task, source = recipe.task, recipe.source
        for score in recipe.scores:
            for language in score.data.languages if score.data.split == "test" else ():
                own = score.data.corpus == study.own[task]
                # A source's models but English are shown on the parallel texts, and at home.
                elsewhere = task != "ner" and own and source in ("ru", "ar") and language not in (source, "sl")
                assert elsewhere or (task, source, score.data.corpus, language) in shown, (name, score.data.corpus, language)


def test_the_number_of_layers_is_the_encoders(tmp_path, config):
    records_of.write_json({"num_hidden_layers": 2}, tmp_path / "config.json")
    recipe = "muller2021/parsing/en/init1-2"
    records_of.write([], tmp_path / "scores.parquet", {})
    published = Published.read(REPOSITORY / "resources/published/muller2021.csv")
    inputs = Inputs([Need("attachment", recipe, (0,))], [[tmp_path / "scores.parquet"]], published, {}, {}, tmp_path)
    settings = {"recipes": [recipe], "study": asdict(recipes.study(config)), "further": []}
    remarks = table("table6", inputs, settings)["remark"]
    assert len(remarks) > 16 and remarks.str.contains("encoder with 2 layers, 12 in the paper").all()


@pytest.mark.parametrize(("task", "kind"), [("parsing", "attachment"), ("pos", "classification"), ("ner", "spans")])
def test_a_task_has_scores_of_its_kind(config, task, kind):
    asked = measures(resolve(f"muller2021/{task}/en/ref", config), config)
    assert set(asked) == {"similarity", "sentence_probes", "change", kind} <= KINDS.keys()
    assert set(measures(resolve("muller2021/pretrained", config), config)) == {"similarity", "sentence_probes"}
    assert measures(resolve(f"muller2021/{task}/en/ref/trials00/trial00", config), config) == {}


def test_grid(config):
    assert len(recipes.trials(config)) == 54
    assert resolve("muller2021/pos/en/ref/trials05/trial05", config).trial == {"batch": 32, "rate": 5e-5}
    of = resolve("muller2021/pos/en/ref/trials01/trial01", config)
    assert of.stages[0].encoder_rate == of.stages[0].head_rate == 2.5e-5 and of.stages[0].batch == 16
    assert [score.data.split for score in of.scores] == ["validation"]


# Scores


def predictions(path, parts):
    """parts: (head, corpus, split, language, gold, predicted), a list of sentences each."""
    rows = [
        {"head": head, "corpus": corpus, "split": split, "language": language, "id": f"s{i}", "gold": g, "predicted": p,
         "cut": i == 0, "cut_words": 2 * (i == 0)}
        for head, corpus, split, language, gold, predicted in parts
        for i, (g, p) in enumerate(zip(gold, predicted, strict=True))
    ]  # fmt: skip
    parquet.write(pa.Table.from_pylist(rows, schema=PREDICTIONS), path / "predictions.parquet")


def records(found):
    return {(row["corpus"], row["language"], row["definition"]): row for row in found}


def token_rows(folder, sentences):
    """Tokens of sentences with these (UPOS, relations)."""
    rows = [
        {name: [] for name in TOKENS.names}
        | {"id": f"s{i}", "language": "de", "labels": upos, "relations": relations, "label": "", "page": "", "second": 0,
           "cut": False, "cut_words": 0}
        for i, (upos, relations) in enumerate(sentences)
    ]  # fmt: skip
    parquet.write(pa.Table.from_pylist(rows, schema=TOKENS), folder / "de.test.parquet", {"special": [1, 1, 1]})


def test_las_of_parsers(tmp_path):
    """Three words: head and relation right, head right, punctuation right; the fourth's head was cut away."""
    heads, guess = [[2, 0, 2, -100], [0]], [[2, 0, 2, 1], [0]]
    relation = {name: RELATIONS.index(name) for name in RELATIONS}
    gold = [[relation["nsubj"], relation["root"], relation["punct"], relation["obj"]], [relation["root"]]]
    guessed = [[relation["obj"], relation["root"], relation["punct"], relation["obj"]], [relation["root"]]]
    predictions(tmp_path, [(TASK, "pud", "test", "de", gold, guessed), (ARC, "pud", "test", "de", heads, guess)])
    words = (["NOUN", "VERB", "PUNCT", "NOUN"], ["nsubj:pass", "root", "punct", "obj"]), (["VERB"], ["root"])
    token_rows(tmp_path / "pud", words)
    given = Subject(tmp_path, 0, {"pud": tmp_path / "pud"})
    found = records(attachment.measure(given, head=TASK, arcs=ARC, relations=RELATIONS))
    values = {definition: row["value"] for (_, _, definition), row in found.items()}
    cut = {"texts cut at the maximum": 1 / 2, "words cut away, not scored": 2 / 7}
    without = {"LAS without punctuation": 2 / 4, "UAS without punctuation": 3 / 4, "LAS without punctuation and root words": 0}
    assert values == {"LAS": 3 / 5, "UAS": 4 / 5} | without | cut
    assert found["pud", "de", "LAS"]["n"] == 5


def test_las_with_subtypes(tmp_path):
    """The fourth word's head is wrong, and training lacks obl:arg, whatever a parser says.

    A parser that names subtypes has another one for the third word, and one too many for the fifth.
    """
    heads, guess = [[2, 0, 2, 3, 2, 2]], [[2, 0, 2, 2, 2, 2]]
    gold = ["nsubj:pass", "root", "obl:tmod", "obj", "obl", "obl:arg"]
    token_rows(tmp_path / "pud", [(["NOUN"] * 6, gold)])
    training = ["nsubj:pass", "obj", "obl", "obl:agent", "obl:tmod", "root"]
    token_rows(tmp_path / "ewt", [(["NOUN"] * 6, training[::-1]), (["VERB"], ["root"])])
    given = Subject(tmp_path, 0, {"pud": tmp_path / "pud", "ewt": tmp_path / "ewt"})

    def scores(relations, guessed, **settings):
        names = relations or training
        codes = [[[names.index(name) if name in names else -100 for name in of]] for of in (gold, guessed)]
        predictions(tmp_path, [(TASK, "pud", "test", "de", *codes), (ARC, "pud", "test", "de", heads, guess)])
        rows = attachment.measure(given, head=TASK, arcs=ARC, relations=relations, **settings)
        return {row["definition"]: row["value"] for row in rows}

    read = {"training": [("ewt", "de", "test")]}
    named = scores((), ["nsubj:pass", "root", "obl:agent", "obj", "obl:agent", "obl"], **read)
    assert (named["LAS"], named["LAS with subtypes"]) == (5 / 6, 2 / 6)
    assert "LAS, relations unseen in training wrong" not in named
    bare = scores(RELATIONS, ["nsubj", "root", "obl", "obj", "obl", "obl"], **read)
    assert (bare["LAS"], bare["LAS, relations unseen in training wrong"]) == (5 / 6, 4 / 6)
    assert "LAS with subtypes" not in bare
    assert named["words of relations unseen in training"] == bare["words of relations unseen in training"] == 1 / 6
    without = scores(RELATIONS, ["nsubj", "root", "obl", "obj", "obl", "obl"])
    assert without == {name: value for name, value in bare.items() if "unseen" not in name}


# Similarity


def test_means_leave_special_subwords_out(bench, tokens):
    texts = load_texts([tokens / "sentences" / f"{language}.test.parquet" for language in LANGUAGES], (), (), "text")
    encoder = bench.encoder()
    found = text_means(encoder, texts)
    assert sorted(found) == ["layer_0", "layer_1", "layer_2"]
    for text in (0, 5, len(texts) - 1):
        subwords = texts.subwords[texts.subword_offsets[text] : texts.subword_offsets[text + 1]]
        states = encoder(input_ids=torch.tensor(subwords[None].astype(np.int64)), output_hidden_states=True).hidden_states
        for layer, of_layer in enumerate(states):
            assert np.allclose(found[f"layer_{layer}"][text], of_layer[0, 1:-1].mean(0).detach().numpy(), atol=1e-5)


def states(folder, ids, seed, language, base=None):
    generator = np.random.default_rng(seed)
    vectors = {f"layer_{layer}": generator.normal(size=(len(ids), 6)).astype(np.float32) for layer in (0, 1)}
    if base is not None:
        vectors["layer_1"] = base["layer_1"] @ np.linalg.qr(generator.normal(size=(6, 6)))[0].astype(np.float32)
    write_states(folder / "pud" / f"{language}.parquet", vectors, ids)
    write_checksums(folder / "pud")
    return vectors


def test_similarity(tmp_path):
    ids = [f"n{document:05d}{sentence:03d}" for document in range(1, 21) for sentence in range(2)]
    english = states(tmp_path, ids, 0, "en")
    states(tmp_path, ids, 1, "de", base=english)
    found = pd.DataFrame(similarity.measure(Subject(tmp_path, 0, {}), corpus="pud", reference="en", draws=10))
    value = found[found["measure"] == "cka"].set_index(["language", "layer", "definition"])["value"]
    assert value["de", 1, "linear"] == pytest.approx(1, abs=1e-4)  # a rotation
    assert value["de", 0, "linear"] < 0.5 and abs(value["de", 0, "debiased"]) < 0.3
    assert set(found["language"]) == {"de"} and set(found["measure"]) == {"cka", "cka floor"}
    assert set(found[found["definition"] == "linear"]["n"]) == {40}


def test_other_sentences_are_refused(tmp_path):
    ids = [f"n01001{sentence:03d}" for sentence in range(8)]
    states(tmp_path, ids, 0, "en")
    states(tmp_path, ids[:7] + ["n01002000"], 1, "de")
    message = r"de\.parquet: expected translations of the sentences of en, .* found others \(n01001007, n01002000\)"
    with pytest.raises(DataError, match=message):
        list(similarity.measure(Subject(tmp_path, 0, {}), corpus="pud", reference="en", draws=2))
    states(tmp_path, ids[::-1], 1, "de")
    with pytest.raises(DataError, match="in another order"):
        list(similarity.measure(Subject(tmp_path, 0, {}), corpus="pud", reference="en", draws=2))


# Table 3


def test_hyperparameters_beside_the_printed_ones(config):
    name = "muller2021/ner/en/ref"
    record = {"recipe": resolve(name, config).settings(), "seconds": 90, "device": "a GPU"}
    history = pd.DataFrame({"epoch": [1, 2], "score": [0.5, 0.4], "best_epoch": [1, 1]})
    published = Published.read(REPOSITORY / "resources/published/muller2021.csv")
    grid = config.papers.muller2021.search.model_dump()
    lines = hyperparameters({name: "ner"}, {(name, 0): record}, {(name, 0): history}, published, grid)
    assert_golden(pd.DataFrame(lines), "muller2021/table3")  # settings rest on no seed


def test_search_puts_the_best_first(tmp_path):
    values = {"task": "pos", "source": "en", "batch": 16}
    trials = {f"trial{i}": values | {"rate": rate} for i, rate in enumerate((1e-5, 5e-5))}
    scores = ([0.1, 0.2], [0.9, 0.8])
    histories = [(f"trial{i}", 0, tmp_path / f"{i}.csv") for i in range(2)]
    for (_, _, path), each in zip(histories, scores, strict=True):
        pd.DataFrame({"epoch": [1, 2], "score": each}).to_csv(path, index=False)
        write_checksums(path)
    lines = grid_search.lines(trials, histories, "score", {"pos": "POS"})
    found = [(line["row"], line["column"], line["here"]) for line in lines if line["seeds"] == 1]
    best, other = "POS, en, batch 16, rate 5e-05", "POS, en, batch 16, rate 1e-05"
    assert found == [(best, "score", 90), (best, "epoch", 1), (other, "score", 20), (other, "epoch", 2)]
