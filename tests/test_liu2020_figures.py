"""liu2020: figures 1 to 6 and the tables behind them, from made-up records."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from crosslens.papers.liu2020 import retrieval, retrieval_figures, xnli, xnli_figures
from crosslens.papers.liu2020.names import ALL, LAST, RELEASED, UNTRAINED, Study, nli, pretraining
from crosslens.reports.cells import COLUMNS
from crosslens.reports.figures.save import save
from crosslens.reports.pages import meanings, read_terms

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


def drawn_series(axis) -> dict[tuple[str, str, str], np.ndarray]:
    """(marker, colour, face) -> values of a series."""
    return {
        (line.get_marker(), line.get_markeredgecolor(), line.get_markerfacecolor()): np.asarray(line.get_ydata())
        for line in axis.lines if line.get_marker() not in ("None", None)
    }  # fmt: skip


def legend(figure) -> dict[str, tuple[str, str, str]]:
    found = figure.axes[-1].get_legend()
    handles = zip(found.get_texts(), found.legend_handles, strict=True)
    return {text.get_text(): (h.get_marker(), h.get_markeredgecolor(), h.get_markerfacecolor()) for text, h in handles}


def columns(axis) -> list[str]:
    return [tick.get_text() for tick in axis.get_xticklabels()]


@pytest.mark.parametrize(("name", "sizes"), [("figure1", ["200k"]), ("figure3", ["1000k"]), ("figure5", ["200k", "1000k"])])
def test_figures_of_retrieval_show_the_last_layer_from_english(name, sizes):
    records = retrieved()
    figure = retrieval_figures.figure_of(name, records, STUDY, sizes)
    names = legend(figure)
    shown = {"BERT, window 512": "bert-512", "BERT, window 20": "bert-20"}
    expected = list(shown)
    if name != "figure5":
        expected += ["GloVe", "Word2Vec", "mbert as released", "BERT with random weights"]
    assert [*names] == [*expected, "chance"] and len(figure.axes) == len(sizes) + 1
    for size, axis in zip(sizes, figure.axes, strict=False):
        assert columns(axis) == ["de", "fr", "zh", "mean"]  # no dictionary of sw
        series = drawn_series(axis)
        assert len(series) == len(expected)
        for model, key in shown.items():
            found = [100 * value(pretraining(f"{key}/{size}"), f"en-{code}", 1, retrieval.RANK) for code in ("de", "fr", "zh")]
            assert np.allclose(series[names[model]], [*found, np.mean(found)], atol=0.01)
        if name != "figure5":
            found = [100 * value(pretraining(f"glove/{size}"), f"en-{code}", 0, retrieval.RANK) for code in ("de", "fr", "zh")]
            assert np.allclose(series[names["GloVe"]][:3], found, atol=0.01)
    note = figure._supxlabel.get_text()
    assert "Swahili" in note and note.startswith("900 words by language, a median of 40 contexts each. ")
    records.loc[(records["item"] == "en-zh") & (records["definition"] == "source words"), "value"] = 700
    note = retrieval_figures.figure_of(name, records, STUDY, sizes)._supxlabel.get_text()
    assert note.startswith("700 to 900 words by language, ")


def test_the_table_of_retrieval_has_every_score_once():
    records = retrieved()
    made = retrieval.table_of("retrieval", records, STUDY)
    assert list(made.columns) == list(COLUMNS) and not made.duplicated(["row", "column", "metric", "definition"]).any()
    cells = made.set_index(["row", "column", "metric", "definition"])["here"].to_dict()
    assert cells["mbert as released", "zh-en", "MRR", "contexts; csls; mean difference shift; different strings; last layer"] == (
        pytest.approx(
            100 * value(RELEASED, "zh-en", 1, "contexts, csls, mrr, mean difference shift, different strings"), abs=0.006
        )
    )
    hubness = "contexts; cosine; last layer"
    assert cells["GloVe (200k)", "en-de", "hubness", hubness] == pytest.approx(
        value(pretraining("glove/200k"), "en-de", 0, "contexts, cosine, hubness"), abs=0.006
    )
    last = "contexts; cosine; last layer"
    for row in ("BERT, window 20 (1000k)", "Word2Vec (200k)"):
        for column, there in (("mean, en to others", "en-{}"), ("mean, others to en", "{}-en")):
            of = [cells[row, there.format(code), "MRR", last] for code in ("de", "fr", "zh")]
            assert cells[row, column, "MRR", last] == pytest.approx(np.mean(of), abs=0.011)
    of_words = made["metric"].str.contains("words|pairs|candidates") | made["definition"].isin(["chance", "identical strings"])
    assert made[of_words]["seeds"].isna().all() and (made[~of_words]["seeds"] == 1).all()
    by_layer = made[made["definition"].str.contains("; layer ")]
    assert set(by_layer["row"]) == {"BERT, window 512 (200k)", "BERT, window 20 (200k)", "BERT, window 512 (1000k)",
                                    "BERT, window 20 (1000k)", "mbert as released", "BERT with random weights"}  # fmt: skip
    assert set(by_layer["definition"].str.split("; ").str[-1]) == {"layer 0", "layer 1"}
    assert cells["all models", "en-de", "source words", ""] == 900
    assert cells["all models", "fr-en", "MRR", "chance"] == pytest.approx(100 * value("fr-en", "chance, mrr"), abs=0.006)
    assert cells["all models", "fr-en", "target words without contexts", ""] == pytest.approx(
        100 * value("fr-en", "target words without contexts"), abs=0.006
    )


def test_words_that_differ_between_tokenizers_stand_by_model():
    records = retrieved([pretraining(MODELS[0]), RELEASED], words=lambda recipe: 700 if recipe == RELEASED else 900)
    made = retrieval.table_of("retrieval", records, STUDY)
    counts = made[(made["metric"] == "source words") & (made["column"] == "en-de")]
    assert dict(zip(counts["row"], counts["here"], strict=True)) == {"BERT, window 512 (200k)": 900, "mbert as released": 700}
    assert set(made[made["definition"] == "chance"]["row"]) == {"all models"}


@pytest.mark.parametrize("size", SIZES)
def test_figures_of_xnli_tell_frozen_models_from_fine_tuned_ones(size):
    records = scored()
    figure = xnli_figures.figure_of(records, STUDY, [size])
    names, axis = legend(figure), figure.axes[0]
    berts = [f"BERT, window {window}, {way}" for window in (512, 20) for way in ("frozen", "fine-tuned")]
    blank = [f"BERT with random weights, {way}" for way in ("frozen", "fine-tuned")]
    others = ["GloVe, frozen", "Word2Vec, frozen", "mbert, fine-tuned", *blank]
    assert [*names] == [*berts, *others, "chance"]
    for model in (name for name in names if name != "chance"):
        assert (names[model][2] == "white") == model.endswith("fine-tuned")
    assert names[berts[0]][:2] == names[berts[1]][:2] != names[berts[2]][:2]
    series = drawn_series(axis)
    assert columns(axis) == [*NAMES, "mean"] and len(series) == 9
    rows = records[(records["split"] == "test") & (records["definition"] == "accuracy")]
    rows = rows[rows["recipe"] == nli(f"bert-20/{size}")].groupby("language")["value"].mean() * 100
    found = series[names["BERT, window 20, fine-tuned"]]
    assert np.allclose(found, [*rows[list(NAMES)], rows[["de", "fr", "sw", "zh"]].mean()], atol=0.01)


def test_mbert_is_fine_tuned_like_the_models_that_it_stands_beside():
    for half, recipe in ((False, ALL), (True, LAST)):
        study, records = replace(STUDY, half=half), scored()
        figure = xnli_figures.figure_of(records, study, ["200k"])
        rows = records[(records["split"] == "test") & (records["definition"] == "accuracy") & (records["recipe"] == recipe)]
        found = drawn_series(figure.axes[0])[legend(figure)["mbert, fine-tuned"]]
        assert np.allclose(found[:5], [100 * rows[rows["language"] == code]["value"].mean() for code in NAMES], atol=0.01)
        made = xnli.table_of("nli", records, study)
        of_bert = made[made["row"] == "BERT, window 20 (200k)"]["definition"]
        assert {*of_bert} == {xnli.FROZEN, xnli.HALF if half else xnli.WHOLE}


@pytest.mark.parametrize("seeds", [(0,), (0, 1, 2)])
def test_what_the_short_window_costs(seeds):
    records = scored(seeds)
    figure = xnli_figures.windows(records, STUDY)
    below = figure.axes[1]
    names, series = legend(figure), drawn_series(below)
    over = "Student's t over 3 seeds" if len(seeds) > 1 else "the jackknife over pairs; of one seed means and losses have none"
    assert "fine-tuned" in figure.get_suptitle()
    assert " ".join(figure.get_supxlabel().split()).endswith(f"Lines: 95 % intervals, {over}.")
    accuracy = records[(records["split"] == "test") & (records["definition"] == "accuracy")]
    accuracy = accuracy.set_index(["recipe", "seed", "language"])["value"]
    made = xnli.table_of("nli", records, STUDY)
    for size in SIZES:
        long, short = (accuracy[nli(f"bert-{window}/{size}")] for window in (512, 20))
        by_seed = [100 * (long[seed, "fr"] - short[seed, "fr"]) / long[seed, "fr"] for seed in seeds]
        name = f"window 20 against 512 ({size})"
        assert series[names[name]][columns(below).index("fr")] == pytest.approx(np.mean(by_seed), abs=0.01)
        cell = made[(made["row"] == name) & (made["column"] == "fr")].iloc[0]
        assert cell["here"] == pytest.approx(np.mean(by_seed), abs=0.006) and cell["seeds"] == len(seeds)
        assert pd.isna(cell["low"]) == (len(seeds) == 1)
    assert len(series) == 2 and len(drawn_series(figure.axes[0])) == 5


def test_the_table_of_xnli_has_every_model_and_says_what_was_cut():
    made = xnli.table_of("nli", scored(), STUDY)
    assert list(made.columns) == list(COLUMNS) and not made.duplicated(["row", "column", "metric", "definition"]).any()
    assert made["here"].notna().all() and (made["metric"] == "accuracy").sum() == (8 + 4 + 4) * 6
    cut = made[(made["metric"] == "accuracy") & (made["column"] != "mean")]
    assert cut["remark"].str.fullmatch(r"\S+ % of texts cut(; not above chance: 33.3)?").all()
    at_chance = cut["low"].fillna(cut["here"]) <= 100 / 3
    assert (cut["remark"].str.contains("chance") == at_chance).all() and at_chance.any() and not at_chance.all()
    few = xnli.table_of("nli", scored(languages=("en", "de")), STUDY)
    assert set(few["column"]) == {"en", "de", "mean"}


def test_every_name_and_every_part_of_a_definition_is_explained():
    terms = read_terms(Path(__file__).parents[1] / "resources/terms.yaml")
    tables = retrieval.table_of("retrieval", retrieved(), STUDY), xnli.table_of("nli", scored(), STUDY)
    blank = dict.fromkeys(("row", "column", "metric", "definition"), "")
    for made in tables:
        for kind in ("row", "column", "definition"):
            for name in {part for text in made[kind] for part in text.split("; ") if part} - NAMES.keys():
                found = meanings([blank | {kind: name}], terms["names"]["liu2020"], terms["definitions"])
                assert found["names"] or found["definitions"], (kind, name)


@pytest.mark.long
def test_figures_are_drawn_alike_twice(tmp_path):
    for name in ("a", "b"):
        save(retrieval_figures.figure_of("figure5", retrieved(), STUDY, list(SIZES)), tmp_path / f"r{name}.svg", "")
        save(xnli_figures.windows(scored(), STUDY), tmp_path / f"x{name}.svg", "")
    for kind in "rx":
        assert (tmp_path / f"{kind}a.svg").read_bytes() == (tmp_path / f"{kind}b.svg").read_bytes()
