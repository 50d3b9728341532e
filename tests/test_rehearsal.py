"""A rehearsal: few updates, few texts through whole encoders, the memory and the files of the study, and nothing to conclude."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from crosslens.corpora.sources.registry import load as load_sources
from crosslens.encoding.batches import for_each_batch
from crosslens.encoding.layers import transformer_layers
from crosslens.encoding.unit_states import unit_states
from crosslens.jobs.errors import DataError
from crosslens.papers import papers
from crosslens.papers.configuration import load
from crosslens.reports.about import About
from crosslens.reports.studies import Studies
from crosslens.training.batches import rehearsed
from crosslens.training.predict import hidden_states
from study import RESULTS, counts, jobs_of, snakemake
from test_bottom import frozen
from test_config import merged
from test_training import OBJECTIVES, TEST, loop, nli, recipe

UPDATES = 3


@pytest.fixture
def rehearsing(bench, monkeypatch):
    """A workbench whose encoder's folder says that it is of a rehearsal."""
    load_folder = type(bench).encoder

    def encoder(*options):
        module = load_folder(*options)
        module.config.rehearse = UPDATES
        return module

    monkeypatch.setattr(type(bench), "encoder", encoder)
    return bench


def test_the_longest_text_passes_all_blocks_and_most_pass_none(bench, rehearsing):
    """The embeddings are those of every text, so that no state is left as memory had it."""
    texts, states = bench.texts(TEST), []
    encoder = bench.encoder(0.0)
    passed = []
    transformer_layers(encoder)[-1].attention.register_forward_hook(lambda _, arguments, output: passed.append(len(arguments[0])))
    model = loop(bench, recipe(), dropout=0.0).model
    del model.encoder.config.rehearse
    whole, (cut,) = hidden_states(model, texts)[0], hidden_states(model.to(torch.float32), texts, [0])
    model.encoder.config.rehearse = UPDATES
    (rehearsed_states,) = hidden_states(model, texts)
    same = (rehearsed_states == whole).all(1).numpy()
    assert torch.allclose(rehearsed_states[~same], cut[~same], atol=1e-6) and 0 < same.sum() < len(same)
    words = np.repeat(np.arange(len(texts)), np.diff(texts.word_offsets))
    assert same[words == texts.lengths.argmax()].all()
    for_each_batch(texts, encoder, False, lambda batch: states.append(unit_states(encoder, batch, model.units)))
    assert UPDATES <= sum(passed) < len(texts)


@pytest.mark.parametrize("of", [*map(recipe, OBJECTIVES), nli("reversal"), frozen(1)], ids=lambda of: of.name)
def test_each_phase_has_its_first_updates_and_one_of_the_longest_texts(bench, rehearsing, of):
    trainer = loop(bench, of.rehearsed())
    steps, subwords = [], []
    trainer.after_step = lambda position: steps.append((position.stage, position.epoch, position.phase, position.step))
    gradients = trainer.step.gradients
    trainer.step.gradients = lambda phase, place, chosen: (
        subwords.append((phase, place.step, chosen)), gradients(phase, place, chosen),
    )[1]  # fmt: skip
    trained = trainer.run()
    assert steps == [
        (number, 0, phase, step + 1)
        for number, stage in enumerate(of.stages)
        for phase in range(len(stage.phases))
        for step in range(UPDATES)
    ]
    for phase, step, chosen in subwords:
        for term, texts in zip(phase.terms, chosen, strict=True):
            lengths = trainer.texts[term.data].lengths
            assert (lengths[texts].sum() == np.sort(lengths)[-len(texts) :].sum()) == (step == 0)
    assert {row["stage"] for row in trained.history} == {"task", "language"} and len(trained.history) == 4
    for score, predictions in zip(of.scores, trained.predictions, strict=True):
        n = len(trainer.texts[score.data].positions)
        assert all(len(classes) == n and (classes >= 0).all() for classes in predictions.values())


def test_a_pass_of_few_batches_ends_with_them():
    batches = [np.array([2, 0]), np.array([1])]
    lengths = np.array([1, 3, 2])
    assert [batch.tolist() for batch in rehearsed(batches, lengths, 5)] == [[1, 2], [2, 0], [1]]
    assert [batch.tolist() for batch in rehearsed(batches, lengths, 2)] == [[1, 2], [2, 0]]


# The configuration and what is told of it.


