"""The kinds `change` and `sentence_probes` find planted changes of an encoder, by layer, and languages in planted states."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import LANGUAGES, alone, write_states
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.layers import transformer_layers
from crosslens.encoding.texts import load
from crosslens.jobs.checksums import checksummed
from crosslens.measures import change, sentence_probes
from crosslens.measures.shared.change_terms import LOWER_HALF, STATES, TRAINED, WEIGHTS
from crosslens.measures.shared.subject import Subject
from crosslens.papers.muller2021.change import table
from goldens import assert_golden
from safetensors.torch import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from synthetic_records import SyntheticInputs
from test_muller2021_tables import STUDY, frame


def changes(tmp_path, folder, written_sentences, encoder):
    """Records of the kind, of an encoder that a training run has left; without intervals."""
    file = tmp_path / "model.safetensors"
    save_file({f"encoder.{name}": value for name, value in encoder.state_dict().items()}, file, {"encoder": "yes"})
    subject = Subject(folder, 0, {"sentences": written_sentences}, weights=[file])
    rows = pd.DataFrame(change.measure(subject, corpora={"sentences": "whole"}))
    assert set(rows["definition"]) == {TRAINED, LOWER_HALF} and set(rows["measure"]) == {STATES, WEIGHTS}
    return rows.set_index(["measure", "definition", "language", "layer"]).sort_index()


def means(encoder, texts):
    """States of layer 2, averaged over each text's subwords but the special ones, one text at a time."""
    return np.array([alone(encoder, texts, number)[-1, 1:-1].mean(0).double().numpy() for number in range(len(texts))])


def debiased(x, y):
    """CKA from HSIC_1 as Song et al. (2012) write it, with sums over Gram matrices without their diagonals."""
    first, second = (a @ a.T * (1 - np.eye(len(a))) for a in (x, y))
    n = len(first)

    def hsic(a, b):
        return (a * b).sum() + a.sum() * b.sum() / (n - 1) / (n - 2) - 2 * (a @ b).sum() / (n - 2)

    return hsic(first, second) / np.sqrt(hsic(first, first) * hsic(second, second))


def other_weights(folder, block):
    """The encoder, and a version of it in which the weights of one of its two layers are others."""
    before, after = load_encoder(folder), load_encoder(folder)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in transformer_layers(after)[block - 1].parameters():
            weight += 0.2 * torch.randn(weight.shape, generator=generator)
    return before, after


def test_a_change_of_the_upper_block_is_seen_there_alone(tmp_path, encoder_folder, written_sentences):
    before, after = other_weights(encoder_folder, 2)
    rows = changes(tmp_path, encoder_folder, written_sentences, after)
    for language in LANGUAGES:
        cka = rows.loc[(STATES, TRAINED, language)]
        assert cka["value"][[0, 1]].tolist() == pytest.approx([1, 1]) and 0 < cka["value"][2] < 0.99
        assert cka["low"][2] < cka["value"][2] < cka["high"][2]
        assert rows.loc[(STATES, LOWER_HALF, language)]["value"].tolist() == pytest.approx([1, 1, 1])
        texts = load([written_sentences / f"{language}.test.parquet"], (), (), "text")
        assert cka["value"][2] == pytest.approx(debiased(means(before, texts), means(after, texts)), abs=1e-4)
        assert cka["n"][2] == len(texts)
    old, new = (
        torch.cat([weight.detach().ravel().double() for weight in transformer_layers(encoder)[1].parameters()]).numpy()
        for encoder in (before, after)
    )
    weights = rows.loc[(WEIGHTS, TRAINED, "all")]
    assert weights["value"].tolist() == pytest.approx([0, 0, np.linalg.norm(new - old) / np.linalg.norm(old)])
    assert weights["n"][2] == len(old)


def test_a_change_of_the_lower_block_is_seen_above_it(tmp_path, encoder_folder, written_sentences):
    """States of the upper layer change too, with the lower half alone as much as with all of it; its weights do not."""
    rows = changes(tmp_path, encoder_folder, written_sentences, other_weights(encoder_folder, 1)[1])
    for language in LANGUAGES:
        trained, lower_half = (rows.loc[(STATES, definition, language)]["value"] for definition in (TRAINED, LOWER_HALF))
        assert trained[0] == pytest.approx(1) and trained[1] < 0.99 and trained[2] < 0.99
        assert lower_half.tolist() == pytest.approx(trained.tolist())
    weights = rows.loc[(WEIGHTS, TRAINED, "all")]["value"]
    assert weights[1] > 0 and weights[[0, 2]].tolist() == [0, 0]


