"""liu2020: what the text claims without a table, and verdicts on it, from made-up records of every kind."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from crosslens.measures.guesses import BIGRAM, MODEL, NAMED
from crosslens.measures.guesses import GAIN as OVER_BIGRAM
from crosslens.measures.shifts import CONVERT_RATE, GAIN, MASKED, PROBABILITY, RANDOM, RANDOM_SELECTED, SELECTED, SHARES, SHIFT
from crosslens.numerics.definitions import TRANSFER
from crosslens.numerics.intervals import families_interval, mean_interval
from crosslens.papers.liu2020 import claims, learned
from crosslens.papers.liu2020.layout import LAST, UNTRAINED, Study, inference, pretraining
from crosslens.papers.liu2020.retrieval import RANK
from crosslens.reports.verdicts import unlearned
from crosslens.storage import parquet
from crosslens.storage.records import RECORDS
from crosslens.training.run import PREDICTIONS
from scipy import stats
from test_liu2020_figures import NAMES, SIZES, retrieved, scored

MODELS = [f"{model}/{size}" for size in SIZES for model in ("bert-512", "bert-20", "glove", "word2vec")]
STUDY = {
    "source": "en", "encoder": "mbert", "models": MODELS, "sizes": SIZES, "windows": [512, 20], "translator": "liu2020/released",
    "translation": {"model": "released"}, "inference": ["de"], "names": NAMES,
    "families": {"en": "Indo-European", "de": "Indo-European", "fr": "Indo-European", "sw": "Niger-Congo", "zh": "Sino-Tibetan"},
}  # fmt: skip
PAIRS = 40


def translated() -> pd.DataFrame:
    """Two directions, of languages of two families; outputs do as the text says for negative weights alone."""
    rows = []
    for number, item in enumerate(("en->de", "zh->en")):
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


def gains() -> pd.DataFrame:
    """The gain of the shift on XNLI by language: that of the selected weight is positive everywhere."""
    return pd.DataFrame([
        {"recipe": LAST, "seed": seed, "language": language, "split": "test", "measure": GAIN, "definition": definition,
         "value": 0.01 + 0.001 * number if definition == SELECTED else 0.01 * (-1) ** number, "n": 5010}
        for seed in (0, 1) for number, language in enumerate(("de", "fr", "zh"))
        for definition in (SELECTED, RANDOM_SELECTED)
    ])  # fmt: skip


def right(recipe: str, seed: int) -> pd.DataFrame:
    """Whether a training is right at each pair in each language."""
    generator = np.random.default_rng([seed, *recipe.encode()])
    hard = generator.random((PAIRS, 1))
    found = pd.DataFrame(hard + 0.5 * generator.random((PAIRS, len(NAMES))) < 0.8, columns=list(NAMES))
    return found.rename(index=str)


def predictions(folder) -> list[tuple[str, int, Path]]:
    """Recipe, seed and file of each training on XNLI."""
    recipes = [inference(model, features=True) for model in MODELS]
    recipes += [inference(model) for model in MODELS if model.startswith("bert")]
    found = []
    for recipe, seed in product(recipes, (0, 1)):
        path = folder / recipe / f"{seed}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        table = right(recipe, seed).melt(var_name="language", ignore_index=False).rename_axis("id").reset_index()
        rows = [
            {"head": "task", "corpus": "xnli", "split": split, "language": language, "id": id, "gold": [2],
             "predicted": [2 if is_right and split == "test" else 0], "cut": False, "cut_words": 0}
            for split in ("dev", "test") for id, language, is_right in table.itertuples(index=False)
        ]  # fmt: skip
        parquet.write(pa.Table.from_pylist(rows, schema=PREDICTIONS), path)
        found.append((recipe, seed, path))
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> pd.DataFrame:
    accuracies = pd.DataFrame([
        {"recipe": LAST, "seed": 0, "language": "de", "split": "test", "measure": "accuracy", "definition": definition,
         "value": 0.5, "layer": 6, "weight": weight / 10}
        for definition in (SHIFT, RANDOM) for weight in range(31)
    ])  # fmt: skip
    parts = [accuracies, retrieved(), scored().assign(measure="score"), translated(), gains()]
    folder = tmp_path_factory.mktemp("predictions")
    return table([*parts, named(0.6, 0.46, "liu2020/released", seeds=(0,))], predictions(folder))


def table(parts: list[pd.DataFrame], predicted: Sequence[tuple[str, int, Path]] = ()) -> pd.DataFrame:
    """The claims of records and of predictions on XNLI."""
    records = pd.concat(parts)
    records = records.reindex(columns=[*dict.fromkeys([*RECORDS.names, *records.columns])])
    return claims.table("claims", SimpleNamespace(records=lambda: records, by_seed=lambda kind: predicted), {"study": STUDY})


def of(made, row: str, column: str) -> pd.Series:
    (found,) = (line for _, line in made[(made["row"] == row) & (made["column"] == column)].iterrows())
    return found


@pytest.mark.parametrize(("before", "name"), [("glove/200k", "GloVe"), ("bert-20/200k", "BERT, window 20")])
def test_models_are_compared_by_families_of_languages(made, before, name):
    table = retrieved()
    by_model = []
    for model in (before, "bert-512/200k"):
        own = table[(table["recipe"] == pretraining(model)) & (table["definition"] == RANK)]
        own = own[own["item"].str.startswith("en-") & (own["layer"] == own["layer"].max())]
        by_model.append(100 * own.set_index("language")["value"])
    difference = by_model[1] - by_model[0]
    line = of(made, f"BERT, window 512 less {name}, word retrieval", "200k")
    expected = mean_interval(np.array([difference[["de", "fr"]].mean(), difference["zh"]]), score=False)
    assert [line["here"], line["low"], line["high"]] == pytest.approx(expected, abs=0.006) and line["n"] == 3


@pytest.mark.parametrize(("before", "name", "tuned"), [("glove", "GloVe", False), ("bert-20", "BERT, window 20", True)])
def test_models_are_compared_at_the_same_pairs(made, before, name, tuned):
    """The interval contains the change that other pairs would make in all languages; seeds are averaged at each pair."""
    by_size = {}
    for size in SIZES:
        one, other = (
            sum(right(inference(f"{model}/{size}", features=not tuned), seed) for seed in (0, 1)) * 50.0
            for model in (before, "bert-512")
        )
        by_size[size] = (other - one).drop(columns="en")
    task = "XNLI, fine-tuned" if tuned else "XNLI, frozen"
    cases = {size: found for size, found in by_size.items() if tuned or size == "200k"}
    cases |= {"1000k less 200k": by_size["1000k"] - by_size["200k"]} if tuned else {}
    for column, found in cases.items():
        line = of(made, f"BERT, window 512 less {name}, {task}", column)
        families = [STUDY["families"][language] for language in found.columns]
        expected = families_interval(found.mean().to_numpy(), families, float(stats.sem(found.mean(axis=1))))
        assert [line["here"], line["low"], line["high"]] == pytest.approx(expected, abs=0.006) and line["n"] == 4
    assert tuned or not made["row"].str.contains("less GloVe, XNLI, fine-tuned").any()


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
        assert found["remark"] == ("not decided: the interval includes 0" if low <= 0 else "agrees") + "; as claimed in 2 of 2"


def test_a_claim_rests_on_the_seeds_of_its_models(made):
    assert made["seeds"].notna().eq(made["here"].notna()).all()
    of_tokens = made["row"].str.contains("convert rate|subwords|weights|outputs")
    assert set(made[of_tokens]["seeds"]) == {1}
    assert set(made[made["row"] == "XNLI, gain over no shift"]["seeds"]) == {3}  # trainings of the classifier


def test_the_convert_rate_rises_with_the_weight_by_direction(made):
    rows = made[made["row"] == "convert rate by weight"]
    assert rows["column"].tolist() == ["alpha = 2 less alpha = 1"] and rows["here"].tolist() == [30.0]
    assert rows["remark"].iloc[0].endswith("as claimed in 2 of 2")


def test_shares_of_a_model_that_learned_nothing_say_so():
    row, column = "negative weights give the source language", "alpha = -1, subwords of the target"
    for model, expected in ((0.6, ""), (0.21, "; not decided: mbert is not above the bigram (21.0 %, the bigram 46.0 %)")):
        made = table([translated(), named(model, 0.46, "liu2020/released", seeds=(0,))])
        assert of(made, row, column)["remark"] == f"0.0 to 0.0 by direction{expected}"
        turned = of(made, "convert rate, shift less random direction", "alpha = 1")["remark"]
        assert turned == (expected.removeprefix("; ") or "not decided: the interval includes 0") + "; as claimed in 2 of 2"


def named(model: float, bigram: float, recipe: str, seeds=(0, 1)) -> pd.DataFrame:
    """Masked subwords that a language model and the bigram name."""
    rows = [(MODEL, model, 0.02), (BIGRAM, bigram, 0.02), (OVER_BIGRAM, model - bigram, 0.03)]
    return pd.DataFrame([
        {"recipe": recipe, "seed": seed, "language": "all", "split": "validation", "item": "masked", "measure": NAMED,
         "definition": definition, "value": value, "low": value - half, "high": value + half, "n": 1000}
        for seed in seeds for definition, value, half in rows
    ])  # fmt: skip


def transferred(accuracies: dict[str, float], seeds=(0, 1)) -> pd.DataFrame:
    """Mean accuracies on XNLI in other languages than that of training, by recipe."""
    return pd.DataFrame([
        {"recipe": recipe, "seed": seed, "language": "all", "split": "test", "item": "task", "measure": "score",
         "definition": TRANSFER, "value": value, "low": value - 0.02, "high": value + 0.02, "n": 1000}
        for recipe, value in accuracies.items() for seed in seeds
    ])  # fmt: skip


def words(model: float, untrained: float, chance: float, recipe: str, seeds=(0, 1)) -> pd.DataFrame:
    """Word retrieval in four directions, far apart, in which models differ by more or less."""
    return pd.DataFrame([
        {"recipe": name, "seed": seed, "item": f"en-{code}", "language": code, "layer": layer, "definition": definition,
         "value": value * (1 + 0.1 * (place % 2)) + 0.05 * place, "n": 900}
        for name, definition, layer, value in (
            (recipe, RANK, 1, model), (UNTRAINED, RANK, 1, untrained), (recipe, "chance, mrr", np.nan, chance),
        )
        for seed in seeds for place, code in enumerate(("de", "fr", "sw", "zh"))
    ])  # fmt: skip


def study(**changes) -> Study:
    return Study(**(STUDY | changes))


def test_a_language_model_that_names_less_than_the_bigram_has_not_learned():
    """The demo's bert-64/more named 21 % of masked subwords where the bigram named 46 %, and the table said "agrees"."""
    small = study(models=["bert-64/more"], sizes={"more": 2000}, windows=[64], translator=pretraining("bert-64/more"),
                  translation={"model": "bert-64/more"})  # fmt: skip
    for model, expected in ((0.21, "bert-64/more is not above the bigram (21.0 %, the bigram 46.0 %)"), (0.6, "")):
        records = named(model, 0.46, pretraining("bert-64/more"))
        assert unlearned(learned.translator(records, small)) == expected
    released = named(0.6, 0.46, "liu2020/released", seeds=(0,))
    assert learned.translator(released, study())._replace(floors=()) == ("mbert", (), None)  # nothing was trained here


