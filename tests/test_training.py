"""The training loop on a tiny random encoder: what each objective moves, micro-batches, exact resume."""

import json
import logging
import math
import os
import signal
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from conftest import LANGUAGES, NLI, SIZES, UPOS
from crosslens.config.heads import LANGUAGE, TASK, LinearHead
from crosslens.config.recipes import ENCODER, Data, Edit, Phase, Recipe, Score, Stage, Term
from crosslens.config.units import Units
from crosslens.encoding.batches import collate, sorted_batches
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.unit_states import unit_states
from crosslens.jobs import signals
from crosslens.jobs.call import COMMAND
from crosslens.jobs.checksums import checksummed
from crosslens.jobs.errors import DataError
from crosslens.jobs.training_folders import CHECKPOINT
from crosslens.numerics.streams import stream
from crosslens.training import checkpoint, cpu, optimiser
from crosslens.training.batches import Place, random_batches
from crosslens.training.loop import Loop
from crosslens.training.predict import hidden_states, selection_score
from crosslens.training.run import run
from pydantic import ValidationError
from sklearn.metrics import f1_score

SOURCE = ("en",)
TRAIN = Data(corpus="sentences", split="train", languages=SOURCE)
VALIDATION = Data(corpus="sentences", split="validation", languages=SOURCE)
TEST = Data(corpus="sentences", split="test", languages=LANGUAGES)
WIKI = Data(corpus="paragraphs", split="train", languages=LANGUAGES)
WIKI_VALIDATION = Data(corpus="paragraphs", split="validation", languages=LANGUAGES)
LABEL = Term(head=TASK, data=TRAIN)
KNOWN = Term(head=LANGUAGE, data=WIKI)
HEADS = {TASK: LinearHead(labels=UPOS), LANGUAGE: LinearHead(labels=LANGUAGES, learns=LANGUAGE)}
OBJECTIVES = {
    "frozen": (Phase(terms=(LABEL,), update=(TASK,)),),
    "finetuned": (Phase(terms=(LABEL,), update=(ENCODER, TASK)),),
    "reversal": (Phase(terms=(LABEL, KNOWN.model_copy(update={"reversal": 0.5})), update=(ENCODER, TASK, LANGUAGE)),),
    "entropy": (
        Phase(terms=(KNOWN,), update=(LANGUAGE,)),
        Phase(terms=(LABEL, KNOWN.model_copy(update={"loss": "uniformity", "weight": 0.1})), update=(ENCODER, TASK)),
    ),
}


def recipe(objective="finetuned", **changes) -> Recipe:
    """Two stages as tanti2021 has them; `changes` to the recipe, or to the first stage where it has such a field."""
    first = {name: changes.pop(name) for name in list(changes) if name in Stage.model_fields and name != "name"}
    task = Stage(
        **{
            "name": "task", "phases": OBJECTIVES[objective], "epochs": 2, "batch": 8, "encoder_rate": 2e-3, "head_rate": 5e-3,
            "new_heads": (TASK, LANGUAGE), "select_head": TASK, "select_data": VALIDATION,
        } | first
    )  # fmt: skip
    language = Stage(
        name="language", phases=(Phase(terms=(KNOWN,), update=(LANGUAGE,)),), epochs=2, batch=8, head_rate=2e-2,
        new_heads=(LANGUAGE,), select_head=LANGUAGE, select_data=WIKI_VALIDATION,
    )  # fmt: skip
    settings = {
        "name": f"test/{objective}", "encoder": "tiny", "tokenisation": "whole", "heads": HEADS, "stages": (task, language),
        "scores": (Score(head=TASK, data=TEST), Score(head=LANGUAGE, data=TEST)), "init_sd": 0.02, "dropout": 0.1,
        "warmup": 0.1, "decay": "linear", "weight_decay": 0.01, "clip": 1.0,
    } | changes  # fmt: skip
    return Recipe(**settings)


def nli(objective="reversal", state="hidden", **changes) -> Recipe:
    """The same recipe for whole texts: labels of pairs, languages of paragraphs."""

    def moved(data):
        return data.model_copy(update={"corpus": "pairs" if data.corpus == "sentences" else data.corpus})

    of = recipe(objective, **changes)
    stages = []
    for stage in of.stages:
        phases = []
        for phase in stage.phases:
            terms = tuple(term.model_copy(update={"data": moved(term.data)}) for term in phase.terms)
            phases.append(phase.model_copy(update={"terms": terms}))
        stages.append(stage.model_copy(update={"phases": tuple(phases), "select_data": moved(stage.select_data)}))
    return of.model_copy(
        update={
            "units": Units(unit="text", state=state, segments=True),
            "heads": of.heads | {TASK: LinearHead(labels=NLI)},
            "stages": tuple(stages),
            "scores": tuple(score.model_copy(update={"data": moved(score.data)}) for score in of.scores),
        }
    )


def loop(bench, of: Recipe, *, seed=0, texts=None, dropout=None, encoder=None, **options) -> Loop:
    texts = texts or {data: bench.texts(data, of.units.unit) for data in of.data()}
    encoder = encoder or bench.encoder(dropout, of.units.state == "pooler")
    log = logging.getLogger("crosslens.tests")
    options.setdefault("device", torch.device("cpu"))
    return Loop(of, texts, encoder, seed=seed, log=log, **options)


def compute_gradients(trainer: Loop, phase: Phase, chosen) -> torch.Tensor:
    """Compute the gradients of a first update with the texts `chosen` of each term, and return its losses."""
    return trainer.step.gradients(phase, Place(trainer.recipe.stages[0].name, 0, 0, 0), chosen)


