"""liang2021: L-DAR in the training loop, heads that read part of a state, sources that are mixed; its recipes and tables."""

import logging
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import LANGUAGES, UPOS
from crosslens.config.heads import TASK, LinearHead, Projection
from crosslens.config.recipes import ENCODER, Data, Drift, Penalty, Phase, Recipe, Term
from crosslens.config.samples import Samples, Sampling
from crosslens.config.units import Units
from crosslens.encoding import stored_states as states_files
from crosslens.encoding import subspaces as files
from crosslens.encoding.dump import run as store_states
from crosslens.encoding.samples import write as write_samples
from crosslens.encoding.tokens.tokenise import labelled_subwords
from crosslens.jobs import records as records_of
from crosslens.jobs.errors import DataError
from crosslens.measures import subspaces as measured
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import CHUNK_MICRO_F1
from crosslens.numerics.statistics import Statistics
from crosslens.numerics.subspace import Subspace
from crosslens.papers import captions
from crosslens.papers.liang2021 import recipes, removal, tables
from crosslens.papers.liang2021.names import PRINTED, Study, pretrained, untrained
from crosslens.papers.liang2021.paper import PAPER, measures, samples
from crosslens.papers.liang2021.tables_and_figures import items
from crosslens.reports.cells import Published
from crosslens.training.anchor import Anchor, weighted
from crosslens.training.objectives import subspace_distance
from crosslens.training.run import capped
from goldens import assert_golden, assert_golden_curves
from pydantic import ValidationError
from test_tokens import wordpiece
from test_training import (
    LABEL,
    OBJECTIVES,
    TRAIN,
    VALIDATION,
    assert_resumes,
    assert_same_but_history,
    compute_gradients,
    loop,
    recipe,
    steps_in_all,
)

ROOT = Path(__file__).parents[1]
LAYERS, SIZE = (1, 2), 32
RANK = 5


@pytest.fixture(scope="module")
def subspaces():
    """Random directions of every layer, with falling eigenvalues up to the rank."""
    found = {}
    for layer in range(3):
        generator = np.random.default_rng(layer)
        known = np.linalg.qr(generator.normal(size=(SIZE, RANK)))[0]
        eigenvalues = np.sort(generator.uniform(1, 9, RANK))[::-1].copy()
        subspace = Subspace.orthogonal("densray", tuple("abcdef"), eigenvalues, known, np.zeros(SIZE))
        found["densray", layer] = subspace.completed(seed=layer)
    return found


def penalised(weight=0.5, epochs=2, **changes) -> Recipe:
    """The first stage of test_training's recipe with a penalty and without dropout, unless `changes` say otherwise."""
    options = {name: changes.pop(name) for name in list(changes) if name in Recipe.model_fields}
    penalty = Penalty(weight=weight, **{"dimensions": 3} | changes)
    phase = Phase(terms=(LABEL.model_copy(update={"penalty": penalty}),), update=(ENCODER, TASK))
    of = recipe(phases=(phase,), epochs=epochs, **{"dropout": 0.0, "encoder_dropout": False, "init_sd": 0.2} | options)
    return of.model_copy(update={"stages": of.stages[:1], "scores": of.scores[:1]})


def moved(trainer, scale=0.02):
    """The loop's encoder, a little away from where it was."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in trainer.model.encoder.parameters():
            parameter += scale * torch.randn(parameter.shape, generator=generator)


def first_losses(trainer, chosen=range(8)):
    """Losses of a first update with these texts: the task's and the penalty."""
    return compute_gradients(trainer, trainer.recipe.stages[0].phases[0], [np.array(chosen)])


def states_one_by_one(encoder, texts, chosen):
    """Hidden states of the labelled words of some texts at every layer, (layers, n_words, d), a text at a time."""
    found = []
    for text in chosen:
        subwords = texts.subwords[texts.subword_offsets[text] : texts.subword_offsets[text + 1]]
        positions = texts.positions[texts.word_offsets[text] : texts.word_offsets[text + 1]]
        hidden = encoder(input_ids=torch.tensor(subwords[None].astype(np.int64)), output_hidden_states=True).hidden_states
        found.append(torch.stack([layer[0, torch.tensor(positions)] for layer in hidden]))
    return torch.cat(found, 1)