def test_a_classifier_at_chance_or_at_random_weights_has_not_learned():
    recipes = [inference("bert-512/200k"), inference("untrained")]
    for accuracy, control, expected in (
        (0.338, 0.335, "bert-512/200k is not surely above chance (33.8 %, chance 33.3 %)"),
        (0.40, 0.388, "bert-512/200k is not surely above random weights (40.0 %, random weights 38.8 %)"),
        (0.45, 0.388, ""),
    ):
        names = [
            named(0.6, 0.46, pretraining("bert-512/200k")),
            transferred(dict(zip(recipes, (accuracy, control), strict=True))),
        ]
        model = learned.models(pd.concat(names), study())(learned.TUNED, "bert-512/200k")
        assert unlearned(model) == expected and model.seeds == 2
    frozen = {inference("glove/200k", features=True): 0.45, inference("untrained", features=True): 0.34}
    model = learned.models(transferred(frozen), study())(learned.FROZEN, "glove/200k")
    assert not unlearned(model) and [floor.name for floor in model.floors] == ["chance", "random weights"]


def test_a_retriever_that_knows_spelling_alone_has_not_learned():
    for score, untrained, expected in (
        (0.2, 0.1, ""),
        (0.1, 0.1, "glove/200k is not above random weights (19.7 %, random weights 19.7 %)"),
    ):
        records = words(score, untrained, 0.01, pretraining("glove/200k"))
        assert unlearned(learned.models(records, study())(learned.RETRIEVED, "glove/200k")) == expected


def test_verdicts_need_models_that_learned(made):
    """Records of `made` have no untrained control of fine-tuning; with one the same gains agree."""
    selected, random = (of(made, "XNLI, gain over no shift", definition)["remark"] for definition in (SELECTED, RANDOM_SELECTED))
    assert selected == "not decided: mbert, fine-tuned has no score beside chance; as claimed in 3 of 3"
    assert random == selected.replace("3 of 3", "2 of 3")
    records = pd.concat([gains(), transferred({LAST: 0.7, inference("untrained"): 0.36})])
    selected, random, once = (
        of(table([rows]), "XNLI, gain over no shift", definition)["remark"].split("; ")
        for rows, definition in ((records, SELECTED), (records, RANDOM_SELECTED), (records[records["seed"] == 0], SELECTED))
    )
    assert selected == ["agrees", "as claimed in 3 of 3"]
    assert random == ["not decided: the interval includes 0", "as claimed in 2 of 3"]
    assert once == ["not decided: mbert, fine-tuned has one seed", "as claimed in 3 of 3"]
