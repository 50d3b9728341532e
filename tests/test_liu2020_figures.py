"""liu2020: figures 1 to 6 and the tables behind them, from made-up records."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from crosslens.papers.liu2020 import retrieval, retrieval_figures, xnli, xnli_figures
from crosslens.papers.liu2020.names import ALL, LAST, RELEASED, UNTRAINED, Study, nli, pretraining
from crosslens.reports.cells import COLUMNS
from goldens import assert_golden, assert_golden_curves

SIZES = {"200k": 200_000, "1000k": 1_000_000}
MODELS = [f"{model}/{size}" for size in SIZES for model in ("bert-512", "bert-20", "glove", "word2vec")]
NAMES = {"en": "English", "de": "German", "fr": "French", "sw": "Swahili", "zh": "Chinese"}
STUDY = Study("en", "mbert", MODELS, SIZES, [512, 20], RELEASED, {}, ["de"], NAMES)
RETRIEVING = [*map(pretraining, MODELS), RELEASED, UNTRAINED]
DIRECTIONS = ["en-de", "de-en", "en-fr", "fr-en", "en-zh", "zh-en"]


def value(*parts) -> float:
    return int.from_bytes("|".join(map(str, parts)).encode(), "little") % 9973 / 10000


def retrieved(recipes=RETRIEVING, words=lambda recipe: 900) -> pd.DataFrame:
    """Records of every definition of the table, a value that tells them apart; two layers but of static models."""
    rows = []
    for recipe in recipes:
        layers = [0] if "glove" in recipe or "word2vec" in recipe else [0, 1]
        for item in DIRECTIONS:
            place = {"recipe": recipe, "item": item, "seed": 0, "language": item.replace("en", "").strip("-")}
            for layer in layers:
                for definition in {*retrieval.OF_LAST, *retrieval.OF_LAYERS}:
                    number = value(recipe, item, layer, definition)
                    rows.append(place | {"layer": layer, "definition": definition, "value": number, "n": 900,
                                         "low": number - 0.01, "high": number + 0.02})  # fmt: skip
            for definition in retrieval.OF_WORDS:
                count = definition.endswith(("pairs", "words", "candidates"))
                number = 40 if definition.startswith("median") else words(recipe) if count else value(item, definition)
                rows.append(place | {"layer": np.nan, "definition": definition, "value": number, "n": 900})
    return pd.DataFrame(rows)


def scored(seeds=(0, 1, 2), languages=tuple(NAMES)) -> pd.DataFrame:
    recipes = [nli(model, features=True) for model in MODELS] + [nli(m) for m in STUDY.berts()]
    recipes += [ALL, LAST, nli("untrained", features=True), nli("untrained")]
    return pd.DataFrame([
        {"recipe": recipe, "seed": seed, "language": language, "split": split, "definition": definition, "n": 5010, "low": 0.1,
         "high": 0.9, "value": value(recipe, seed, language, split, definition) / 2 + 0.3}
        for recipe in recipes for seed in seeds for language in (*languages, "all") for split in ("dev", "test")
        for definition in ("accuracy", "texts cut at the maximum")
    ])  # fmt: skip


def columns(axis) -> list[str]:
    return [tick.get_text() for tick in axis.get_xticklabels()]


@pytest.mark.parametrize(("name", "sizes"), [("figure1", ["200k"]), ("figure3", ["1000k"]), ("figure5", ["200k", "1000k"])])
def test_figures_of_retrieval_show_the_last_layer_from_english(name, sizes):
    records = retrieved()
    figure = retrieval_figures.figure_of(name, records, STUDY, sizes)
    assert_golden_curves(figure, f"liu2020/{name}")
    assert columns(figure.axes[0]) == ["de", "fr", "zh", "mean"]  # no dictionary of sw


def test_the_table_of_retrieval_has_every_score_once():
    records = retrieved()
    made = retrieval.table_of("retrieval", records, STUDY)
    assert list(made.columns) == list(COLUMNS) and not made.duplicated(["row", "column", "metric", "definition"]).any()
    shown = made["row"].isin(["mbert as released", "GloVe (200k)", "all models"])
    assert_golden(made[shown & made["column"].isin(["zh-en", "mean, others to en", "mean, en to others"])], "liu2020/retrieval")
    of_words = made["metric"].str.contains("words|pairs|candidates") | made["definition"].isin(["chance", "identical strings"])
    assert made[of_words]["seeds"].isna().all() and (made[~of_words]["seeds"] == 1).all()
    by_layer = made[made["definition"].str.contains("; layer ")]
    assert by_layer["row"].nunique() == 6 and not by_layer["row"].str.contains("GloVe|Word2Vec").any()
    assert set(by_layer["definition"].str.split("; ").str[-1]) == {"layer 0", "layer 1"}


def test_words_that_differ_between_tokenizers_stand_by_model():
    records = retrieved([pretraining(MODELS[0]), RELEASED], words=lambda recipe: 700 if recipe == RELEASED else 900)
    made = retrieval.table_of("retrieval", records, STUDY)
    counts = made[(made["metric"] == "source words") & (made["column"] == "en-de")]
    assert dict(zip(counts["row"], counts["here"], strict=True)) == {"BERT, window 512 (200k)": 900, "mbert as released": 700}
    assert set(made[made["definition"] == "chance"]["row"]) == {"all models"}


def test_figures_of_xnli_tell_frozen_models_from_fine_tuned_ones():
    figure = xnli_figures.figure_of(scored(), STUDY, ["200k"])
    assert_golden_curves(figure, "liu2020/inference")
    assert columns(figure.axes[0]) == [*NAMES, "mean"]


def test_mbert_is_fine_tuned_like_the_models_that_it_stands_beside():
    for half, recipe in ((False, ALL), (True, LAST)):
        study, records = replace(STUDY, half=half), scored()
        figure = xnli_figures.figure_of(records, study, ["200k"])
        rows = records[(records["split"] == "test") & (records["definition"] == "accuracy") & (records["recipe"] == recipe)]
        values = [100 * rows[rows["language"] == code]["value"].mean() for code in NAMES]
        series = [line.get_ydata()[:5] for line in figure.axes[0].get_lines() if len(line.get_ydata()) > 5]
        assert any(np.allclose(shown, values, atol=0.01) for shown in series)
        made = xnli.table_of("nli", records, study)
        of_bert = made[made["row"] == "BERT, window 20 (200k)"]["definition"]
        assert {*of_bert} == {xnli.FROZEN, xnli.HALF if half else xnli.WHOLE}


@pytest.mark.parametrize("seeds", [(0,), (0, 1, 2)])
def test_what_the_short_window_costs(seeds):
    records = scored(seeds)
    assert_golden_curves(xnli_figures.windows(records, STUDY), f"liu2020/windows_{len(seeds)}")
    made = xnli.table_of("nli", records, STUDY)
    assert_golden(made[made["row"].str.startswith("window 20 against 512")], f"liu2020/costs_{len(seeds)}")


@pytest.mark.parametrize("long", [512, "sentence"])
def test_every_short_window_is_compared_with_the_long_one(long):
    pairs = xnli.window_pairs(replace(STUDY, windows=[long, 20, 40]))
    assert [(name, first) for name, first, _ in pairs] == [
        (f"window {short} against {long} ({size})", nli(f"bert-{long}/{size}")) for short in (20, 40) for size in SIZES
    ]


def test_the_table_of_xnli_has_every_model_and_says_what_was_cut():
    made = xnli.table_of("nli", scored(), STUDY)
    assert list(made.columns) == list(COLUMNS) and not made.duplicated(["row", "column", "metric", "definition"]).any()
    assert made["here"].notna().all() and (made["metric"] == "accuracy").sum() == (8 + 4 + 4) * 6
    cut = made[(made["metric"] == "accuracy") & (made["column"] != "mean")]
    assert cut["remark"].str.fullmatch(r"\S+ % of texts cut(; not above chance: 33.3)?").all()
    few = xnli.table_of("nli", scored(languages=("en", "de")), STUDY)
    assert set(few["column"]) == {"en", "de", "mean"}