def test_a_training_that_changes_nothing_leaves_everything_as_it_was(tmp_path, encoder_folder, written_sentences):
    rows = changes(tmp_path, encoder_folder, written_sentences, load_encoder(encoder_folder))
    assert rows.loc[STATES, "value"].tolist() == pytest.approx([1] * 2 * 3 * len(LANGUAGES))
    assert rows.loc[WEIGHTS, "value"].tolist() == [0, 0, 0]


def store_states(folder, number):
    """States of parallel sentences: layer 0 is of the sentence alone, layer 1 also of its language."""
    generator = np.random.default_rng(0)
    ids = [f"n{document:05d}001" for document in range(number)]
    meanings, centres = generator.normal(size=(number, 6)), 1.5 * generator.normal(size=(3, 6))
    with checksummed(folder / "pud") as temporary:
        for code, centre in zip(LANGUAGES, centres, strict=True):
            vectors = {f"layer_{layer}": meanings + layer * centre + 0.5 * generator.normal(size=(number, 6)) for layer in (0, 1)}
            write_states(temporary / f"{code}.parquet", vectors, ids)


def test_probes_tell_the_languages_of_sentences_where_states_have_them(tmp_path, monkeypatch):
    store_states(tmp_path, 60)
    parts = []

    def probe(train, truth, texts, tests, **settings):
        parts.append((train, truth, texts, *tests))
        return logistic_probe(train, truth, texts, tests, **settings)

    logistic_probe = sentence_probes.logistic_probe
    monkeypatch.setattr(sentence_probes, "logistic_probe", probe)
    rows_by_seed = {}
    for seed in (0, 1):
        rows = sentence_probes.measure(Subject(tmp_path, seed, {}), corpus="pud", held_out=0.4, penalty=1.0, tolerance=1e-6)
        rows_by_seed[seed] = pd.DataFrame(rows).set_index("layer")
    assert rows_by_seed[0].equals(rows_by_seed[1])  # the same sentences whatever the training run's seed
    rows = rows_by_seed[0]
    assert rows["value"][0] < 0.5 and rows["value"][1] > 0.8 and rows["converged"].all()
    assert set(rows["n"]) == {24 * 3} and set(rows["language"]) == {"all"}
    assert (rows["low"] < rows["value"]).all() and (rows["value"] < rows["high"]).all()
    for layer, (train, truth, texts, test) in enumerate(parts[:2]):
        assert len(set(texts)) == 36 and len(texts) == 36 * 3  # so that no translation of a tested sentence was learned from
        scaler = StandardScaler().fit(train)
        fitted = LogisticRegression(C=1.0, max_iter=10_000, tol=1e-8).fit(scaler.transform(train), truth)
        gold = np.repeat(LANGUAGES, 24)
        assert rows["value"][layer] == pytest.approx((fitted.predict(scaler.transform(test)) == gold).mean())


def test_the_table_has_each_language_their_mean_the_weights_and_the_probes():
    languages = ["ar", "en", "ru"]
    study = replace(STUDY, languages=STUDY.languages | {STUDY.parallel: languages})
    rows = []
    for task, seed, layer in ((task, seed, layer) for task in STUDY.own for seed in (0, 1) for layer in (0, 1)):
        place = {"recipe": f"muller2021/{task}/en/ref", "seed": seed, "layer": layer, "n": 50}
        for number, code in enumerate(languages):
            of_language = place | {"measure": STATES, "language": code}
            rows.append(of_language | {"definition": TRAINED, "value": 1 - layer * (0.1 + number / 100 + seed / 1000)})
            rows.append(of_language | {"definition": LOWER_HALF, "value": 1.0})
        rows.append(place | {"measure": WEIGHTS, "definition": TRAINED, "language": "all", "value": 0.01 * (1 + layer)})
        rows.append(place | {"measure": "probe", "definition": "within", "language": "all", "value": 0.5, "gradient": 2e-3,
                             "converged": layer == 0})  # fmt: skip
    for name in ("pretrained", "untrained"):
        rows.append({"recipe": f"muller2021/{name}", "seed": 0, "layer": 0, "n": 50, "measure": "probe", "language": "all",
                     "value": 0.05, "low": 0.04, "high": 0.06, "converged": True})  # fmt: skip
    inputs = SyntheticInputs([], [], None, {}, {}, by_kind={"all": frame(rows)})
    assert_golden(table("change", inputs, {"study": vars(study)}), "muller2021/change")
