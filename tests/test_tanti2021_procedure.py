"""tanti2021: what a training does, against the authors' released code (mtanti/mbert-language-specificity at 7b64d0a).

docs/procedure/tanti2021.md names the test of each of its lines.
"""

import logging
import re
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import LANGUAGES, NLI, UPOS
from crosslens.config.heads import LANGUAGE, TASK, LinearHead
from crosslens.config.recipes import Data, Recipe
from crosslens.encoding.batches import collate
from crosslens.encoding.unit_states import unit_states
from crosslens.papers.tanti2021 import recipes
from crosslens.training.loop import Loop
from crosslens.training.step import Step
from torch.nn import functional

ROOT = Path(__file__).parents[1]
TASKS = ("pos", "nli")
RUNS = ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation")
TRAIN = {"udpos": 18_906, "xnli": 351_340, "wikipedia": 115_500}  # texts (tanti2021, appendix A)
# Steps of an epoch of each phase of the task stage, and of the language stage.
STEPS = {
    ("pos", "frozen"): ([1_182], 7_219), ("pos", "finetuned"): ([296], 1_805),
    ("pos", "gradient_reversal"): ([591], 3_610), ("pos", "entropy_maximisation"): ([591, 591], 3_610),
    ("nli", "frozen"): ([5_490], 1_805), ("nli", "finetuned"): ([5_490], 1_805),
    ("nli", "gradient_reversal"): ([10_980], 3_610), ("nli", "entropy_maximisation"): ([3_610, 10_980], 3_610),
}  # fmt: skip
# Seconds of an epoch in the authors' search, where nothing but the task's validation is timed with it: the median of the five
# of the first set of batch 32 in experiments/hyperparam_search/*/log.txt.
SECONDS = {
    ("pos", "finetuned"): 206, ("pos", "gradient_reversal"): 453, ("pos", "entropy_maximisation"): 699,
    ("nli", "finetuned"): 4_388, ("nli", "gradient_reversal"): 8_932, ("nli", "entropy_maximisation"): 10_425,
}  # fmt: skip
# The same of the published pos/gradient_reversal (experiments/experiment/lang_grad_rev_tag/log.txt): of the task stage, which
# Wikipedia's validation makes longer than in the search, and of the language stage, which has that too.
WITH_LANGUAGE = 524, 1_587


def published(config, task: str, run: str) -> Recipe:
    return recipes.recipes(config)[f"tanti2021/{task}/{run}"]


# The number of steps, from the plan alone.


def steps(of: Recipe, batch: int | None = None) -> list[list[int]]:
    """Steps of an epoch of each phase of each stage at the paper's sizes."""
    sizes = {data: TRAIN.get(data.corpus, 0) for data in of.data()}
    return [[phase.steps(batch or stage.batch, sizes) for phase in stage.phases] for stage in of.stages]


@pytest.mark.parametrize(("task", "run"), STEPS)
def test_steps_of_an_epoch_are_the_authors(config, task, run):
    of = published(config, task, run)
    main, language = STEPS[task, run]
    assert steps(of) == [main, [language]]
    assert [stage.epochs for stage in of.stages] == [5, 5]
    for number in range(20):  # the search leaves the language stage out and takes other batches
        (trial,) = recipes.trials(config)[f"tanti2021/{task}/{run}/trials{number:02d}"]
        assert steps(trial) == steps(of, trial.stages[0].batch)[:1]


def test_steps_fit_the_authors_logs(config):
    """A step on 32 paragraphs takes as long wherever the logs have one, 0.41 to 0.42 s; with 3,610 in a main XNLI epoch, 1.26."""
    of = {key: steps(published(config, *key), 32)[0] for key in SECONDS}
    seconds = []
    for task in TASKS:
        supervised, reversal, entropy = ((task, run) for run in RUNS[1:])
        assert of[supervised] == of[reversal] == of[entropy][1:]
        seconds.append((SECONDS[reversal] - SECONDS[supervised]) / of[reversal][0])
        seconds.append((SECONDS[entropy] - SECONDS[reversal]) / of[entropy][0])
    main, language = WITH_LANGUAGE
    validation = main - SECONDS["pos", "gradient_reversal"]
    seconds.append((language - validation) / steps(published(config, "pos", "gradient_reversal"))[1][0])
    assert max(seconds) < 1.02 * min(seconds)


