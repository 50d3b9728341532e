"""wu2019: what is trained, measured and shown at published scale, and what the configuration refuses."""

from copy import deepcopy

import pytest
from crosslens.config.heads import LANGUAGE, TASK, Mix, ParserHead
from crosslens.config.labels import ENTITIES, NLI, RELATIONS, TOPICS, UPOS
from crosslens.config.recipes import ENCODER, Edit
from crosslens.config.units import Units
from crosslens.jobs.errors import DataError
from crosslens.papers.configuration import load
from crosslens.papers.wu2019.names import IDENTIFICATION, TASKS, UNTRAINED
from crosslens.papers.wu2019.paper import PAPER
from crosslens.papers.wu2019.recipes import PRINTED, recipes, study, trials
from crosslens.papers.wu2019.tables_and_figures import items

VARIANTS = {"full", "freeze0", "freeze3", "freeze6", "freeze9", "features"}
LABELS = {"topic": TOPICS, "nli": NLI, "ner": ENTITIES, "pos": UPOS, "parsing": RELATIONS}


@pytest.fixture(scope="module")
def made(config):
    return recipes(config)


def test_every_task_is_trained_from_english_and_in_each_language(config, made):
    named = [name.split("/")[1:] for name in made if name not in (IDENTIFICATION, UNTRAINED)]
    for task, languages in {"topic": 8, "nli": 15, "ner": 5, "pos": 15, "parsing": 31}.items():
        of_task = [(language, variant) for each, language, variant in named if each == task]
        extra = {"pos", "released_root"} if task == "parsing" else set()
        assert {variant for language, variant in of_task if language == "en"} == VARIANTS | extra
        others = [(language, variant) for language, variant in of_task if language != "en"]
        assert len(others) == languages - 1 and {variant for _, variant in others} == {"full"}
        assert made[f"wu2019/{task}/en/full"].heads[TASK].labels == LABELS[task]
    assert len(made) == len(named) + 2 == 103


def test_english_is_tested_in_all_languages_and_others_in_their_own(config, made):
    for task in TASKS:
        tests = config.papers.wu2019.corpora(task, config, "test")
        for name, recipe in made.items():
            if name.startswith(f"wu2019/{task}/"):
                scored = [(code, data.corpus) for data in (score.data for score in recipe.scores) if data.split == "test"
                          for code in data.languages]  # fmt: skip
                source = recipe.source
                assert dict(scored) == (tests if source == "en" else {source: tests[source]}) and len(dict(scored)) == len(scored)
    assert {data.corpus for data in made["wu2019/ner/en/full"].data()} == set(PRINTED["ner"])


def test_epochs_are_selected_on_the_development_data_of_the_language_of_training(made):
    for name, recipe in made.items():
        if recipe.task != LANGUAGE:
            (stage,) = recipe.stages
            split = "dev" if recipe.task == "nli" else "validation"
            assert stage.select_data.languages == (recipe.source,) and stage.select_data.split == split, name
            assert stage.keep == "best"


def test_translated_training_may_choose_its_epoch_on_english(values, made):
    changed = deepcopy(values)
    changed["papers"]["wu2019"]["tasks"]["nli"]["selection"] = "source"
    for name, recipe in recipes(load(changed)).items():
        own = made[name].stages[0].select_data
        expected = own.model_copy(update={"languages": ("en",)}) if name.startswith("wu2019/nli/") else own
        assert recipe.stages[0].select_data == expected


def test_what_the_paper_does_not_say_is_as_released(made):
    """Dropout of what heads read (model/base.py, 63), no clipping (train.py, 75), sizes (dependency_parser.py, 636-639)."""
    assert {(recipe.input_dropout, recipe.dropout, recipe.clip) for recipe in made.values()} == {(0.2, 0.0, None)}
    parser = made["wu2019/parsing/en/full"].heads[TASK]
    assert (parser.arc, parser.relation, parser.dropout, parser.activation) == (512, 128, 0.33, "elu")
    assert made["wu2019/parsing/en/pos"].heads[TASK].tag_size == 100
    assert made[IDENTIFICATION].tokenisation == "sentence_pairs_english"


def test_blocks_are_frozen_from_the_embeddings_up(made):
    for number in (0, 3, 6, 9):
        (phase,) = made[f"wu2019/pos/en/freeze{number}"].stages[0].phases
        assert phase.frozen_layers == number and ENCODER in phase.update
    full, frozen = (made[f"wu2019/pos/en/{variant}"] for variant in ("full", "freeze3"))
    same = {"name", "stages"}
    assert full.model_dump(exclude=same) == frozen.model_dump(exclude=same)


def test_features_read_all_layers_of_an_encoder_that_stays(made):
    for task in TASKS:
        recipe = made[f"wu2019/{task}/en/features"]
        (stage,) = recipe.stages
        assert recipe.heads[TASK].mix == Mix(lstm_layers=2, lstm_size=768, pool=task in ("topic", "nli"))
        assert stage.phases[0].update == (TASK,) and not recipe.trains_encoder()
        rates = (stage.head_rate, stage.halving.floor, stage.batch, recipe.decay, recipe.weight_decay)
        assert rates == (1e-3, 1e-5, 32, "none", 0)
        expected = Units(unit="text", state="words", segments=True) if task in ("topic", "nli") else Units()
        assert recipe.units == expected