# The penalty.


@pytest.mark.parametrize(("layers", "dimensions"), [("all", 3), ((1,), 3), ((0, 2), 99)])
def test_the_penalty_is_that_of_a_direct_computation(bench, subspaces, layers, dimensions):
    """Sum over layers of the mean over words of sqrt(sum over directions of (w (E q - F q))^2)."""
    trainer = loop(bench, penalised(layers=layers, dimensions=dimensions), subspaces=subspaces)
    moved(trainer)
    _, penalty = first_losses(trainer, range(9))
    texts, k = trainer.texts[TRAIN], min(dimensions, RANK)
    with torch.inference_mode():
        encoders = trainer.model.encoder.eval(), bench.encoder()
        tuned, pretrained = (states_one_by_one(encoder, texts, range(9)) for encoder in encoders)
    expected = 0.0
    for layer in LAYERS if layers == "all" else layers:
        subspace = subspaces["densray", layer]
        difference = (tuned[layer] - pretrained[layer]).double().numpy() @ subspace.basis[:, :k]
        shares = subspace.eigenvalues[:k] / subspace.eigenvalues[:k].sum()
        assert shares.sum() == pytest.approx(1)
        expected += np.sqrt(((difference * shares) ** 2).sum(1)).mean()
    assert penalty == pytest.approx(expected, rel=1e-4) and penalty > 0.01


def test_words_without_a_label_are_not_penalised(bench, subspaces):
    trainer = loop(bench, penalised(), subspaces=subspaces)
    moved(trainer)
    texts = trainer.texts[TRAIN]
    labels = texts.labels[TASK].copy()
    labels[texts.word_rows(np.arange(4))] = -100
    trainer.texts[TRAIN] = replace(texts, labels=texts.labels | {TASK: labels})
    assert first_losses(trainer, range(9)) == pytest.approx(first_losses(trainer, range(4, 9)), rel=1e-5)


def test_the_loss_is_the_tasks_and_the_weighted_penalty(bench, subspaces):
    """Gradients are linear in the weight, and those of the head are the task's alone."""
    found = {}
    for weight in (1e-9, 0.5, 1.0):
        trainer = loop(bench, penalised(weight), subspaces=subspaces)
        moved(trainer)
        trainer.model.initialise_heads((TASK,), 0)
        losses = first_losses(trainer)
        named = trainer.model.named_parameters()
        found[weight] = losses, {name: value.grad for name, value in named if value.grad is not None}
    (losses, none), (_, half), (_, whole) = found.values()
    assert all(other == pytest.approx(losses) for other, _ in found.values())
    assert all(torch.allclose(half[name], (none[name] + whole[name]) / 2, atol=1e-6) for name in none)
    changed = [name for name in none if not torch.allclose(none[name], whole[name], atol=1e-6)]
    assert len(changed) > 10 and all(name.startswith("encoder.") for name in changed)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_penalty_is_0_at_the_start_and_its_gradient_is_finite(bench, subspaces, precision):
    trainer = loop(bench, penalised(precision=precision), subspaces=subspaces)
    _, penalty = first_losses(trainer)
    assert penalty == 0
    gradients = [parameter.grad for parameter in trainer.model.parameters() if parameter.grad is not None]
    assert gradients and all(torch.isfinite(gradient).all() for gradient in gradients)


def test_gradients_of_the_distance(subspaces):
    directions = weighted(subspaces["densray", 1], 3).double()
    generator = torch.Generator().manual_seed(0)
    anchored = torch.randn(4, SIZE, dtype=torch.float64, generator=generator)
    apart = torch.randn(4, SIZE, dtype=torch.float64, generator=generator).requires_grad_()
    assert torch.autograd.gradcheck(lambda states: subspace_distance(states, anchored, directions), apart)
    same = anchored.clone().requires_grad_()
    subspace_distance(same, anchored, directions).sum().backward()
    assert (same.grad == 0).all()


