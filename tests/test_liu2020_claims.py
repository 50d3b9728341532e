"""liu2020: its claims file at each preset, and the functions that it names, on planted numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from crosslens.config.presets import read_yaml
from crosslens.numerics.estimates import Estimate
from crosslens.papers.configuration import load
from crosslens.papers.liu2020 import claims
from crosslens.papers.liu2020.names import nli, pretraining
from crosslens.papers.liu2020.tables_and_figures import names
from crosslens.reports.claims.claims_file import read_claims_file
from crosslens.reports.claims.evidence import Missing, Unconfigured
from scipy import stats

ROOT = Path(__file__).parents[1]
CLAIMS_FILE = ROOT / "workflow/crosslens/papers/liu2020/claims.yaml"


def test_names_of_the_published_scale_are_the_papers():
    values = names(load(read_yaml(ROOT / "config.yaml")))
    claims_file = read_claims_file(CLAIMS_FILE, values)
    assert "$" not in repr(claims_file)
    short, tabulated, rates = (claims_file.claims[key].effect[-1] for key in ("c11", "c12", "c21"))
    assert short.reads[1].recipes == ("liu2020/pretraining/bert-20/1000k",)
    assert tabulated.plus[0].values["row"] == ("BERT, window 20 (200k)",)
    assert rates.plus[0].values["row"] == ("convert rate (layer=10, alpha=3)",)
    assert (values["place"], values["translator"], values["encoder"]) == ("(layer=11, alpha=3)", "liu2020/released", "mbert")


def test_a_scale_without_short_windows_lacks_their_claims_alone():
    values: dict[str, Any] = read_yaml(ROOT / "config.yaml")
    values["papers"]["liu2020"]["pretraining"]["bert"]["segments"] = []
    claims_file = read_claims_file(CLAIMS_FILE, names(load(values)))
    lacking = [key for key, claim in claims_file.claims.items() if "$" in str(claim.selections)]
    assert lacking == ["c11", "c12", "c13", "c14", "c15", "c37"]


def test_models_are_ranked_by_their_last_layer():
    """Words by three models; the first layer of a BERT and a language without XNLI would turn the order."""
    models = {"glove/200k": (0.1, 40.0), "word2vec/200k": (0.3, 35.0), "bert-20/200k": (0.2, 50.0), "bert-512/200k": (0.4, 45.0)}
    words = [(pretraining(model), "de", 0, value) for model, (value, _) in models.items()]
    words += [(pretraining("bert-512/200k"), "de", 0, 0.0), (pretraining("glove/200k"), "sw", 0, 9.0)]
    words = [(name, code, 2 if "bert" in name and value else layer, value) for name, code, layer, value in words]
    pairs = [(nli(model, features=True), code, value) for model, (_, value) in models.items() for code in ("de", "fr")]
    pairs.append((nli("untrained", features=True), "de", 33.3))
    frames = [
        pd.DataFrame(words, columns=["recipe", "language", "layer", "value"]),
        pd.DataFrame(pairs, columns=["recipe", "language", "value"]),
    ]
    estimate, n = claims.correlation_of_models(frames)
    x, y = np.array(list(models.values())).T
    assert (estimate.value, n) == (pytest.approx(stats.spearmanr(x, y).statistic), 4)


def grid(scores: dict[tuple[str, int, float], float], subspace: str = "mean") -> pd.DataFrame:
    """BLEU-1 by direction, layer and weight."""
    lines = [(*place, value, subspace) for place, value in scores.items()]
    return pd.DataFrame(lines, columns=["item", "layer", "weight", "value", "subspace"])


def test_directions_with_a_late_best_layer():
    best = {"en->de": 10, "de->en": 11, "en->zh": 12, "zh->en": 1}
    scores = {(item, layer, 1.0): 9.0 if layer == of else 1.0 for item, of in best.items() for layer in range(1, 13)}
    assert claims.share_with_late_best([grid(scores)]) == (Estimate.exact(50.0), 4)
    with pytest.raises(Missing, match="an encoder with 2 layers has no such layers"):
        claims.share_with_late_best([grid({place: value for place, value in scores.items() if place[1] < 3})])


def test_the_layer_of_a_gain_is_selected_on_development_data():
    """Layer 2 gains most there, layer 1 least; on test data all gains differ, and another mean does not count."""
    gains = {1: -1.0, 2: 3.0, 3: 1.0}
    items = {"en->de": 0.0, "fr->en": 1.0, "en->zh": 5.0}
    development = grid({(item, layer, w): w * gain for item in items for layer, gain in gains.items() for w in (1.0, 2.0)})
    places = [(item, layer, w) for item in items for layer in gains for w in (1.0, 2.0)]
    test = grid({(item, layer, w): w * (gains[layer] + items[item]) for item, layer, w in places})
    other = grid({(item, 2, w): 99 * w for item in items for w in (1.0, 2.0)}, "another mean")
    negative = grid({(item, layer, -3.0): 50.0 for item, layer, _ in places})  # which only test records have
    for most, gain in ((True, 3.0), (False, -1.0)):
        gains_of_layer = claims.gain_of_weight([development, pd.concat([test, other, negative])], most=most)
        assert gains_of_layer[0].to_dict() == pytest.approx({item: gain + more for item, more in items.items()})


def test_the_last_layers_of_models_are_compared_by_seed():
    """A model of one layer and one seed beside two of two layers and two seeds."""

    def model(recipe, values):
        return pd.DataFrame([(recipe, "en-de", layer, seed, value) for (layer, seed), value in values.items()],
                            columns=["recipe", "item", "layer", "seed", "value"])  # fmt: skip

    deep = model("bert", {(0, 0): 9.0, (0, 1): 9.0, (2, 0): 1.0, (2, 1): 2.0})
    deeper = model("other", {(0, 0): 9.0, (2, 0): 4.0, (2, 1): 4.0, (2, 2): 7.0})
    flat = model("glove", {(0, 0): 3.0})
    assert claims.last_layers([flat, deep]).to_numpy().tolist() == [[2, 1]]
    assert claims.last_layers([deeper, flat, deep, flat]).to_numpy().tolist() == [[3, 2]]


def test_a_range():
    assert claims.range_of([pd.DataFrame({"value": [0.2, 2.0, 1.1]})]) == (Estimate.exact(1.8), 3)


def test_weights_that_differ_by_language_agree_over_seeds():
    languages = list("abcdefghij")
    frames = [
        pd.DataFrame({"language": [*languages, "all"], "seed": seed, "weight": [*weights, 9.0]})
        for seed, weights in enumerate((np.arange(10.0), np.arange(10.0) * 2 + 1, np.arange(10.0)))
    ]
    pairs = claims.agreement_of_weights([pd.concat(frames)])
    assert pairs["x"].tolist() == [*range(10)] and pairs["y"].tolist() == [1.5 * x + 0.5 for x in range(10)]
    with pytest.raises(Unconfigured, match="one seed"):
        claims.agreement_of_weights([frames[0]])