def gradients_of(bench, phase, of=None, *, texts=10, largest=None, **options):
    """Losses of a phase on some texts, and gradients by parameter, with the same heads and dropout."""
    trainer = loop(bench, of or recipe(init_sd=0.5), **options)
    trainer.model.initialise_heads((TASK, LANGUAGE), 0)
    trainer.step.largest = largest or trainer.step.largest
    torch.manual_seed(0)
    losses = compute_gradients(trainer, phase, [np.arange(texts)] * len(phase.terms))
    return losses, {name: value.grad for name, value in trainer.model.named_parameters() if value.grad is not None}


def weights(model) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def same(one, other) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def differs(one, other, prefix) -> bool:
    return any(not torch.equal(one[name], other[name]) for name in one if name.startswith(prefix))


def tidy(history):
    return [{name: value for name, value in row.items() if name not in ("seconds", "subwords_a_second")} for row in history]


def assert_same_but_history(one, other):
    assert same(weights(one.model), weights(other.model))
    for a, b in zip(one.predictions, other.predictions, strict=True):
        assert all(np.array_equal(a[head], b[head]) for head in a)


def assert_same(one, other):
    assert_same_but_history(one, other)
    assert tidy(one.history) == tidy(other.history)


# What is learnt.


def test_supervised_training_learns_both_heads(bench):
    of = recipe(epochs=12, dropout=0.0)
    of = of.model_copy(update={"stages": (of.stages[0], of.stages[1].model_copy(update={"epochs": 10}))})
    trained = loop(bench, of).run()
    for score, predicted in zip(of.scores, trained.predictions, strict=True):
        texts = bench.texts(score.data)
        gold = texts.labels[score.head]
        chosen = np.repeat(np.array(texts.languages) == "en", np.diff(texts.word_offsets)) if score.head == TASK else gold >= 0
        majority = np.bincount(gold[chosen]).max() / chosen.sum()
        assert (predicted[score.head][chosen] == gold[chosen]).mean() > majority + 0.12
    losses = [row["loss 0 task cross_entropy"] for row in trained.history if row["stage"] == "task" and row["epoch"]]
    assert losses[-1] < losses[0] / 2
    assert trained.encoder_changed


def test_frozen_training_caches_and_changes_no_prediction(bench, monkeypatch):
    of = recipe("frozen", dropout=0.0)  # the same draws in both ways
    trainer = loop(bench, of, dropout=0.0)
    passes, original = [], trainer.model.encoder.forward

    def forward(**inputs):
        passes.append(len(inputs["input_ids"]))
        return original(**inputs)

    monkeypatch.setattr(trainer.model.encoder, "forward", forward)
    cached = trainer.run()
    assert sum(passes) == sum(len(bench.texts(data)) for data in of.data())  # each text once
    uncached = loop(bench, recipe("frozen", dropout=0.0, encoder_dropout_when_frozen=True), dropout=0.0).run()
    assert not cached.encoder_changed
    assert same(weights(cached.model.encoder), weights(bench.encoder()))
    for (name, one), other in zip(weights(cached.model.heads).items(), weights(uncached.model.heads).values(), strict=True):
        assert torch.allclose(one, other, atol=1e-4), name
    for one, other in zip(cached.predictions, uncached.predictions, strict=True):
        assert all(np.mean(one[head] == other[head]) > 0.999 for head in one)


def test_reversal_turns_the_encoders_gradient_and_not_the_heads(bench):
    gradients = {}
    for name, reversal in (("plain", None), ("reversed", 0.5)):
        phase = Phase(terms=(KNOWN.model_copy(update={"reversal": reversal}),), update=(ENCODER, LANGUAGE))
        of = recipe(phases=(phase,), init_sd=0.5, dropout=0.0)
        _, gradients[name] = gradients_of(bench, phase, of, dropout=0.0)
    for name, plain in gradients["plain"].items():
        factor = -0.5 if name.startswith("encoder.") else 1
        assert torch.allclose(gradients["reversed"][name], factor * plain, atol=1e-7), name
    assert max(float(value.abs().max()) for name, value in gradients["plain"].items() if name.startswith("encoder.")) > 1e-3


def test_entropy_maximisation_moves_what_its_phases_name(bench):
    of = recipe("entropy", epochs=1)
    trainer = loop(bench, of)
    before, after = before_updates(trainer, lambda _: weights(trainer.model)), []
    trainer.after_step = lambda position: after.append(((position.stage, position.phase), weights(trainer.model)))
    trainer.run()
    of_phases = [[state for place, state in after if place == (0, phase)] for phase in (0, 1)]
    assert [len(states) for states in of_phases] == [phase.steps(8, trainer.sizes) for phase in of.stages[0].phases]
    states = [before[0], *(states[-1] for states in of_phases)]
    parts = ("encoder.", "heads.task.", "heads.language.")
    moved = [{part for part in parts if differs(one, other, part)} for one, other in pairwise(states)]
    assert moved == [{"heads.language."}, {"encoder.", "heads.task."}]


def before_updates(trainer, note):
    """What `note`, of the texts of an update, returns before each update, in a list that training fills."""
    noted, original = [], trainer.step.update

    def update(phase, place, chosen, *arguments):
        noted.append(note(chosen))
        original(phase, place, chosen, *arguments)

    trainer.step.update = update
    return noted


def passes(bench, of):
    """Texts of each term in each step of the first stage."""
    trainer = loop(bench, of.model_copy(update={"stages": of.stages[:1]}))
    seen = before_updates(trainer, lambda chosen: chosen)
    trainer.run()
    return seen


@pytest.mark.parametrize("order", [1, -1])
def test_the_first_term_sets_the_number_of_steps_and_the_others_are_recycled(bench, order):
    """48 sentences and 72 paragraphs: the shorter data are seen more than once, the longer ones in part."""
    phase = Phase(terms=OBJECTIVES["reversal"][0].terms[::order], update=(ENCODER, TASK, LANGUAGE))
    first_batches, second_batches = zip(*passes(bench, recipe(phases=(phase,), batch=7, epochs=1)), strict=True)
    first, second = np.concatenate(first_batches), np.concatenate(second_batches)
    n, other = (len(bench.texts(term.data)) for term in phase.terms)
    assert n != other
    assert sorted(first) == list(range(n))
    assert [len(batch) for batch in second_batches] == [len(batch) for batch in first_batches]
    assert set(np.unique(second, return_counts=True)[1]) == ({1} if n < other else {1, 2})
    assert all(len(set(batch)) == len(batch) for batch in second_batches)