# The published plans on the tests' texts.

CORPORA = {"udpos": "sentences", "xnli": "pairs", "wikipedia": "paragraphs"}


def small(config, task: str, run: str, *, languages=LANGUAGES, **stage) -> Recipe:
    """A published training on the tests' texts. languages: of the paragraphs to learn from; stage: changes to every stage."""

    def on_tests(value):
        if isinstance(value, dict) and value.keys() == Data.model_fields.keys():
            learnt = value["corpus"] == "wikipedia" and value["split"] == "train"
            known = ("en",) if len(value["languages"]) == 1 else languages if learnt else LANGUAGES
            return {"corpus": CORPORA[value["corpus"]], "split": value["split"], "languages": known}
        if isinstance(value, dict):
            return {key: on_tests(of) for key, of in value.items()}
        return [on_tests(of) for of in value] if isinstance(value, list | tuple) else value

    plan = on_tests(published(config, task, run).model_dump())
    plan["heads"] = {
        TASK: LinearHead(labels=UPOS if task == "pos" else NLI),
        LANGUAGE: LinearHead(labels=LANGUAGES, learns=LANGUAGE),
    }
    for of in plan["stages"]:
        of |= {"epochs": 2, "batch": 10} | stage
    return Recipe.model_validate(plan)


class Watched(Loop):
    """A training run that remembers its batches and its weights at the start of each stage; validation has given scores."""

    def __init__(self, bench, of: Recipe, scores=(), dropout: float | None = None):
        texts = {data: bench.texts(data, of.units.unit) for data in of.data()}
        encoder = bench.encoder(dropout, of.units.state == "pooler")
        super().__init__(of, texts, encoder, seed=0, log=logging.getLogger("crosslens.tests"), device=torch.device("cpu"))
        self.step.update = self._update
        self.starts: list[torch.nn.Module] = []
        self.taken: list[tuple[int, int, int, list[np.ndarray]]] = []  # stage, epoch, phase, batch of each term
        self.given = iter(scores)

    def _update(self, phase, place, chosen, *arguments):
        at = self.position
        if at.stage == len(self.starts):
            self.starts.append(deepcopy(self.model))
        self.taken.append((at.stage, at.epoch, at.phase, list(chosen)))
        Step.update(self.step, phase, place, chosen, *arguments)

    def score(self, stage):
        return next(self.given, 0.0)

    def predict(self, data, head):
        return {}

    def watched(self, *_):
        return {}

    def batches(self, stage: int, epoch: int, phase: int, term: int = 0) -> list[np.ndarray]:
        """Batches of a term in a pass."""
        return [chosen[term] for *place, chosen in self.taken if place == [stage, epoch, phase]]


SCORES = ((0.1, 0.5, 0.3), (0.2, 0.1, 0.3))  # of the epochs of both stages, epoch 0 first


