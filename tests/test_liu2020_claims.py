"""liu2020: what the text claims without a table, from made-up records of every kind."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from crosslens.measures.intervals import mean_interval
from crosslens.measures.shifts import CONVERT_RATE, GAIN, MASKED, PROBABILITY, RANDOM, RANDOM_SELECTED, SELECTED, SHARES, SHIFT
from crosslens.papers.liu2020 import claims
from crosslens.papers.liu2020.layout import LAST, inference, pretraining
from crosslens.papers.liu2020.retrieval import RANK
from test_liu2020_figures import NAMES, SIZES, retrieved, scored

MODELS = [f"{model}/{size}" for size in SIZES for model in ("bert-512", "bert-20", "glove", "word2vec")]
STUDY = {
    "source": "en", "encoder": "mbert", "models": MODELS, "sizes": SIZES, "windows": [512, 20], "translator": "liu2020/released",
    "translation": {}, "inference": ["de"], "names": NAMES,
}  # fmt: skip


def translated() -> pd.DataFrame:
    """Two directions; outputs do as the text says for negative weights alone."""
    rows = []
    for number, item in enumerate(("en->de", "en->fr")):
        common = {"item": item, "split": "test", "subspace": "mean", "layer": 10}
        for weight in (-1.0, 1.0, 2.0):
            rate = 0.0 if weight < 0 else 0.3 * weight + 0.1 * number
            rows += [common | {"weight": weight, "definition": SHIFT, "measure": CONVERT_RATE, "value": rate},
                     common | {"weight": weight, "definition": SHIFT, "measure": SHARES["source"], "value": 0.8},
                     common | {"weight": weight, "definition": SHIFT, "measure": SHARES["neither"], "value": 0.2}]  # fmt: skip
            if weight > 0:
                other = {"layer": 9, "weight": weight, "definition": SHIFT, "measure": SHARES["neither"]}
                rows.append(common | other | {"value": 0.1 * number})
                rows.append(common | {"weight": weight, "definition": RANDOM, "measure": CONVERT_RATE, "value": 0.05})
        rows.append(common | {"weight": 2.0, "layer": 9, "definition": RANDOM, "measure": CONVERT_RATE, "value": 0.9})
        for measure, share in ((SHARES["target"], 0.01), (PROBABILITY, 0.02)):
            rows.append({"item": item, "split": "test", "definition": MASKED, "measure": measure, "value": share * (number + 1)})
    rows.append({"item": "en->en", "split": "test", "definition": MASKED, "measure": "accuracy", "value": 0.6})
    return pd.DataFrame(rows).assign(recipe="liu2020/released", seed=0, n=100)


@pytest.fixture(scope="module")
def made() -> pd.DataFrame:
    gains = pd.DataFrame([
        {"recipe": LAST, "seed": seed, "language": language, "split": "test", "measure": GAIN, "definition": definition,
         "value": 0.01 + 0.001 * number if definition == SELECTED else 0.01 * (-1) ** number, "n": 5010}
        for seed in (0, 1) for number, language in enumerate(("de", "fr", "zh"))
        for definition in (SELECTED, RANDOM_SELECTED)
    ])  # fmt: skip
    accuracies = pd.DataFrame([
        {"recipe": LAST, "seed": 0, "language": "de", "split": "test", "measure": "accuracy", "definition": definition,
         "value": 0.5, "layer": 6, "weight": weight / 10}
        for definition in (SHIFT, RANDOM) for weight in range(31)
    ])  # fmt: skip
    parts = [accuracies, retrieved(), scored().assign(measure="score"), translated(), gains]
    return claims.table("claims", SimpleNamespace(records=lambda: pd.concat(parts)), {"study": STUDY})


def of(made, row: str, column: str) -> pd.Series:
    (found,) = (line for _, line in made[(made["row"] == row) & (made["column"] == column)].iterrows())
    return found


def test_models_are_compared_by_language(made):
    records = {"word retrieval": retrieved(), "XNLI, frozen": scored(), "XNLI, fine-tuned": scored()}
    names = {
        "word retrieval": pretraining,
        "XNLI, frozen": lambda model: inference(model, features=True),
        "XNLI, fine-tuned": inference,
    }
    for task, table in records.items():
        by_model = {}
        for model in ("bert-512/200k", "bert-20/200k", "glove/200k"):
            own = table[table["recipe"] == names[task](model)]
            if task == "word retrieval":
                own = own[(own["definition"] == RANK) & own["item"].str.startswith("en-") & (own["layer"] == own["layer"].max())]
            else:
                own = own[(own["definition"] == "accuracy") & (own["split"] == "test") & ~own["language"].isin(["en", "all"])]
            by_model[model] = 100 * own.groupby("language")["value"].mean()
        for before, name in (("glove/200k", "GloVe"), ("bert-20/200k", "BERT, window 20")):
            rows = made[(made["row"] == f"BERT, window 512 less {name}, {task}") & (made["column"] == "200k")]
            if task == "XNLI, fine-tuned" and before.startswith("glove"):
                assert rows.empty
                continue
            differences = by_model["bert-512/200k"] - by_model[before]
            value, low, high = mean_interval(differences.to_numpy(), score=False)
            (line,) = rows.to_dict("records")
            assert [line["here"], line["low"], line["high"]] == pytest.approx([value, low, high], abs=0.006)
            assert line["n"] == len(differences) == (3 if task == "word retrieval" else 4)


def test_shares_of_single_subwords(made):
    assert of(made, "negative weights give the source language", "alpha = -1, subwords of the target")["here"] == 0
    found = of(made, "negative weights give the source language", f"alpha = -1, {SHARES['source']}")
    assert (found["here"], found["n"], found["remark"]) == (80.0, 2, "80.0 to 80.0 by direction")
    masked = of(made, "masked subwords are hardly ever another language's", "without shift, subwords of another language")
    assert (masked["here"], masked["remark"]) == (1.5, "1.0 to 2.0 by direction")
    probable = "without shift, probability of subwords of another language"
    assert of(made, "masked subwords are hardly ever another language's", probable)["here"] == 3


def test_a_direction_counts_once_however_many_layers_it_was_translated_at(made):
    found = of(made, "outputs are of one of the two languages", f"alpha = 2, {SHARES['neither']}")
    remark = "10.0 to 15.0 by direction; of a direction the mean over 2 layers"
    assert (found["here"], found["n"], found["remark"]) == (12.5, 2, remark)


def test_the_shift_is_compared_with_random_directions_at_one_layer(made):
    for weight, values in ((1.0, [25.0, 35.0]), (2.0, [55.0, 65.0])):
        found = of(made, "convert rate, shift less random direction", f"alpha = {weight:g}")
        value, low, high = mean_interval(np.array(values), score=False)
        assert [found["here"], found["low"], found["high"]] == pytest.approx([value, low, high], abs=0.01)
        assert found["remark"] == f"{'undecided' if low <= 0 else 'agrees'}; as claimed in 2 of 2"


def test_the_convert_rate_rises_with_the_weight_by_direction(made):
    rows = made[made["row"] == "convert rate by weight"]
    assert rows["column"].tolist() == ["alpha = 2 less alpha = 1"] and rows["here"].tolist() == [30.0]
    assert rows["remark"].iloc[0].endswith("as claimed in 2 of 2")


def test_verdicts(made):
    assert of(made, "XNLI, gain over no shift", SELECTED)["remark"] == "agrees; as claimed in 3 of 3"
    assert of(made, "XNLI, gain over no shift", RANDOM_SELECTED)["remark"] == "undecided; as claimed in 2 of 3"
