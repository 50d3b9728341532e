"""Means of languages in one pass, against a loop over single texts."""

from itertools import combinations

import numpy as np
import pytest
import torch
from conftest import alone
from crosslens.encoding import means as module
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.means import Variant, language_means
from crosslens.encoding.texts import load, load_subwords
from crosslens.jobs.errors import DataError


@pytest.fixture(scope="module")
def encoder(encoder_folder):
    return load_encoder(encoder_folder)


def by_loop(encoder, texts):
    """Of each text its states (L + 1, T, d), and which subwords are special."""
    for number in range(len(texts)):
        states = alone(encoder, texts, number, segments=True).double().numpy()
        special = np.zeros(states.shape[1], bool)
        special[[0, -1]] = True
        if texts.second[number]:
            special[texts.second[number] - 1] = True
        yield states, special


@pytest.mark.parametrize("kind", ["sentences", "pairs"])
def test_every_variant_is_that_of_a_loop(encoder, tokens, kind):
    texts = {code: load([tokens / kind / f"{code}.test.parquet"], (), (), "text") for code in ("en", "zh")}
    variants = tuple(Variant(weighting, specials) for weighting in ("tokens", "texts") for specials in (False, True))
    found = language_means(encoder, texts, variants, True)
    for code, each in texts.items():
        single = list(by_loop(encoder, each))
        for specials in (False, True):
            kept = [states[:, specials | ~special] for states, special in single]
            expected = {
                "tokens": np.concatenate(kept, 1).mean(1),
                "texts": np.mean([states.mean(1) for states in kept if states.shape[1]], 0),
            }
            for weighting, value in expected.items():
                np.testing.assert_allclose(found[Variant(weighting, specials)][code], value, atol=1e-6)
            assert not np.allclose(expected["tokens"], expected["texts"], atol=1e-4)
    without, with_specials = (found[Variant("tokens", specials)]["en"] for specials in (False, True))
    assert not np.allclose(without, with_specials, atol=1e-3)


def test_released_is_the_mean_of_some_blocks(encoder, tokens, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 12)
    monkeypatch.setattr(module, "BLOCKS", 3)
    texts, released = {"en": load_subwords([tokens / "sentences" / "en.test.parquet"])}, Variant("released", True)

    def mean() -> np.ndarray:
        return language_means(encoder, texts, (released,))[released]["en"]

    running = np.concatenate([subwords[1:-1] for subwords in np.split(texts["en"].subwords, texts["en"].subword_offsets[1:-1])])
    first, last = texts["en"].subwords[0], texts["en"].subwords[-1]
    blocks = [[first, *running[i : i + 10], last] for i in range(0, len(running) - 9, 10)]
    with torch.inference_mode():
        states = encoder(input_ids=torch.tensor(np.array(blocks, np.int64)), output_hidden_states=True).hidden_states
    each = torch.stack(states).double().mean(2).numpy()  # (L + 1, blocks, d)
    triples = each[:, np.array([*combinations(range(len(blocks)), 3)])].mean(2)  # (L + 1, triples, d)
    assert np.isclose(triples, mean()[:, None], atol=1e-6).all((0, 2)).sum() == 1
    monkeypatch.setattr(module, "BLOCKS", 10**6)  # all of them
    np.testing.assert_allclose(mean(), each.mean(1), atol=1e-6)
    monkeypatch.setattr(module, "BLOCK", 5000)
    with pytest.raises(DataError, match="en: expected at least 4998 subwords"):
        mean()