def as_the_authors(trainer: Watched, weight: float | None, reversal: float | None) -> dict[str, torch.Tensor]:
    """Final weights of the authors' procedure, written down anew, on the batches and initial heads that a training took.

    Two optimisers as torch has them: that of encoder and label head, with the language head under gradient reversal; and that of
    the language head, which entropy maximisation uses in phase 1 and, as it is then, in the language stage. The best epoch's
    weights are restored, no optimiser's state.
    """
    of, model = trainer.recipe, trainer.starts[0].train().requires_grad_()
    encoder, heads, stage = model.encoder, model.heads, of.stages[0]

    def learn(head: str, term, chosen: np.ndarray, reverse: float | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        texts = trainer.texts[term.data]
        (states,) = unit_states(encoder, collate(texts, chosen, 0), of.units).values()
        if reverse is not None and states.requires_grad:
            states.register_hook(lambda gradient: -reverse * gradient)
        return heads[head](states), torch.from_numpy(texts.labels[head][texts.word_rows(chosen)])

    def adam(*groups):
        return torch.optim.Adam([{"params": list(parameters), "lr": rate} for parameters, rate in groups])

    label, language = heads[TASK].parameters(), heads[LANGUAGE].parameters()
    main = [(encoder.parameters(), stage.encoder_rate)] * stage.trains_encoder() + [(label, stage.head_rate)]
    main += [(heads[LANGUAGE].parameters(), stage.head_rate)] * (reversal is not None)
    main_optimiser, language_optimiser = adam(*main), adam((language, stage.head_rate))

    for number, stage in enumerate(of.stages):
        if number:
            heads[LANGUAGE].load_state_dict(trainer.starts[1].heads[LANGUAGE].state_dict())
        best, kept = SCORES[number][0], deepcopy(model.state_dict())
        for epoch in range(stage.epochs):
            for place in (each for each in trainer.taken if each[:2] == (number, epoch)):
                terms, chosen = stage.phases[place[2]].terms, place[3]
                alone = len(terms) == 1 and terms[0].head == LANGUAGE
                optimiser = language_optimiser if alone else main_optimiser
                model.zero_grad()
                losses = [functional.cross_entropy(*learn(terms[0].head, terms[0], chosen[0]))]
                if len(terms) == 2 and weight is not None:
                    logits, _ = learn(LANGUAGE, terms[1], chosen[1])
                    losses = [(1 - weight) * losses[0], weight * -logits.log_softmax(-1).sum(-1).mean()]
                elif len(terms) == 2:
                    losses.append(functional.cross_entropy(*learn(LANGUAGE, terms[1], chosen[1], reversal)))
                sum(losses).backward()
                optimiser.step()
            if SCORES[number][epoch + 1] > best:
                best, kept = SCORES[number][epoch + 1], deepcopy(model.state_dict())
        model.load_state_dict(kept)
    return model.state_dict()


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("task", TASKS)
def test_a_training_is_the_authors_procedure(bench, config, monkeypatch, task, run):
    """The same weights from the same batches and initial heads, in float64; without dropout, which no two programs draw alike."""
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    of = small(config, task, run, encoder_rate=1e-3, head_rate=1e-2, head_rates={})
    trainer = Watched(bench, of.model_copy(update={"dropout": 0.0}), (*SCORES[0], *SCORES[1]), dropout=0.0)
    trainer.model.double()
    found = trainer.run().model.state_dict()
    start = {name: value.clone() for name, value in trainer.starts[0].state_dict().items()}
    settings = config.papers.tanti2021.tasks[task].runs[run]
    expected = as_the_authors(trainer, settings.uniformity, settings.reversal)
    for name, value in expected.items():
        assert torch.allclose(found[name], value, rtol=0, atol=1e-9), name
        moves = name.startswith("heads.") or (run != "frozen" and not name.endswith("key.bias"))  # a key's has no gradient
        assert torch.allclose(found[name], start[name], rtol=0, atol=1e-4) != moves, name


@pytest.mark.parametrize("run", RUNS)
def test_dropout_is_on_wherever_something_learns(bench, config, run):
    trainer = Watched(bench, small(config, "pos", run))
    modes = []
    for module in trainer.model.modules():
        module.register_forward_hook(lambda module, *_: modes.append(module.training))
    passes = []
    trainer.model.encoder.register_forward_hook(lambda *_: passes.append(1))
    trainer.run()
    assert all(modes) and len(passes) == sum(len(chosen) for *_, chosen in trainer.taken)
    assert {module.p for module in trainer.model.modules() if isinstance(module, torch.nn.Dropout)} == {0.1}


def test_no_training_ends_early(bench, config):
    scores = [0.9, 0.5, 0.4, 0.3, 0.2, 0.1] * 2
    trained = Watched(bench, small(config, "pos", "frozen", epochs=5), scores).run()
    assert [row["best_epoch"] for row in trained.history] == [0] * 12
    assert [row["epoch"] for row in trained.history] == [0, 1, 2, 3, 4, 5] * 2


@pytest.mark.parametrize("run", RUNS)
def test_new_heads_are_normal_with_the_runs_deviation_and_no_bias(bench, config, run):
    of = small(config, "pos", run, batch=40, epochs=1)
    trainer = Watched(bench, of)
    trainer.run()
    first, second = (start.heads for start in trainer.starts)
    for head in (first[TASK], first[LANGUAGE], second[LANGUAGE]):
        assert not head[1].bias.any()
        n = head[1].weight.numel()
        assert float(head[1].weight.detach().std()) == pytest.approx(of.init_sd, rel=4 / np.sqrt(2 * n))
    assert not torch.equal(first[LANGUAGE][1].weight, second[LANGUAGE][1].weight)  # drawn anew for the language stage


@pytest.mark.parametrize("run", RUNS)
def test_rates_are_constant(bench, config, run):
    of = published(config, "nli", run)
    trainer = Watched(bench, small(config, "nli", run))
    rates = []
    trainer.after_step = lambda at: rates.append((at.stage, *(group["lr"] for group in trainer.optimiser.param_groups)))
    trainer.run()
    task, language = of.stages
    expected = (0, task.head_rate, task.head_rate, *[task.encoder_rate] * task.trains_encoder())
    assert set(rates) == {expected, (1, language.head_rate, language.head_rate)}
    assert of.clip is None and language.head_rate == task.head_rate


# Batches: 48 sentences to train on; 72 paragraphs, or 24 of one language.


@pytest.mark.parametrize("run", ["gradient_reversal", "entropy_maximisation"])
def test_paragraphs_are_recycled_in_new_shuffles_to_as_many_as_the_labels(bench, config, run):
    trainer = Watched(bench, small(config, "pos", run, languages=("en",)))
    trainer.run()
    main = len(trainer.recipe.stages[0].phases) - 1
    epochs = []
    for epoch in (0, 1):
        labels, paragraphs = (trainer.batches(0, epoch, main, term) for term in (0, 1))
        assert [len(each) for each in labels] == [len(each) for each in paragraphs] == [10, 10, 10, 10, 8]  # the last is kept
        assert sorted(np.concatenate(labels)) == list(range(48))
        taken = np.concatenate(paragraphs)
        assert sorted(taken[:24]) == sorted(taken[24:]) == list(range(24))
        assert list(taken[:24]) != list(taken[24:])
        assert all(len(set(each)) == len(each) for each in paragraphs)  # also in the one that spans two shuffles
        epochs.append(list(taken))
    assert epochs[0] != epochs[1]


def test_phase_1_takes_as_many_paragraphs_as_there_are_labels_drawn_anew(bench, config):
    trainer = Watched(bench, small(config, "pos", "entropy_maximisation", epochs=4))
    trainer.run()
    passes = [np.concatenate(trainer.batches(0, epoch, 0)) for epoch in range(4)]
    assert all(len(each) == len(set(each)) == 48 for each in passes)
    assert len({tuple(sorted(each)) for each in passes}) == 4
    assert len(set(np.concatenate(passes))) > 60
    assert all(len(np.concatenate(trainer.batches(1, epoch, 0))) == 72 for epoch in range(4))  # the language stage takes all


def test_batches_do_not_depend_on_lengths(bench, config):
    """Uniformly random: lengths within a batch spread as much as all lengths do."""
    trainer = Watched(bench, small(config, "pos", "frozen", epochs=8, batch=16))
    trainer.run()
    lengths = trainer.texts[trainer.recipe.stages[0].phases[0].terms[0].data].lengths
    within = [lengths[batch].std(ddof=1) for epoch in range(8) for batch in trainer.batches(0, epoch, 0)]
    assert np.mean(within) > 0.85 * lengths.std(ddof=1)


# The table.


def test_tests_that_the_table_names_exist():
    named = re.findall(r"(test_\w+)::(test_\w+)", (ROOT / "docs/procedure/tanti2021.md").read_text("utf-8"))
    files = {file: (ROOT / "tests" / f"{file}.py").read_text("utf-8") for file, _ in named}
    assert len(named) > 30
    assert [f"{file}::{name}" for file, name in named if f"def {name}(" not in files[file]] == []