def test_parsers_differ_in_tags_and_root(made):
    variants = ("full", "pos", "released_root", "features")
    heads = {variant: made[f"wu2019/parsing/en/{variant}"].heads[TASK] for variant in variants}
    assert all(isinstance(head, ParserHead) for head in heads.values())
    assert {variant: (head.root, head.tag_size) for variant, head in heads.items()} == {
        "full": ("first", 0), "pos": ("first", 100), "released_root": ("as_released", 0), "features": ("first", 0),
    }  # fmt: skip
    assert made["wu2019/parsing/cs/full"].heads[TASK] == heads["full"]


def test_the_grid_has_twelve_settings(config, made):
    jobs = trials(config)
    assert len(jobs) == 60
    values = [tuple(job[0].trial.values()) for name, job in jobs.items() if name.startswith("wu2019/ner/")]
    assert len(set(values)) == 12 and (3e-5, 32, 3) in values
    for job in jobs.values():
        (trial,) = job
        (stage,) = trial.stages
        assert (stage.encoder_rate, stage.batch, stage.epochs) == tuple(trial.trial.values())
        assert [score.data.split for score in trial.scores] == [stage.select_data.split]
        default = made[f"wu2019/{trial.task}/en/full"].stages[0]
        assert stage.model_copy(update={"encoder_rate": 3e-5, "head_rate": 3e-5, "batch": 32, "epochs": 3}) == default


def test_languages_are_identified_at_each_layer_by_a_stage_of_its_own(made):
    pretrained, untrained = made[IDENTIFICATION], made[UNTRAINED]
    assert [head.layer for head in pretrained.heads.values()] == [*range(13)]
    assert len(pretrained.labels(LANGUAGE)) == 99
    for stage, head in zip(pretrained.stages, pretrained.heads, strict=True):
        assert stage.new_heads == stage.phases[0].update == (head,) and stage.select_head == head
    assert pretrained.units.state == "mean" and not pretrained.edit.changes()
    assert untrained.edit == Edit(layers="all", embeddings=True) and untrained.stages == pretrained.stages


def test_every_item_has_its_measures(config, made):
    shown = items(config)
    assert [name for name in shown if name.startswith(("table", "figure"))] == [
        *(f"table{number}" for number in range(2, 7)), "figure1", "figure1_cells", "figure2", "figure3", "table1",
    ]  # fmt: skip
    for name, item in shown.items():
        for need in item.needs:
            if not item.searched:
                assert need.kind in PAPER.measures(made[need.recipe], config), (name, need)
    assert {need.recipe for need in shown["table6"].needs} == {name for name in made if "/parsing/" in name
        and not name.endswith(("freeze0", "freeze3", "freeze6", "freeze9", "features"))}  # fmt: skip
    assert len(shown["search"].needs) == 60 and shown["search"].searched


def test_topics_are_those_of_the_corpora(values):
    changed = deepcopy(values)
    changed["papers"]["wu2019"]["tasks"]["topic"] |= {"corpora": ["sib200"]}
    other = load(changed)
    made = recipes(other)
    assert items(other)["table2"].shows == "Document classification (SIB-200 instead of MLDoc)"
    topics = [recipe for recipe in made.values() if recipe.task == "topic"]
    assert {recipe.heads[TASK].labels for recipe in topics} == {tuple(values["corpora"]["sib200"]["labels"])}
    assert len(made["wu2019/topic/en/full"].heads[TASK].labels) == 7
    (tests,) = [score.data for score in made["wu2019/topic/en/full"].scores if score.data.split == "test"]
    assert tests.corpus == "sib200" and len(tests.languages) == 38
    assert {recipe.source for recipe in topics} == {*values["corpora"]["mldoc"]["languages"]}  # table 2, in-language rows


def test_substitutes_are_named(config, values):
    assert study(config).substitutes == {}
    changed = deepcopy(values)
    changed["papers"]["wu2019"]["tasks"]["ner"] = {"corpora": ["conll2002", "wikiann"]}
    other = load(changed)
    found = study(other)
    assert found.substitutes == {"ner": ["CoNLL-2002", "WikiANN (PAN-X)"]}
    instead = "CoNLL-2002 and WikiANN (PAN-X) instead of CoNLL-2002, CoNLL-2003 and MSRA"
    shown, before = items(other), items(config)
    assert shown["table4"].shows == f"{before['table4'].shows} ({instead})" and shown["table2"].shows == before["table2"].shows
    assert all(f"Named entities: {instead}." in shown[name].caption for name in ("table1", "figure1", "figure1_cells", "figure3"))
    assert shown["figure2"] == before["figure2"] and shown["overlap"].caption == before["overlap"].caption
    assert found.tests["ner"]["es"] == "conll2002" and found.tests["ner"]["fr"] == "wikiann"
    assert found.trains["ner"]["en"] == "wikiann"  # of two corpora the first that has training data


def test_an_encoder_of_unknown_depth_is_refused(values):
    changed = deepcopy(values)
    del changed["encoders"]["mbert"]["depth"]
    with pytest.raises(DataError, match="identification: expected a known number of layers for encoders.mbert: set depth"):
        load(changed)
    changed["papers"]["wu2019"]["identification"] = None
    load(changed)