def test_results_lie_below_those_of_the_study_and_nothing_is_concluded():
    values = merged("published")
    study, rehearsal, laptop = (load(more) for more in (values, values | {"rehearse": 20}, merged("laptop") | {"rehearse": 20}))
    assert (study.results, study.counterpart) == ("results", "results/rehearsal")
    assert (rehearsal.results, rehearsal.counterpart) == ("results/rehearsal", "results")
    assert (laptop.results, laptop.counterpart) == ("results/laptop/rehearsal", "results/laptop")
    with pytest.raises(DataError, match=re.escape("rehearse: input should be greater than or equal to 2, found 1")):
        load(values | {"rehearse": 1})
    study.expect_study()
    with pytest.raises(DataError, match=r"results/rehearsal: expected the results of a study.*\(rehearse: 20\), from which no"):
        rehearsal.expect_study()


def test_nothing_of_a_rehearsal_passes_for_a_result():
    """Its training runs and samples are those of the study."""
    values = merged("published")
    study, rehearsal = (Studies(load(values | more), papers()) for more in ({}, {"rehearse": 20}))
    assert study.recipes == rehearsal.recipes and study.samples == rehearsal.samples
    about, other = About(rehearsal, study, load_sources()), About(study, study, load_sources())
    for paper, name, item in rehearsal.items.values():
        (reason, *_) = about.apart(paper, about.uses(paper, item))
        page = about.page(paper, {name: item}, report=False)
        origin = about.origin(paper, item)
        for text in (reason, origin, page["apart"][0], page["items"][0]["caption"].strip("*")):
            assert text.startswith("REHEARSAL: training runs ended after 20 updates")
        assert "REHEARSAL" not in str(other.page(paper, {name: item}, report=False))


def test_without_a_network_trainings_differ_in_data_and_weights_alone():
    """Languages, batches, rates and lengths are those of the full study."""
    published, offline = (Studies(load(merged(scale)), papers()) for scale in ("published", "rehearsal"))
    assert [paper.key for paper in offline.papers] == ["tanti2021"]
    for name, (_, of) in offline.recipes.items():
        assert of.model_copy(update={"encoder": "mbert"}) == published.recipes[name][1]
    languages = {name: corpus.languages for name, corpus in published.config.corpora.items()}
    assert all(offline.config.corpora[name].languages == languages[name] for name in ("udpos", "xnli", "wikipedia"))


@pytest.mark.long
def test_a_rehearsal_of_the_tiny_study(own):
    """It takes the study's texts, changes nothing of the study, says what its jobs took, and concludes nothing."""
    study, folder, options = own / RESULTS, own / RESULTS / "rehearsal", ("--profile", "tests/workflow", "--config")

    def of_study():
        return {path: path.stat().st_mtime_ns for path in study.rglob("*") if folder not in path.parents and path.is_file()}

    before = of_study()
    said = snakemake(own, *options, "rehearse=2", "--", f"{RESULTS}/table2.csv")
    assert of_study() == before
    assert re.search(rf"{RESULTS}/rehearsal: \d+ files of .*corpora.* are taken from {RESULTS}", said)
    planned_jobs = counts(said)
    assert planned_jobs["train"] == planned_jobs["states"] == 4 and "corpus" not in planned_jobs
    table = pd.read_csv(folder / "table2.csv")
    assert table["reason"].str.startswith("REHEARSAL").all() and not table["comparable"].any()
    record = json.loads((folder / "table2.csv.json").read_text())
    assert {training["encoder"]["rehearse"] for training in record["training_runs"]} == {2}
    assert "Rehearsed with 2 updates and texts" in said
    # Ended, requested memory, its peak, none on a GPU; an update of the study, for which no hours are tabulated, and this one.
    assert re.search(r"│ models/tanti2021/pos/gradient_reversal +│ +1 of 1 │ +48.0 GB │ +[\d.]+ MB │ +│ +│ +[\d.]+ │", said), said
    assert jobs_of(snakemake(own, "-n", *options, "rehearse=2", "--", f"{RESULTS}/rehearsal/table2.csv")) == []
    changed_jobs = counts(snakemake(own, "-n", *options, "rehearse=3", "--", f"{RESULTS}/table2.csv"))
    assert changed_jobs["encoder"] == 1 and changed_jobs["train"] == 4 and "tokens" not in changed_jobs
    refusal = snakemake(own, *options, "rehearse=2", "--", "claims", works=False)
    assert "expected the results of a study, found those of its rehearsal (rehearse: 2)" in refusal
    assert "Traceback" not in refusal and not (folder / "claims.csv").exists()