def test_a_pass_is_cut_to_other_data_and_drawn_anew(bench):
    """48 of 72 paragraphs an epoch, other ones in each."""
    phases = (Phase(terms=(KNOWN,), update=(LANGUAGE,), at_most=TRAIN),)
    of = recipe(phases=phases, batch=8, epochs=2, select_head=LANGUAGE, select_data=WIKI_VALIDATION)
    one, two = np.split(np.concatenate([chosen for (chosen,) in passes(bench, of)]), 2)
    assert len(bench.texts(TRAIN)) == len(one) == len(set(one)) == len(set(two)) < len(bench.texts(WIKI))
    assert set(one) != set(two)


def test_a_head_has_a_rate_of_its_own(bench):
    moved = {}
    for rate in (5e-3, 5e-2):
        trainer, states = loop(bench, recipe("reversal", epochs=1, head_rates={LANGUAGE: rate})), []
        trainer.after_step = lambda _, states=states, model=trainer.model: states.append(weights(model))
        trainer.train_stage(0)
        moved[rate] = states[0]
        assert [group["rate"] for group in trainer.optimiser.param_groups] == [5e-3, rate, 2e-3]
    changed = {name for name in moved[5e-3] if not torch.equal(moved[5e-3][name], moved[5e-2][name])}
    assert changed and all(name.startswith("heads.language.") for name in changed)


@pytest.mark.parametrize("carries", [(), (LANGUAGE,)])
def test_moments_are_carried_over_where_a_stage_asks_for_it(bench, carries):
    of = recipe("entropy", epochs=1)
    of = of.model_copy(update={"stages": (of.stages[0], of.stages[1].model_copy(update={"carries": carries}))})
    trainer = loop(bench, of)
    trainer.train_stage(0)
    head = trainer.model.heads[LANGUAGE][1].weight
    moments = trainer.optimiser.state[head]["exp_avg"].clone()
    fresh = optimiser.build(trainer.model, of, of.stages[1], trainer.optimiser)
    assert moments.abs().max() > 0
    assert (head in fresh.state) == bool(carries)
    if carries:
        assert torch.equal(fresh.state[head]["exp_avg"], moments)
        assert trainer.model.heads[TASK][1].weight not in fresh.state


def test_history_has_a_row_an_epoch_and_watched_heads_after_each_phase(bench):
    watch = (Score(head=LANGUAGE, data=WIKI_VALIDATION),)
    trained = loop(bench, recipe("entropy", watch=watch, epochs=8, head_rate=5e-2)).run()
    rows = [(row["stage"], row["epoch"]) for row in trained.history]
    assert rows == [(stage, epoch) for stage, epochs in (("task", 8), ("language", 2)) for epoch in range(epochs + 1)]
    start, *epochs = [row for row in trained.history if row["stage"] == "task"]
    assert [name for name in start if name.startswith("accuracy")] == ["accuracy language"]
    for row in epochs:
        assert [name for name in row if name.startswith("accuracy")] == ["accuracy language, after phase 1", "accuracy language"]
        losses = ["loss 0 language cross_entropy", "loss 1 task cross_entropy", "loss 2 language uniformity"]
        assert [name for name in row if name.startswith("loss")] == losses
        assert row["loss 2 language uniformity"] >= len(LANGUAGES) * math.log(len(LANGUAGES)) - 1e-5
    assert epochs[-1]["accuracy language, after phase 1"] > start["accuracy language"] + 0.1


# Frozen blocks, other layers.

PARTS = {"embeddings": "encoder.embeddings.", 1: "encoder.encoder.layer.0.", 2: "encoder.encoder.layer.1."}


def parts_of(names):
    return {part for part, prefix in PARTS.items() if any(name.startswith(prefix) for name in names)}


@pytest.mark.parametrize(("number", "trained"), [(None, {"embeddings", 1, 2}), (0, {1, 2}), (1, {2}), (2, set())])
def test_frozen_blocks_stay_as_they_are(bench, number, trained):
    phase = OBJECTIVES["finetuned"][0].model_copy(update={"frozen_layers": number})
    first = weights(bench.encoder())
    last = weights(loop(bench, recipe(phases=(phase,), keep="last", warmup=0.0)).run().model.encoder)
    assert parts_of([f"encoder.{name}" for name in first if not torch.equal(first[name], last[name])]) == trained
    of = recipe(encoder_dropout_when_frozen=True, init_sd=0.5)
    (_, whole), (_, part) = gradients_of(bench, OBJECTIVES["finetuned"][0]), gradients_of(bench, phase, of)
    assert parts_of(part) == trained and any(name.startswith("heads.task.") for name in part)
    assert all(torch.equal(whole[name], value) for name, value in part.items())  # no other dropout in frozen blocks


def with_layer(of, layer):
    return of.model_copy(update={"heads": of.heads | {TASK: of.heads[TASK].model_copy(update={"layer": layer})}})


