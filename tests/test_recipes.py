"""Recipes: their settings, their heads, whose weights are kept."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from crosslens.config.heads import LANGUAGE, TASK, LinearHead
from crosslens.config.labels import NLI, UPOS
from crosslens.config.recipes import Recipe
from crosslens.papers import papers
from crosslens.reports.studies import Studies
from pydantic import ValidationError

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def every(config):
    """All recipes of the full study, and the trials."""
    studies = Studies(config, papers())
    recipes = [recipe for _, recipe in studies.recipes.values()]
    return recipes + [trial for _, job in studies.trials.values() for trial in job]


def plain(heads) -> Recipe:
    return Recipe(name="test", encoder="tiny", tokenisation="whole", heads=heads, stages=(), scores=(), init_sd=0.02, dropout=0.1)


def test_settings_give_the_recipe_back(every):
    assert len(every) > 300
    for recipe in every:
        assert Recipe.model_validate(json.loads(json.dumps(recipe.settings()))) == recipe


def test_a_new_field_with_a_default_changes_no_settings(every):
    class Later(Recipe):
        """A recipe of a later version."""

        repetitions: int = 1
        further: LinearHead | None = None

    for recipe in every:
        assert Later.model_validate(recipe.settings()).settings() == recipe.settings()
    assert Later.model_validate(every[0].settings() | {"repetitions": 2}).settings() == every[0].settings() | {"repetitions": 2}


@pytest.mark.parametrize(
    ("paper", "digest"),
    [
        ("tanti2021", "4748d52d3635042556a958bdda872ccb7c582551d12f82b7ed7e5b1fd4ba7c23"),
        ("muller2021", "93981b27c3d353a398d042fda17a7f568dcad62017d20c6a3324f5b800080a99"),
    ],
)
def test_settings_stay_as_they_are(config, paper, digest):
    """Golden, since other settings rerun every training run of the full study."""
    (found,) = (one for one in papers() if one.key == paper)
    made = [*found.recipes(config).values(), *(trial for job in found.trials(config).values() for trial in job)]
    assert hashlib.sha256(json.dumps([recipe.settings() for recipe in made]).encode()).hexdigest() == digest


def test_heads_that_learn_the_same_have_the_same_labels():
    of = plain({TASK: LinearHead(labels=UPOS), "another": LinearHead(labels=UPOS, layer=3)})
    assert of.labels(TASK) == UPOS and of.labels(LANGUAGE) == ()
    with pytest.raises(ValidationError, match="test: expected the same labels for all heads that learn 'task', found others"):
        plain({TASK: LinearHead(labels=UPOS), "another": LinearHead(labels=NLI)})


def test_fields_say_what_names_show(every):
    for recipe in every:
        paper, *rest = recipe.name.split("/")
        assert recipe.paper == paper
        named = rest[0] if len(rest) > 1 and rest[0] not in ("pretrained", "untrained") and paper != "passport" else None
        assert (recipe.task, bool(recipe.trial)) == (named, rest[-1].startswith("trial"))
        if paper == "passport":
            assert recipe.source is None
        elif paper in ("muller2021", "liang2021", "wu2019"):
            assert recipe.source == (rest[1] if recipe.task not in (None, LANGUAGE) else None)
        elif paper == "liu2020":
            assert recipe.source == ("en" if recipe.task == "nli" else None)
        else:
            assert recipe.source == "en"
        for name, head in recipe.heads.items():
            assert name.startswith(head.learns)


def test_a_trial_is_named_after_its_job(config):
    jobs = [(name, trial) for name, (_, job) in Studies(config, papers()).trials.items() for trial in job]
    assert len(jobs) == 274 and all(Path(trial.name).parent == Path(name) for name, trial in jobs)


def test_weights_are_kept_where_hidden_states_are_asked_of_them(every):
    """muller2021 compares states of English models: as they are, with blocks 1 and 2 re-initialised, and before training."""
    kept = {recipe.name for recipe in every if recipe.keeps_weights}
    assert {name for name in kept if name.startswith("tanti2021/")} == {
        recipe.name for recipe in every if recipe.paper == "tanti2021" and not recipe.trial
    }
    assert {name for name in kept if name.startswith("muller2021/")} == {
        "muller2021/pretrained", "muller2021/untrained",
        *(f"muller2021/{task}/en/{layers}" for task in ("parsing", "pos", "ner") for layers in ("ref", "init1-2")),
    }  # fmt: skip


def test_planning_needs_neither_torch_nor_pandas():
    code = "import sys; from crosslens.papers import papers; papers(); "
    code += "print([name for name in ('torch', 'pandas', 'numpy') if name in sys.modules])"
    options = {"cwd": ROOT / "workflow", "capture_output": True, "text": True, "check": True}
    assert subprocess.run([sys.executable, "-c", code], **options).stdout == "[]\n"
