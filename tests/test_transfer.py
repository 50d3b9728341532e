"""A classifier of pairs under a shift, with a selected weight: against whole passes with a hook."""

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import NLI
from crosslens.config.heads import TASK, LinearHead
from crosslens.config.units import Units
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.shift import Shift, shifted
from crosslens.jobs import records
from crosslens.measures import transfer
from crosslens.measures.shared.shift_data import Mean, mean_states, read_pairs
from crosslens.measures.shared.shift_terms import (
    ACCURACY,
    GAIN,
    NO_SHIFT,
    ONE_WEIGHT,
    ORACLE,
    RANDOM,
    RANDOM_SELECTED,
    SELECTED,
    SHIFT,
)
from crosslens.measures.shared.subject import Subject
from crosslens.training.model import EncoderWithHeads, save
from test_translation import dev_tokens  # noqa: F401

MEAN = {"corpus": "pairs", "split": "dev", "weighting": "tokens", "specials": False}
WEIGHTS = [0.5, 4.0, 9.0]


@pytest.fixture(scope="module")
def trained(encoder_folder, tmp_path_factory):
    """A classifier with random weights, as a training leaves it."""
    units = Units(unit="text", segments=True)
    model = EncoderWithHeads(load_encoder(encoder_folder), {TASK: LinearHead(labels=NLI)}, units, init_sd=0.5)
    model.initialise_heads([TASK], 5)
    with torch.no_grad():
        for value in model.encoder.parameters():
            value.add_(0.2 * torch.randn(value.shape, generator=torch.Generator().manual_seed(1)))
    path = tmp_path_factory.mktemp("trained") / "model.safetensors"
    save(model, path, with_encoder=True)
    return model.eval(), path


@pytest.fixture(scope="module")
def measured(trained, encoder_folder, dev_tokens):  # noqa: F811
    rows = transfer.measure(
        Subject(encoder_folder, 0, dev_tokens, weights=[trained[1]]), corpora={}, pairs="pairs", source="en",
        languages=["de", "zh"], means=MEAN, layer=1, weights=WEIGHTS, labels=NLI, segments=True,
    )  # fmt: skip
    return pd.DataFrame(list(rows), columns=records.RECORDS.names)


def at_weights(measured, split, random=False):
    chosen = (measured["definition"] == (RANDOM if random else SHIFT)) & (measured["split"] == split)
    return measured[chosen].pivot(index="language", columns="weight", values="value")


def test_accuracies_are_those_of_whole_passes(measured, trained, dev_tokens):  # noqa: F811
    model, _ = trained
    means = mean_states(model.encoder, dev_tokens, ["de", "en", "zh"], [Mean(**MEAN)], True)[Mean(**MEAN)]
    for split in ("dev", "test"):
        found = at_weights(measured, split)
        for language in ("de", "zh"):
            texts = read_pairs(dev_tokens["pairs"], language, split, NLI)
            for weight in (0.0, *WEIGHTS):
                right = []
                for i in range(len(texts)):
                    subwords = torch.from_numpy(
                        texts.subwords[texts.subword_offsets[i] : texts.subword_offsets[i + 1]].astype(np.int64)
                    )
                    types = (torch.arange(len(subwords)) >= texts.second[i]).long()
                    shift = Shift(1, weight, (means["en"] - means[language])[1])
                    with torch.inference_mode(), shifted(model.encoder, shift):
                        states = model.encoder(input_ids=subwords[None], token_type_ids=types[None]).last_hidden_state[:, 0]
                        right.append(int(model.head(TASK)(states).argmax()) == texts.labels[TASK][i])
                assert found[weight][language] == pytest.approx(np.mean(right))
    assert at_weights(measured, "test").stack().nunique() > 2


def test_weights_are_selected_on_development_data(measured):
    chosen = measured[measured["measure"] == ACCURACY].set_index(["definition", "language"])
    dev, test, random = (at_weights(measured, *of) for of in (("dev",), ("test",), ("dev", True)))
    shared = dev.loc[["de", "zh"]].mean().idxmax()
    for language in ("de", "zh"):
        weights = {
            NO_SHIFT: 0.0, SELECTED: dev.loc[language].idxmax(), ONE_WEIGHT: shared, ORACLE: test.loc[language].idxmax(),
            RANDOM_SELECTED: random.loc[language].idxmax(),
        }  # fmt: skip
        for definition, weight in weights.items():
            row = chosen.loc[definition, language]
            of_split = at_weights(measured, "test", definition == RANDOM_SELECTED)
            assert row["weight"] == weight and row["value"] == of_split[weight][language] and row["split"] == "test"
    assert chosen.loc[ORACLE, "value"].ge(chosen.loc[SELECTED, "value"]).all()


def test_gains_are_paired(measured):
    accuracy = measured[measured["measure"] == ACCURACY].set_index(["definition", "language"])["value"]
    gains = measured[measured["measure"] == GAIN].set_index(["definition", "language"])
    of_all, gains = gains.xs("all", level="language"), gains.drop(index="all", level="language")
    assert len(gains) == 8 and gains["value"].abs().max() > 0
    for definition, mean in gains.groupby(level="definition")["value"].mean().items():
        low, value, high = of_all.loc[definition, ["low", "value", "high"]]
        assert value == pytest.approx(mean)
        # Pairs vary less in the mean of two languages than in either: at most as much as in both together.
        both = gains.loc[definition]
        assert not high - low > (both["high"] - both["low"]).sum() + 1e-9
    for (definition, language), gain in gains.iterrows():
        assert gain["value"] == pytest.approx(accuracy[definition, language] - accuracy[NO_SHIFT, language])
        assert gain["low"] < gain["value"] < gain["high"] if gain["weight"] else np.isnan([gain["low"], gain["high"]]).all()