@pytest.mark.parametrize(("layer", "trained"), [(0, {"embeddings"}), (1, {"embeddings", 1}), (2, {"embeddings", 1, 2})])
def test_a_head_or_a_term_reads_the_layer_that_it_names(bench, layer, trained):
    of, texts = with_layer(recipe(init_sd=0.5), layer), bench.texts(TEST)
    trainer = loop(bench, of)
    trainer.model.initialise_heads((TASK, LANGUAGE), 0)
    batch = collate(texts, np.arange(10), 0)
    with torch.inference_mode():
        states = unit_states(bench.encoder(), batch, Units(), [layer])[f"layer_{layer}"]
        expected = trainer.model.eval().heads[TASK](states).argmax(-1).numpy()
    for trainer.head_inputs.cached in (False, True):
        assert np.mean(trainer.head_inputs.predict(TEST, TASK)[TASK][batch.words] == expected) > 0.99
    (phase,) = OBJECTIVES["finetuned"]
    losses, found = gradients_of(bench, phase, of)
    assert parts_of(found) == trained
    term = phase.model_copy(update={"terms": (phase.terms[0].model_copy(update={"layer": layer}),)})
    named = gradients_of(bench, term)
    assert named[0] == losses and same(named[1], found)


@pytest.mark.parametrize("where", ["head", "frozen"])
def test_a_layer_that_there_is_not_is_named(bench, where):
    phase = OBJECTIVES["finetuned"][0].model_copy(update={"frozen_layers": 3})
    wrong = with_layer(recipe(), 3) if where == "head" else recipe(phases=(phase,))
    with pytest.raises(DataError, match=r"^test/finetuned: expected layers from 0 to 2 for tiny, found \[3\]: change"):
        loop(bench, wrong)


# Whole texts.


def test_no_first_subword_of_a_decoder_stands_for_a_text(tmp_path, log):
    with checksummed(tmp_path / "decoder") as folder:
        folder.mkdir()
        (folder / "source.json").write_text(json.dumps({"settings": {"causal": True}}))
    with pytest.raises(DataError, match=r"test/reversal: expected an encoder that attends to the whole text.*a decoder"):
        run(nli(), 0, tmp_path / "decoder", {}, tmp_path / "model", threads=1, log=log)
    first = {("text", "hidden"): True, ("text", "pooler"): True, ("word", "hidden"): False, ("text", "mean"): False}
    assert {place: Units(unit=place[0], state=place[1]).reads_first_subword() for place in first} == first


@pytest.mark.parametrize("state", ["hidden", "pooler"])
def test_heads_read_the_first_subword_or_the_pooler_with_segments(bench, state):
    texts, trainer = bench.texts(TEST.model_copy(update={"corpus": "pairs"}), "text"), loop(bench, nli(state=state))
    model = trainer.model.eval()
    (found,) = hidden_states(model, texts)
    assert found.shape == (len(texts), 32)
    for text in (0, 31, len(texts) - 1):
        subwords = torch.tensor(
            texts.subwords[None, texts.subword_offsets[text] : texts.subword_offsets[text + 1]].astype(np.int64)
        )
        types = (torch.arange(subwords.shape[1]) >= int(texts.second[text])).long()[None]
        with torch.inference_mode():
            output = model.encoder(input_ids=subwords, token_type_ids=types)
        expected = output.pooler_output[0] if state == "pooler" else output.last_hidden_state[0, 0]
        assert torch.allclose(found[text], expected, atol=1e-5)


@pytest.mark.parametrize("classes", [("true", "token"), ("union", "paper")], ids=["token", "paper"])
def test_texts_are_selected_by_scikit_learns_macro_f1(bench, classes):
    kind, by = classes
    texts = bench.texts(TEST.model_copy(update={"corpus": "pairs"}), "text")
    gold = np.where(texts.labels[TASK] == 2, 1, texts.labels[TASK])  # one class is only ever predicted
    gold[::7] = -100
    predicted = np.random.default_rng(0).integers(0, 3, len(texts))
    known = gold >= 0
    labels = np.unique(gold[known]) if kind == "true" else None
    expected = f1_score(gold[known], predicted[known], average="macro", labels=labels)
    texts = replace(texts, labels=texts.labels | {TASK: gold})
    assert selection_score(texts, {TASK: predicted}, TASK, NLI, by, "text") == pytest.approx(expected, abs=1e-12)


# Further language heads.


def with_heads(of: Recipe, rates) -> Recipe:
    """A recipe with more language heads, each in a stage of its own after the main one."""
    (language,) = (stage for stage in of.stages if stage.name == LANGUAGE)
    heads = {f"{LANGUAGE} {rate:.0e}": rate for rate in rates}
    stages = [
        language.model_copy(
            update={
                "name": head, "head_rate": rate, "new_heads": (head,), "select_head": head,
                "phases": (Phase(terms=(Term(head=head, data=WIKI),), update=(head,)),),
            }
        )
        for head, rate in heads.items()
    ]  # fmt: skip
    return of.model_copy(
        update={
            "heads": of.heads | dict.fromkeys(heads, of.heads[LANGUAGE]),
            "stages": (*of.stages, *stages),
            "scores": (*of.scores, *(Score(head=head, data=TEST) for head in heads)),
        }
    )


@pytest.mark.parametrize("objective", ["frozen", "reversal"])
def test_further_language_heads_change_nothing_for_the_others(bench, objective):
    plain = recipe(objective)
    alone, more = loop(bench, plain).run(), loop(bench, with_heads(plain, [1e-1, 1e-3])).run()
    for part in ("encoder.", "heads.task.", "heads.language."):
        kept = [{name: value for name, value in weights(run.model).items() if name.startswith(part)} for run in (alone, more)]
        assert kept[0] and same(*kept), part
    assert tidy(more.history)[: len(alone.history)] == tidy(alone.history)
    for one, other in zip(alone.predictions, more.predictions, strict=False):
        assert all(np.array_equal(one[head], other[head]) for head in one)
    assert [list(found) for found in more.predictions] == [[TASK], [LANGUAGE], [LANGUAGE], [LANGUAGE]]


def test_further_language_heads_have_rates_of_their_own(bench):
    trainer, rates = loop(bench, with_heads(recipe("finetuned", warmup=0.0, decay="none"), [1e-1, 1e-3])), {}

    def watch(position):
        name = trainer.recipe.stages[position.stage].name
        rates.setdefault(name, set()).update(group["lr"] for group in trainer.optimiser.param_groups)

    trainer.after_step = watch
    trainer.run()
    assert rates == {"task": {5e-3, 2e-3}, "language": {2e-2}, "language 1e-01": {1e-1}, "language 1e-03": {1e-3}}