def test_the_released_anchor_is_another_encoder_with_dropout(bench, subspaces):
    """Its weights are BERT's initial ones: another penalty at each step, 0 at none."""
    trainer = loop(bench, penalised(anchor="released"), subspaces=subspaces)
    (_, first), (_, second) = (first_losses(trainer) for _ in range(2))
    assert first > 0.1 and second > 0.1 and first != second
    (anchor,) = trainer.anchors.values()
    own = trainer.model.encoder.state_dict()
    sampled = [(name, value) for name, value in anchor.encoder.state_dict().items() if name.endswith("query.weight")]
    assert sampled and all(
        not torch.equal(value, own[name]) and value.std() == pytest.approx(0.02, rel=0.1) for name, value in sampled
    )
    assert anchor.encoder.training and not any(parameter.requires_grad for parameter in anchor.parameters())


def test_dropout_of_the_encoder_can_be_off(bench, subspaces):
    for dropout, penalties in ((False, 1), (True, 2)):
        trainer = loop(bench, penalised(encoder_dropout=dropout), subspaces=subspaces)
        values = {float(first_losses(trainer)[1]) for _ in range(2)}
        assert len(values) == penalties and (values == {0.0}) != dropout


@pytest.mark.parametrize("weight", [0.0, 5.0])
def test_distances_from_the_anchor_are_watched_with_and_without_a_penalty(bench, subspaces, weight):
    """Layer by layer those of a direct computation in the trained encoder; 0 at the start, and nothing else changes."""
    drift = Drift(head=TASK, data=VALIDATION, penalty=Penalty(weight=weight, dimensions=3))
    of = penalised(weight) if weight else no_penalty(penalised())
    plain, trainer = (loop(bench, each, subspaces=subspaces) for each in (of, watching(of, drift)))
    trained = trainer.run()
    assert_same_but_history(plain.run(), trained)
    texts = trainer.texts[VALIDATION]
    chosen = np.arange(len(texts))
    with torch.inference_mode():
        encoders = trained.model.encoder.eval(), bench.encoder()
        tuned, pretrained = (states_one_by_one(encoder, texts, chosen) for encoder in encoders)
    for layer in LAYERS:
        subspace = subspaces["densray", layer]
        directions = subspace.basis[:, :3] * subspace.eigenvalues[:3] / subspace.eigenvalues[:3].sum()
        expected = np.linalg.norm((tuned[layer] - pretrained[layer]).double().numpy() @ directions, axis=1).mean()
        start, _, end = (row[f"distance {layer}"] for row in trained.history)
        assert end == pytest.approx(expected, rel=1e-4) and end > 0.01 and start == 0
    assert {row["n distance"] for row in trained.history} == {len(texts.positions)}


def watching(of, drift):
    """A recipe that watches distances."""
    return of.model_copy(update={"stages": (of.stages[0].model_copy(update={"watch": (drift,)}),)})


def no_penalty(of):
    """A copy of a training without its penalty."""
    phase = Phase(terms=(LABEL,), update=(ENCODER, TASK))
    return of.model_copy(update={"stages": (of.stages[0].model_copy(update={"phases": (phase,)}),)})


def test_the_encoder_runs_once_a_step(bench, subspaces):
    trainer, calls = loop(bench, penalised(), subspaces=subspaces), []
    trainer.model.encoder.register_forward_hook(lambda *_: calls.append(1))
    first_losses(trainer)
    assert len(calls) == 1