# Best epoch.


@pytest.mark.parametrize(
    ("scores", "best"), [([0.5, 0.4, 0.3], 0), ([0.1, 0.4, 0.4], 1), ([0.1, 0.4, 0.5], 2), ([0.0, 0.0, 0.0], 0)]
)
def test_first_best_epoch_wins_and_the_untrained_one_is_a_candidate(bench, scores, best):
    of = recipe("finetuned")
    trainer = loop(bench, of.model_copy(update={"stages": of.stages[:1]}))
    after = {}

    def score(_):
        epoch = len(trainer.position.history)
        after[epoch] = weights(trainer.model)
        return scores[epoch]

    trainer.score = score
    trained = trainer.run()
    assert trained.history[-1]["best_epoch"] == best
    assert same(weights(trained.model), after[best])


@pytest.mark.parametrize(("interval", "dropout"), [(5, 0.1), (100, 0.0)])
def test_the_best_of_weights_at_some_updates_and_at_the_end_is_kept(bench, interval, dropout):
    """XTREME's run_tag.py keeps it so; steps, batches and last weights are those of a run that is rated by epochs."""
    of = recipe("finetuned", epochs=3, dropout=dropout, encoder_rate=2e-2)
    of = of.model_copy(update={"stages": of.stages[:1]})
    rated = [trained_stage(of, interval=interval, keep=keep) for keep in ("best", "last")]
    candidates = []

    def after(position):
        if position.updates % interval == 0 or position.updates == total:
            candidates.append((plain.score(of.stages[0]), weights(plain.model)))

    total, plain = steps_in_all(bench, of), loop(bench, trained_stage(of, keep="last"), after_step=after)
    last = plain.run()
    candidates.insert(0, (last.history[0]["score"], None))  # before the first step
    best, in_the_end = (loop(bench, each).run() for each in rated)
    scores = [score for score, _ in candidates]
    assert [row["score"] for row in best.history] == scores and len(scores) == 1 + -(-total // interval)
    assert [row["score"] for row in in_the_end.history] == scores
    first_best = scores.index(max(scores))
    assert best.history[-1]["best_epoch"] == first_best > 0 and same(weights(best.model), candidates[first_best][1])
    assert_same_but_history(last, in_the_end)
    mean = np.average([row["loss 0 task cross_entropy"] for row in best.history[1:]], weights=pass_lengths(total, interval))
    assert mean == pytest.approx(np.mean([row["loss 0 task cross_entropy"] for row in last.history[1:]]), rel=1e-5)


def trained_stage(of, **changes):
    """A recipe with changes to its only stage."""
    (stage,) = of.stages
    return of.model_copy(update={"stages": (stage.model_copy(update=changes),)})


def pass_lengths(total, interval):
    """Updates of each pass."""
    return [min(interval, total - start) for start in range(0, total, interval)]


def test_an_interval_is_of_a_stage_with_one_phase():
    with pytest.raises(ValidationError, match="task: expected one phase beside an interval, found 2"):
        recipe("entropy", interval=3)


# Micro-batches.


@pytest.mark.parametrize("objective", ["finetuned", "reversal", "entropy"])
def test_micro_batches_add_up_to_the_batch(bench, objective):
    of, options = recipe(objective, dropout=0.0, init_sd=0.2), {"texts": 7, "dropout": 0.0}
    whole, *others = (gradients_of(bench, OBJECTIVES[objective][-1], of, largest=largest, **options) for largest in (10**9, 2, 1))
    for losses, gradients in others:
        assert losses == pytest.approx(whole[0], abs=1e-5)
        assert gradients.keys() == whole[1].keys()
        for name, expected in whole[1].items():
            assert torch.allclose(gradients[name], expected, atol=1e-6, rtol=1e-4), name


def number_of_texts(input_ids, packed=None, **_) -> int:
    """The number of texts in a batch that an encoder is given."""
    return len(input_ids) if packed is None else sum(len(padding.inside) for padding in packed)


def memory_runs_out(trainer) -> list[int]:
    """Let memory run out in the second batch of a training run; the list will have the number of texts of each batch."""
    sizes, original = [], trainer.model.encoder.forward

    def forward(**inputs):
        if torch.is_grad_enabled():
            sizes.append(number_of_texts(**inputs))
            if len(sizes) == 2:
                raise torch.OutOfMemoryError("simulated")
        return original(**inputs)

    trainer.model.encoder.forward = forward
    return sizes


def test_out_of_memory_halves_the_micro_batch_and_goes_on(bench, caplog):
    of = recipe("finetuned", dropout=0.0)
    whole = loop(bench, of, dropout=0.0).run()
    trainer = loop(bench, of, dropout=0.0)
    sizes = memory_runs_out(trainer)
    with caplog.at_level(logging.WARNING):
        trained = trainer.run()
    assert sizes[:2] == [8, 8]
    assert set(sizes[2:]) == {4}
    assert caplog.text.count("out of memory") == 1
    losses = [run.history[1]["loss 0 task cross_entropy"] for run in (trained, whole)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_out_of_memory_on_one_text_is_an_error(bench):
    trainer = loop(bench, recipe("finetuned"))

    def forward(**_):
        raise torch.OutOfMemoryError("simulated")

    trainer.model.encoder.forward = forward
    with pytest.raises(torch.OutOfMemoryError):
        compute_gradients(trainer, OBJECTIVES["finetuned"][0], [np.arange(8)])


# Exact resume, repeatability.


class Killed(Exception):
    pass


def interrupted(bench, of, path, stop, **options):
    """Train until `stop` steps in all are done, then die."""
    done = 0

    def after(_):
        nonlocal done
        done += 1
        if done == stop:
            raise Killed

    with pytest.raises(Killed):
        loop(bench, of, checkpoints=path, checkpoint_seconds=0, after_step=after, **options).run()
    assert checkpoint.load(loop(bench, of, checkpoints=path, **options).checkpoint_file) is not None


def steps_in_all(bench, of):
    trainer = loop(bench, of)
    return sum(stage.epochs * phase.steps(stage.batch, trainer.sizes) for stage in of.stages for phase in stage.phases)


def assert_resumes(bench, of, stops, folder, **options):
    """Each time that a training run is interrupted after some number of steps, it ends as one that is not."""
    whole = loop(bench, of, **options).run()
    for stop in stops:
        path = folder / f"checkpoint{stop}"
        interrupted(bench, of, path, stop, **options)
        assert_same(whole, loop(bench, of, checkpoints=path, **options).run())
    left = {path.name for path in folder.iterdir()}
    assert left == {f"checkpoint{stop}" for stop in stops}  # until what was trained is on disk


def carried() -> Recipe:
    """A recipe whose second stage carries moments on, and whose language head is watched."""
    of = recipe("entropy", watch=(Score(head=LANGUAGE, data=WIKI_VALIDATION),), head_rates={LANGUAGE: 2e-2})
    return of.model_copy(update={"stages": (of.stages[0], of.stages[1].model_copy(update={"carries": (LANGUAGE,)}))})


def frozen_below() -> Recipe:
    """A recipe with a frozen block, whose head reads a lower layer."""
    (phase,) = OBJECTIVES["reversal"]
    return with_layer(recipe(phases=(phase.model_copy(update={"frozen_layers": 1}),)), 1)


RESUMED = {
    **{name: recipe(name) for name in OBJECTIVES},
    "frozen blocks and lower layers": frozen_below(),
    **{f"whole texts, {state}": nli("reversal", state) for state in ("hidden", "pooler")},
    "further language heads": with_heads(recipe("frozen"), [1e-1, 1e-3]),
    "carried moments and watched heads": carried(),
}


@pytest.mark.parametrize("name", RESUMED)
@pytest.mark.parametrize("everywhere", [False, pytest.param(True, marks=pytest.mark.long)], ids=["once", "everywhere"])
def test_resume_is_exact(bench, name, everywhere, tmp_path):
    """After some step of the last stage; or after one of the first, and at the ends of an epoch, of a stage and of all."""
    of, draw = RESUMED[name], np.random.default_rng(len(name))
    first, before, total = (steps_in_all(bench, of.model_copy(update={"stages": of.stages[:end]})) for end in (1, -1, None))
    once, ends = (draw.integers(before + 1, total),), (first // 2, first, total)
    assert_resumes(bench, of, {draw.integers(1, first // 2), *ends} if everywhere else once, tmp_path)


def test_resume_after_several_interruptions(bench, tmp_path):
    of = recipe("entropy")
    whole = loop(bench, of).run()
    for stop in (5, 9, 7):
        interrupted(bench, of, tmp_path / "checkpoint", stop)
    assert_same(whole, loop(bench, of, checkpoints=tmp_path / "checkpoint").run())


@pytest.mark.parametrize("interval", [4, 7])
def test_resume_is_exact_with_an_interval(bench, interval, tmp_path):
    of = recipe("finetuned", interval=interval)
    assert_resumes(bench, of, (interval - 1, interval, interval + 1), tmp_path)


@pytest.mark.parametrize("other", ["settings", "seed", "labels", "segments", "encoder"])
def test_a_checkpoint_of_something_else_is_ignored(bench, tmp_path, other):
    def changes():
        texts = {data: bench.texts(data) for data in recipe().data()}
        encoder = bench.encoder()
        encoder.embeddings.word_embeddings.weight.data *= 1.5
        labels = {data: replace(each, labels={kind: numbers // 2 for kind, numbers in each.labels.items()})
                  for data, each in texts.items()}  # fmt: skip
        segments = {data: replace(each, second=each.second + 1) for data, each in texts.items()}
        return {
            "settings": {"of": recipe(clip=2.0)},
            "seed": {"seed": 1},
            "labels": {"texts": labels},
            "segments": {"texts": segments},
            "encoder": {"encoder": encoder},
        }[other]

    path, started = tmp_path / "checkpoint", []
    interrupted(bench, recipe(), path, 7)
    expected = loop(bench, **{"of": recipe()} | changes()).run()
    options = {"checkpoints": path, "after_step": lambda position: started.append(position.step)}
    assert_same(expected, loop(bench, **{"of": recipe()} | changes(), **options).run())
    assert started[0] == 1


def test_a_checkpoint_that_was_cut_is_set_aside(bench, tmp_path, caplog):
    of, path = recipe("frozen"), tmp_path / "checkpoint"
    interrupted(bench, of, path, 3)
    path.write_bytes(cut_short := path.read_bytes()[:100])
    assert_same(loop(bench, of).run(), loop(bench, of, checkpoints=path).run())
    (warning,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "found a damaged one" in warning and "\n" not in warning
    assert path.with_name("checkpoint.damaged").read_bytes() == cut_short


def test_sigterm_leaves_a_checkpoint_after_the_step(bench, tmp_path, signals_handled):
    of = recipe("reversal")
    count = []

    def after(_):
        count.append(1)
        if len(count) == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(signals.Stopped, match="^stopped by SIGTERM$"):
        loop(bench, of, checkpoints=tmp_path / "checkpoint", checkpoint_seconds=1000, after_step=after).run()
    assert len(count) == 4  # the step in progress was completed, then it stopped
    signals.handle()
    assert_same(loop(bench, of).run(), loop(bench, of, checkpoints=tmp_path / "checkpoint").run())


def test_a_training_depends_on_its_seed_and_not_on_an_earlier_random_state(bench):
    results = []
    for state, seed in ((5, 0), (6, 0), (6, 1)):
        torch.manual_seed(state)
        results.append(loop(bench, recipe("reversal"), seed=seed).run())
    one, again, other = results
    assert_same(one, again)
    assert differs(weights(one.model), weights(other.model), "encoder.")


def test_gradients_of_an_earlier_stage_are_not_in_the_clipped_norm(bench):
    trainer = loop(bench, recipe("finetuned"))
    compute_gradients(trainer, OBJECTIVES["finetuned"][0], [np.arange(8)])
    assert trainer.model.encoder.embeddings.word_embeddings.weight.grad is not None
    compute_gradients(trainer, OBJECTIVES["frozen"][0], [np.arange(8)])
    assert {name.split(".")[1] for name, value in trainer.model.named_parameters() if value.grad is not None} == {TASK}


def test_dropout_is_on_in_the_first_step_of_a_cached_stage(bench):
    trainer = loop(bench, recipe("frozen"))
    modes = []
    trainer.model.heads[TASK].register_forward_hook(lambda module, *_: modes.append(module.training))
    trainer.after_step = lambda _: modes.append("step")
    trainer.run()
    assert modes[modes.index("step") - 1] is True


# Errors.


def poison(trainer, after):
    original, calls = trainer.model.encoder.forward, []

    def forward(**inputs):
        output = original(**inputs)
        if torch.is_grad_enabled():
            calls.append(1)
            if len(calls) > after:
                output.last_hidden_state = output.last_hidden_state * math.nan
        return output

    trainer.model.encoder.forward = forward


def test_a_loss_that_is_not_a_number_names_its_texts(bench):
    of = recipe("finetuned")
    trainer = loop(bench, of)
    poison(trainer, after=3)
    before = []
    trainer.after_step = lambda _: before.append(weights(trainer.model))
    with pytest.raises(FloatingPointError) as error:
        trainer.run()
    batch = random_batches(bench.texts(TRAIN).lengths, 8, stream(0, "batches", "task", 0, 0, 0))[3]
    message = str(error.value)
    assert "stage task, epoch 0, step 3" in message
    assert bench.texts(TRAIN).ids[batch[0]] in message
    assert "\n" not in message
    assert same(before[-1], weights(trainer.model))  # the step was not taken


def files_of_run(bench, tokens, folder, of):
    names = ("model.safetensors", "predictions.parquet", "history.csv", "record.json")
    corpora = {corpus: tokens / corpus for corpus in ("sentences", "paragraphs", "pairs")}
    encoder = bench.pooler_folder if of.units.state == "pooler" else bench.encoder_folder
    run(of, 0, encoder, corpora, folder, threads=1, log=logging.getLogger("crosslens.tests"))
    return {name.partition(".")[0]: folder / name for name in names}


def test_nothing_is_written_when_training_fails(bench, tokens, tmp_path, monkeypatch):
    original = Loop.__init__

    def poisoned(self, *arguments, **options):
        original(self, *arguments, **options)
        poison(self, after=2)

    monkeypatch.setattr(Loop, "__init__", poisoned)
    with pytest.raises(FloatingPointError):
        files_of_run(bench, tokens, tmp_path / "out", recipe("finetuned"))
    assert list(tmp_path.rglob("*")) == []


FILES = {name: recipe(name) for name in ("frozen", "finetuned")} | {state: nli(state=state) for state in ("hidden", "pooler")}


@pytest.mark.parametrize("name", FILES)
def test_files_of_a_training(bench, tokens, corpora, tmp_path, monkeypatch, name):
    monkeypatch.setenv(COMMAND, "snakemake")
    of = FILES[name]
    paths = files_of_run(bench, tokens, tmp_path, of)
    trained = loop(bench, of).run()
    assert tidy(pd.read_csv(paths["history"]).to_dict("records"))[0]["score"] == pytest.approx(trained.history[0]["score"])
    assert json.loads(paths["record"].read_text())["command"] == f"snakemake {paths['record']}"
    assert {path.name for path in tmp_path.glob("[!.]*")} == {path.name for path in paths.values()} | {CHECKPOINT}
    table = pq.read_table(paths["predictions"]).to_pylist()
    assert len(table) == 2 * len(LANGUAGES) * SIZES["test"]
    for score, predicted in zip(of.scores, trained.predictions, strict=True):
        (corpus,) = {corpus for corpus, *_ in score.data.files()}
        source = [row for code in LANGUAGES for row in pq.read_table(corpora / corpus / f"{code}.test.parquet").to_pylist()]
        part = [row for row in table if row["head"] == score.head]
        assert {row["corpus"] for row in part} == {corpus}
        assert [(row["language"], row["id"]) for row in part] == [(row["language"], row["id"]) for row in source]
        assert np.array_equal(np.concatenate([row["predicted"] for row in part]), predicted[score.head])
        if corpus == "pairs":
            kind, classes = ("label", NLI) if score.head == TASK else ("language", LANGUAGES)
            assert [[classes[label] for label in row["gold"]] for row in part] == [[row[kind]] for row in source]  # one a text
        elif score.head == TASK:
            assert np.array_equal(np.concatenate([row["gold"] for row in part]), bench.texts(TEST).labels[TASK])
    # The encoder's weights are kept only where they changed, and read back alike.
    pooler = name == "pooler"
    again = load_encoder(bench.pooler_folder if pooler else bench.encoder_folder, [paths["model"]], pooler=pooler)
    assert same(weights(again), weights(trained.model.encoder))
    assert (paths["model"].stat().st_size > 100_000) == (name != "frozen")


def test_untrained_control_has_other_weights_that_are_kept(bench):
    of = recipe("frozen", edit=Edit(layers="all", embeddings=True))
    trained = loop(bench, of).run()
    assert trained.encoder_changed
    plain = weights(bench.encoder())
    assert differs(weights(trained.model.encoder), plain, "encoder.layer.0.attention.self.query.weight")
    assert same(weights(trained.model.encoder), weights(loop(bench, of).run().model.encoder))
    assert differs(weights(trained.model.encoder), weights(loop(bench, of, seed=1).run().model.encoder), "encoder.")


# Schedule.


def test_rates_rise_and_fall(bench):
    trainer = loop(bench, recipe("finetuned", warmup=0.2))
    stage = trainer.recipe.stages[0]
    adam = optimiser.build(trainer.model, trainer.recipe, stage, trainer.optimiser)
    rates = []
    for update in range(20):
        optimiser.set_rates(adam, trainer.recipe, update, 20)
        rates.append([group["lr"] for group in adam.param_groups])
    rates = np.array(rates)
    assert rates[3] == pytest.approx([stage.head_rate, stage.head_rate, stage.encoder_rate])  # the fourth step has the full rate
    assert rates[0] == pytest.approx(rates[3] / 4)
    assert rates.max(0) == pytest.approx([stage.head_rate, stage.head_rate, stage.encoder_rate])
    assert np.all(np.diff(rates[4:], axis=0) < 0)
    assert np.all(rates > 0)


# Batches.


@pytest.mark.parametrize("pools", [False, True])
@pytest.mark.parametrize(
    ("n", "size", "items"), [(1, 4, None), (10, 4, None), (1000, 8, None), (20, 8, 7), (20, 8, 53), (115, 32, 1890)]
)
def test_random_batches_recycle_texts_evenly_by_seed_and_have_none_twice(n, size, items, pools):
    lengths = np.random.default_rng(0).integers(3, 60, n)
    drawn = [random_batches(lengths, size, seed, items=items, pools=pools) for seed in (*range(20), 0)]
    items = items or n
    for batches in drawn:
        assert [len(batch) for batch in batches] == [size] * (items // size) + [items % size] * (items % size > 0)
        order = np.concatenate(batches)
        for start in range(0, items, n):  # each shuffle has every text once
            assert len(set(order[start : start + n])) == len(order[start : start + n])
        assert all(len(set(batch)) == len(batch) for batch in batches)
    first, other, again = ([batch.tolist() for batch in drawn[place]] for place in (0, 1, -1))
    assert again == first and (other != first or n == 1)
    if n == 1000:  # like lengths share a batch, or not
        spread = np.mean([np.ptp(lengths[batch]) for batch in drawn[0]])
        assert spread < 5 if pools else spread > 30


def test_uniformly_random_batches_pair_any_two_texts_equally_often():
    """Two of 12 texts share a batch of 4 in 3 of 11 shuffles."""
    together = np.zeros((12, 12))
    for seed in range(4000):
        for batch in random_batches(np.arange(12), 4, seed):
            together[np.ix_(batch, batch)] += 1 / 4000
    pairs = together[~np.eye(12, dtype=bool)]
    assert pairs == pytest.approx(3 / 11, abs=0.035)


@pytest.mark.parametrize("n", [1, 50])
def test_sorted_batches_are_a_partition_within_the_budget(n):
    lengths = np.random.default_rng(1).integers(3, 300, n)
    batches = list(sorted_batches(lengths, 256))
    assert sorted(np.concatenate(batches)) == list(range(n))
    assert all(len(batch) == 1 or len(batch) * lengths[batch].max() <= 256 for batch in batches)


# --- on a CPU --------------------------------------------------------------------------------------------------------------


SEGMENTS_AND_LAYERS = [(False, []), (True, []), (False, [0, 1])]


def assert_concatenated_texts_are_as_padded_ones(bench, number, segments, layers):
    """Assert that pairs of texts, so many, have the same states and gradients concatenated and padded."""
    texts = bench.texts(Data(corpus="pairs", split="test", languages=LANGUAGES), "text")
    batch = collate(texts, np.arange(number)[::-1], 0, segments)
    assert batch.attention_mask is not None and (batch.token_types is not None) == segments
    results = []
    for packed in (False, True):
        encoder = bench.encoder(dropout=0.0).train()
        if packed:
            cpu.prepare(encoder, torch.device("cpu"))
            columns = cpu.concatenated_states(encoder, cpu.concatenated(encoder, batch, cpu.GROUP), layers)
        else:
            columns = unit_states(encoder, batch, Units(unit="text", segments=segments), layers)
        assert list(columns) == [f"layer_{layer}" for layer in (*layers, 2)]
        hidden_states = torch.stack(list(columns.values()))
        (hidden_states**2).sum().backward()
        gradients = [parameter.grad for parameter in encoder.parameters() if parameter.grad is not None]
        results.append((hidden_states.detach(), gradients))
    (padded, gradients), (concatenated, others) = results
    assert torch.allclose(padded, concatenated, atol=1e-5)
    assert len(gradients) == len(others) and all(torch.allclose(a, b, atol=1e-4) for a, b in zip(gradients, others, strict=True))


@pytest.mark.parametrize(("segments", "layers"), SEGMENTS_AND_LAYERS)
def test_texts_that_lie_end_to_end_have_the_states_and_gradients_of_padded_ones(bench, segments, layers):
    assert_concatenated_texts_are_as_padded_ones(bench, cpu.GROUP + 3, segments, layers)  # two groups in attention


def test_dropout_keeps_its_share_and_its_mean():
    torch.manual_seed(0)
    values = cpu.Dropout(0.1)(torch.ones(1000, 1001))
    assert values.unique().tolist() == pytest.approx([0, 1 / 0.9], rel=1e-4)
    assert (values == 0).float().mean().item() == pytest.approx(0.1, abs=2e-3)
    assert values.mean().item() == pytest.approx(1, abs=2e-3)
    again = cpu.Dropout(0.1)
    torch.manual_seed(0)
    assert torch.equal(again(torch.ones(1000, 1001)), values)
    assert torch.equal(again.eval()(values), values)