@pytest.mark.parametrize(("anchor", "dropout"), [("pretrained", False), ("released", True)])
def test_resume_is_exact(bench, subspaces, tmp_path, anchor, dropout):
    drift = Drift(head=TASK, data=VALIDATION, penalty=Penalty(weight=0.5, dimensions=3))
    of = watching(penalised(anchor=anchor, encoder_dropout=dropout), drift)
    assert_resumes(bench, of, (1, steps_in_all(bench, recipe()) // 3, 11), tmp_path, subspaces=subspaces)


def test_a_checkpoint_of_other_subspaces_is_not_resumed(bench, subspaces):
    of, other = penalised(), {key: replace(each, eigenvalues=2.0**each.eigenvalues) for key, each in subspaces.items()}
    assert loop(bench, of, subspaces=subspaces).key != loop(bench, of, subspaces=other).key
    assert loop(bench, of, subspaces=subspaces).key == loop(bench, of, subspaces=dict(subspaces)).key


def test_a_penalty_needs_subspaces_and_an_encoder_that_learns(bench, subspaces):
    with pytest.raises(DataError, match=r"penalty: expected layers that densray was fitted to \(\[0, 2\]\), found 1: remove it"):
        some = {key: each for key, each in subspaces.items() if key[1] != 1}
        Anchor(bench.encoder(), Penalty(weight=1, dimensions=3), Units(), some, 0)
    term = Term(head=TASK, data=TRAIN, penalty=Penalty(weight=1, dimensions=3))
    with pytest.raises(ValidationError, match="expected a penalty in phases that update the encoder alone, found one elsewhere"):
        recipe(phases=(Phase(terms=(term,), update=(TASK,)),))


# Heads that read part of a state.


def projected(random=False, first=4, phases=OBJECTIVES["finetuned"], **changes):
    head = LinearHead(labels=UPOS, projection=Projection(first=first, random=random))
    of = recipe(phases=phases, **{"new_heads": (TASK,), "dropout": 0.0} | changes)
    return of.model_copy(update={"heads": {TASK: head}, "stages": of.stages[:1], "scores": of.scores[:1]})


def test_a_head_reads_the_directions_from_a_number_on(bench, subspaces):
    trainer = loop(bench, projected(), subspaces=subspaces)
    trainer.model.initialise_heads((TASK,), 0)
    head, states = trainer.model.head(TASK).eval(), torch.randn(6, SIZE)
    kept = torch.from_numpy(subspaces["densray", 2].basis[:, 4:].astype(np.float32))
    assert torch.allclose(head(states), states @ kept @ head[1].weight.T, atol=1e-5) and head[1].weight.shape == (17, SIZE - 4)
    removed = torch.from_numpy(subspaces["densray", 2].basis[:, :4].astype(np.float32))
    assert torch.allclose(head(states + torch.randn(6, 4) @ removed.T), head(states), atol=1e-5)


def test_random_directions_are_orthonormal_and_drawn_for_each_seed(bench):
    trainer = loop(bench, projected(random=True))
    head, sampled = trainer.model.head(TASK), []
    for seed in (0, 0, 1):
        trainer.model.initialise_heads((TASK,), seed)
        sampled.append(head.directions.clone())
        assert torch.allclose(sampled[-1].T @ sampled[-1], torch.eye(SIZE - 4), atol=1e-5)
    assert torch.equal(sampled[0], sampled[1]) and not torch.allclose(sampled[0], sampled[2], atol=0.1)


def test_more_directions_than_there_are_cannot_be_removed(bench, subspaces):
    with pytest.raises(DataError, match="projection: expected a first direction below 32, found 32: remove fewer directions"):
        loop(bench, projected(first=32), subspaces=subspaces)


def test_heads_on_a_frozen_encoder_learn_what_they_learn_alone(bench, config):
    """They share a phase: no clipped norm, and a rate that is the same for all."""
    frozen = recipes.recipes(config)["liang2021/pos/en/frozen"]
    assert frozen.clip is None and len(frozen.stages[0].phases) == 1 and not frozen.trains_encoder()
    one, other = (LABEL.model_copy(update={"head": name}) for name in ("task a", "task b"))
    heads = {name: LinearHead(labels=UPOS, projection=Projection(first=3, random=True)) for name in ("task a", "task b")}

    def trained(terms):
        names = tuple(term.head for term in terms)
        of = recipe(phases=(Phase(terms=terms, update=names),), new_heads=names, select_head="task a", clip=None, dropout=0.0)
        of = of.model_copy(update={"heads": {name: heads[name] for name in names}, "stages": of.stages[:1], "scores": ()})
        return loop(bench, of).run().model.head("task a")[1].weight

    assert torch.equal(trained((one,)), trained((one, other)))


# Mixed sources, subwords, states, subspaces.


def test_of_each_source_at_most_its_share_of_the_firsts(bench):
    """A smaller source enters whole."""
    data = Data(corpus="sentences", split="train", languages=("en", "de", "zh"), capped_by="en")
    texts = bench.texts(data)
    few = np.flatnonzero([language != "de" or number % 6 == 0 for number, language in enumerate(texts.languages)])
    texts = texts.take(few)
    before, found = pd.Series(texts.languages).value_counts(), capped(texts, data, 0)
    assert before.to_dict() == {"en": 48, "zh": 48, "de": 8}
    assert pd.Series(found.languages).value_counts().to_dict() == {"en": 16, "zh": 16, "de": 8}
    assert len(set(found.ids)) == 40 and set(found.ids) < set(texts.ids)
    assert capped(texts, data, 0).ids == found.ids != capped(texts, data, 1).ids
    assert tables.capped(before, ["en", "de", "zh"]) == pd.Series(found.languages).value_counts().to_dict()


def test_every_subword_has_a_label_of_its_own():
    encoding = wordpiece().encode(["well-known", "playing"], is_pretokenized=True)
    every = [position for position, word in enumerate(encoding.word_ids) if word is not None]
    assert [position for _, position in labelled_subwords(encoding, "every")] == every
    assert len(every) > len(labelled_subwords(encoding, "word_starts"))


@pytest.fixture(scope="module")
def stored(bench, tokens, tmp_path_factory) -> Path:
    """States of sampled words at all layers, though the configuration asks for none."""
    folder = tmp_path_factory.mktemp("states")
    words = Sampling(languages=LANGUAGES, random_words={"train": 60, "test": 20}, all_layers=True)
    sampled = Samples(encoder="tiny", tokenisation="subwords", unit="word", corpora={"sentences": words})
    write_samples(sampled, {"sentences": tokens / "sentences"}, folder / "samples")
    store_states(
        bench.encoder_folder, [], folder / "samples", {"sentences": tokens / "sentences"}, folder / "states", samples=sampled,
        layers=[], units=Units(), precision="float32", dtype="float32", threads=1,
        log=logging.getLogger("crosslens.tests"),
    )  # fmt: skip
    return folder / "states"


def test_states_of_all_layers_where_a_draw_asks_for_them(stored):
    assert states_files.layers(stored / "sentences") == [0, 1, 2]
    path = stored / "sentences" / "de.parquet"
    whole, split = states_files.read(stored / "sentences", 1), states_files.read_random(path, 1, "train")
    assert split.shape == (60, SIZE)
    assert np.array_equal(split, whole.vectors[(whole.languages == "de") & (whole.splits == "train")])


def test_subspaces_are_measured_and_read_back(stored, tmp_path):
    """Of every layer, from train alone; directions of the centred centroids come first."""
    rows = list(measured.measure(Subject(stored, 0, {}), corpus="sentences", split="train", methods=["densray", "lda"]))
    records_of.write([{"recipe": "r", "seed": 0} | row for row in rows], tmp_path / "s.parquet", {"paper": "p"}, measured.SCHEMA)
    found = files.read(tmp_path / "s.parquet")
    assert list(found) == [(method, layer) for layer in range(3) for method in ("densray", "lda")]
    paths = sorted((stored / "sentences").glob("*.parquet"))
    for (method, layer), subspace in found.items():
        states = {path.stem: states_files.read_random(path, layer, "train") for path in paths}
        statistics = Statistics(SIZE)
        for language, vectors in states.items():
            statistics.update(vectors, language)
        expected = measured.METHODS[method](statistics).completed(seed=0)
        assert (subspace.method, subspace.languages, subspace.rank) == (method, LANGUAGES, 2)
        for name in ("eigenvalues", "basis", "filters", "centre"):
            assert np.allclose(getattr(subspace, name), getattr(expected, name), atol=1e-5, rtol=1e-4), name
        assert subspace.basis.shape == (SIZE, SIZE) and subspace.filters.shape == (SIZE, 2)
        if method == "densray":  # the centred means lie in its first directions
            means = np.array([vectors.mean(0, dtype=float) for vectors in states.values()])
            centred, inside = means - means.mean(0), subspace.basis[:, :2]
            assert np.allclose(centred @ inside @ inside.T, centred, atol=1e-4)


# The paper's recipes.


@pytest.fixture(scope="module")
def made(config):
    return recipes.recipes(config)


def test_published_settings(config, made):
    """The paper's and run_tag_LDAR.py's: 8 batches of 4 a step, rate 2e-5, norm 1, no warm-up, linear decay, 2 epochs."""
    trained = [of for of in made.values() if of.stages]
    assert len(trained) == 2 * 2 * 10 + 2 * (1 + 2 * 6) and len(config.papers.liang2021.seeds) == 5
    of = made["liang2021/pos/en/mbert"]
    (stage,) = of.stages
    assert (stage.epochs, stage.batch, stage.encoder_rate, stage.head_rate) == (2, 32, 2e-5, 2e-5)
    assert (of.clip, of.warmup, of.decay, of.weight_decay, of.epsilon, of.init_sd) == (1.0, 0.0, "linear", 0.0, 1e-8, 0.02)
    assert (of.dropout, of.encoder_dropout, of.penalties()) == (0.1, True, [])
    tokenisation = config.tokenisations[of.tokenisation]
    assert (tokenisation.maximum, tokenisation.windows, tokenisation.labelled_subword) == (128, 0, "first")
    assert not any(each.keeps_weights for each in trained)


def test_the_best_of_xtremes_checkpoints_is_tested(made):
    """Rated by seqeval's F1 each 500 or 1,000 updates and at the end (train_udpos.sh, train_panx.sh): 665 x 2 or 625 x 2 updates.

    Heads on a frozen encoder are one training run, which no single head's score may end.
    """
    for task, interval, sentences, passes in (("pos", 500, 21253, 3), ("ner", 1000, 20000, 2)):
        for name in ("mbert", "ldar", "without100", "without100_random"):
            of = made[f"liang2021/{task}/en/{name}"]
            (stage,) = of.stages
            assert (stage.keep, stage.interval, of.select_by) == ("best", interval, "spans")
            assert (stage.select_data.split, stage.select_data.languages) == ("validation", ("en",))
            assert stage.passes({stage.phases[0].terms[0].data: sentences}) == passes
        (frozen,) = made[f"liang2021/{task}/en/frozen"].stages
        assert (frozen.keep, frozen.interval) == ("last", None)


def test_l_dars_settings(made):
    """5e-3 on blocks 1 to 12, 105 directions, without dropout (run_tag_LDAR.py, line 84); groups at 2e-2."""
    of = made["liang2021/ner/en_de_zh/ldar"]
    assert of.penalties() == [Penalty(weight=5e-3, layers="all", dimensions=105)]
    assert (of.dropout, of.encoder_dropout) == (0.0, False)
    assert of.artefact.model_dump() == {"kind": "subspaces", "recipe": pretrained("mbert"), "seed": 42}
    groups = {name: made[f"liang2021/pos/en/{name}"].penalties()[0] for name in PRINTED if name.startswith("ldar_")}
    assert {name: (each.weight, each.layers) for name, each in groups.items()} == {
        f"ldar_{first}-{first + 3}": (2e-2, tuple(range(first, first + 4))) for first in (1, 5, 9)
    }
    matched = [made[f"liang2021/pos/en/matched_{first}-{first + 3}"].penalties()[0] for first in (1, 5, 9)]
    assert all(each.weight * len(each.layers) == pytest.approx(12 * 5e-3) for each in matched)
    released, control = made["liang2021/pos/en/ldar_released"], made["liang2021/pos/en/no_dropout"]
    assert released.penalties()[0] == of.penalties()[0].model_copy(update={"anchor": "released"})
    assert (control.penalties(), control.dropout, control.encoder_dropout) == ([], 0.0, False)


def test_sources_are_english_or_three_languages_with_a_cap(made):
    for task in ("pos", "ner"):
        (english,), (mixed,) = ({term.data for term in made[f"liang2021/{task}/{each}/ldar"].stages[0].phases[0].terms}
                                for each in ("en", "en_de_zh"))  # fmt: skip
        assert (english.languages, english.capped_by) == (("en",), None)
        assert (mixed.languages, mixed.capped_by) == (("en", "de", "zh"), "en")


def test_what_figure_4_trains(made):
    frozen = made["liang2021/ner/en/frozen"]
    first = [0, 50, 100, 200, 300, 400, 500, 600, 700]
    assert [head.projection.first for head in frozen.heads.values()] == 2 * first
    assert [head.projection.random for head in frozen.heads.values()] == 9 * [False] + 9 * [True]
    tuned, random = (made[f"liang2021/ner/en/without100{end}"] for end in ("", "_random"))
    assert (tuned.artefact.kind, random.artefact) == ("subspaces", None) and tuned.trains_encoder()


def test_every_training_is_needed_by_an_item_and_every_need_is_a_training(config, made):
    shown = items(config)
    assert [name for name in shown if not name.endswith(captions.APPENDIX)] == [*captions.items("liang2021")]
    needed = {(need.recipe, need.kind) for item in shown.values() for need in item.needs}
    assert {name for name, _ in needed} == set(made)
    for name, kind in needed:
        assert kind == "history" or kind in measures(made[name], config), name
    tables_1_and_6 = ({need.recipe for need in shown[name].needs} for name in ("table1", "table6"))
    assert set.__lt__(*tables_1_and_6)


def test_subwords_are_drawn_for_subspaces_and_probes(config, made):
    """10,000 in each of mBERT's 104 languages from Wikipedia, of XLM-R's 100 from CC-100 (section 4.1)."""
    found = samples(config)
    for encoder, corpus, count in (("mbert", "wikipedia_mbert", 104), ("xlmr", "cc100", 100)):
        sampled = found[PAPER.sampled(made[pretrained(encoder)], config)]
        ((named, words),) = sampled.corpora.items()
        assert (sampled.encoder, named, len(words.languages), words.all_layers) == (encoder, corpus, count, True)
        assert config.tokenisations[sampled.tokenisation].labelled_subword == "every"
        assert words.random_words == {"train": 10000, "test": 5000}
        settings = measures(made[pretrained(encoder)], config)
        assert settings["subspaces"] == {"corpus": corpus, "split": "train", "methods": ["densray"]}
    assert PAPER.sampled(made["liang2021/pos/en/ldar"], config) is None
    assert PAPER.sampled(made[untrained("mbert")], config) == PAPER.sampled(made[pretrained("mbert")], config)


# Tables and the figure.

LANGUAGES_SCORED = ("en", "de", "zh", "af", "tl")
STUDY = Study(
    tasks={"pos": "tags", "ner": "names"},
    languages={"tags": LANGUAGES_SCORED, "names": ("en", "de", "zh", "th")},
    sources=[["en"], ["en", "de", "zh"]],
    models={"mbert": False, "ldar": False, "no_dropout": False, "ldar_1-4": True},
    penalties={
        "ldar": {"weight": 0.5, "layers": "all", "anchor": "pretrained"},
        "ldar_1-4": {"weight": 2.0, "layers": [1, 2], "anchor": "pretrained"},
    },
)
SENTENCES = {"tags": {"en": 100, "de": 90, "zh": 20}, "names": {"en": 30, "de": 30, "zh": 30}}


@pytest.fixture(scope="module")
def published():
    return Published.read(ROOT / "resources/published/liang2021.csv")


def score(recipe, language, seed, definition):
    """A made-up score in percent."""
    return 50 + sum(map(ord, f"{recipe}{language}{definition}")) % 40 + seed


def frame(rows):
    """Records of test sets as read from files: what a row does not say is null."""
    shared = {"split": "test", "measure": "score", "low": 0.1, "high": 0.9, "n": 7}
    return pd.DataFrame([{name: (shared | row).get(name) for name in records_of.RECORDS.names} for row in rows])


@pytest.fixture(scope="module")
def records():
    """Records of three seeds. Under one recipe, one seed has no score for German."""
    rows = []
    for (task, corpus), mixed, model, seed in product(STUDY.tasks.items(), (0, 1), STUDY.models, range(3)):
        recipe = STUDY.recipe(task, mixed, model)
        for language, definition in product(STUDY.languages[corpus], tables.DEFINITIONS[task]):
            place = {"recipe": recipe, "seed": seed, "corpus": corpus, "language": language, "definition": definition}
            if (task, mixed, model, seed, language) != ("pos", 0, "ldar", 1, "de"):
                rows.append(place | {"value": score(recipe, language, seed, definition) / 100})
    return frame(rows)


def made_up_history(recipe, seed):
    """Three rows, of which the second was tested, with distances at layers 1 to 3."""
    size = len(recipe) + seed
    rows = [{"epoch": epoch, "loss 0 task cross_entropy": size / (epoch + 1), "n distance": 9, "best_epoch": min(epoch, 1)}
            | {f"distance {layer}": layer * epoch * size / 100 for layer in (1, 2, 3)} for epoch in (0, 1, 2)]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def histories():
    combinations = product(STUDY.tasks, (0, 1), STUDY.models, range(3))
    places = [(STUDY.recipe(task, mixed, model), seed) for task, mixed, model, seed in combinations]
    return {place: made_up_history(*place) for place in places}


@pytest.fixture(scope="module")
def built(records, published, histories):
    names = [name for name in captions.items("liang2021") if name.startswith("table")]
    return {name: tables.table_of(name, records, published, STUDY, SENTENCES, histories) for name in names}


@pytest.mark.parametrize("name", ["table2", "table5", "table6"])
def test_lines_with_a_number_of_ours(built, name):
    """Scores, means over languages, differences paired by seed with the penalties beside them, and training sentences.

    A seed that lacks a language is in no mean, and a difference is paired by seed where both models have the same seeds.
    """
    found = built[name]
    assert_golden(found[found["here"].notna()], f"liang2021/{name}")


def test_figure_4_shows_what_is_lost_in_the_mean_over_all_languages(config, records):
    """Each kind of directions less its own, English included."""
    removals = recipes.removals(config)
    study = recipes.study(config)
    rows = []
    for task, part in [(task, part) for task, parts in removals.items() for part in parts]:
        place = {"recipe": part["recipe"], "item": part["head"], "corpus": study.tasks[task], "definition": CHUNK_MICRO_F1}
        for language, seed in product(("en", "de", "fr"), (0, 1)):
            lost = (2 + seed) * part["first"] / 1000 * (1 + (language == "en"))
            rows.append(place | {"language": language, "seed": seed, "value": 0.9 - 0.3 * seed - 0.1 * part["random"] - lost})
    records_of_seeds = frame(rows)
    assert_golden_curves(removal.removal(records_of_seeds, study, removals), "liang2021/figure4")
    alone = removal.removal(records_of_seeds[records_of_seeds["seed"] == 0], study, removals)
    assert alone.get_supxlabel().endswith("mean over all languages, of one seed.")
    with pytest.raises(DataError, match=r"^figure4: expected scores of heads"):
        removal.removal(records, study, removals)
