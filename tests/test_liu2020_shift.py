"""liu2020: items of the shift, from records that have the printed numbers where these are printed."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from crosslens.jobs import parquet
from crosslens.measures import example_translations
from crosslens.measures.shared import shift_terms as measured_transfer
from crosslens.measures.shared.masked_baselines import BIGRAM, MAJORITY, MASKED, MODEL
from crosslens.measures.shared.shift_terms import (  # fmt: skip
    BLEU_1,
    CONVERT_RATE,
    ELSEWHERE,
    FREQUENT,
    IN_DICTIONARY,
    NO_SHIFT,
    RANDOM,
    SHIFT,
    THIRD,
    TRANSLATIONS,
    WITHOUT_PENALTY,
)
from crosslens.numerics.definitions import ACCURACY
from crosslens.papers.liu2020 import masked_predictions, transfer, translation, translation_figures
from crosslens.papers.liu2020.names import ALL, LAST
from crosslens.reports.cells import Published
from goldens import assert_golden, assert_golden_curves

PUBLISHED = Published.read(Path(__file__).parents[1] / "resources" / "published" / "liu2020.csv")
PRINTED = PUBLISHED.table[PUBLISHED.table["item"] == "table2"].set_index(["row", "column"])["value"].astype(float)
DIRECTIONS = [f"en->{code}" for code in ("de", "fr", "ur", "sw", "zh", "el")]
DIRECTIONS += ["->".join(reversed(direction.split("->"))) for direction in DIRECTIONS]
WEIGHTS, LAYERS = (1.0, 2.0, 3.0), range(1, 13)
NLI = ["de", "es", "ar", "el", "fr", "hi", "ru", "th", "tr", "vi", "zh"]
MEAN, OTHER = "first mean", "other mean"
STUDY = {
    "source": "en", "encoder": "mbert", "models": [], "sizes": {}, "windows": [], "translator": "liu2020/released",
    "translation": {"layer": 10, "printed": [11, 3.0], "weights": list(WEIGHTS), "figure_direction": ["en", "el"]}, "nli": NLI,
    "names": {"en": "English", "el": "Greek"},
}  # fmt: skip


def translated() -> pd.DataFrame:
    """A grid whose best cells, and others, are as printed; on dev layer 2 and weight 1 are best."""
    rows = []
    for item in DIRECTIONS:
        best = (int(PRINTED["best layer", item]), PRINTED["best alpha", item])
        for layer in LAYERS:
            for weight in WEIGHTS:
                score = PRINTED["best BLEU-1", item] if (layer, weight) == best else layer / 10
                score = PRINTED["BLEU-1 (layer=11, alpha=3)", item] if (layer, weight) == (11, 3.0) else score
                rate = PRINTED[f"convert rate (layer=10, alpha={weight:g})", item] if layer == 10 else layer / 100
                place = {"item": item, "layer": layer, "weight": weight, "definition": SHIFT, "subspace": MEAN}
                rows += [place | {"split": "test", "measure": BLEU_1, "value": score / 100},
                         place | {"split": "test", "measure": CONVERT_RATE, "value": rate},
                         place | {"split": "dev", "measure": BLEU_1, "value": 0.1 + ((layer, weight) == (2, 1.0))}]  # fmt: skip
        for weight in WEIGHTS:
            place = {"item": item, "layer": 10, "weight": weight, "split": "test"}
            rows += [place | {"definition": RANDOM, "subspace": MEAN, "measure": measure, "value": 0.01}
                     for measure in (BLEU_1, CONVERT_RATE)]  # fmt: skip
            rows += [place | {"definition": THIRD, "subspace": MEAN, "measure": measure, "value": 0.02}
                     for measure in (BLEU_1, CONVERT_RATE)]  # fmt: skip
            rate = PRINTED[f"convert rate (layer=10, alpha={weight:g})", item] + 0.1
            rows.append(place | {"definition": SHIFT, "subspace": OTHER, "measure": CONVERT_RATE, "value": rate})
        rows.append({"item": item, "layer": 0, "weight": 0.0, "split": "test", "definition": FREQUENT, "subspace": MEAN,
                     "measure": BLEU_1, "value": 0.25})  # fmt: skip
        for measure, value in ((IN_DICTIONARY, 0.6), (TRANSLATIONS, 0.3), (ELSEWHERE, 0.1)) if "sw" not in item else ():
            rows += [{"item": item, "layer": 10, "weight": weight, "split": "test", "definition": SHIFT, "subspace": MEAN,
                      "measure": measure, "value": value} for weight in WEIGHTS]  # fmt: skip
        rows.append({"item": item, "layer": 10, "weight": -3.0, "split": "test", "definition": SHIFT, "subspace": MEAN,
                     "measure": CONVERT_RATE, "value": 0.0})  # fmt: skip
        rows += [{"item": item, "layer": 0, "weight": 0.0, "split": "test", "definition": NO_SHIFT, "subspace": MEAN,
                  "measure": measure, "value": 0.07} for measure in (BLEU_1, WITHOUT_PENALTY, CONVERT_RATE)]  # fmt: skip
    return pd.DataFrame(rows).assign(seed=0, n=5010, low=lambda table: table["value"], high=lambda table: table["value"])


def named() -> pd.DataFrame:
    """Masked subwords that the model and counting name."""
    return pd.DataFrame([
        {"recipe": STUDY["translator"], "seed": 0, "language": language, "measure": MASKED, "definition": definition,
         "value": value if language == "all" else 0.9, "low": value - 0.01, "high": value + 0.01, "n": 700}
        for definition, value in ((MODEL, 0.21), (BIGRAM, 0.46), (MAJORITY, 0.1)) for language in ("all", "de")
    ])  # fmt: skip


def inputs(records: pd.DataFrame):
    return SimpleNamespace(records=lambda *kinds: named() if "masked" in kinds else records, published=PUBLISHED)


def test_what_the_model_names_of_masked_subwords_stands_beside_its_translations(tmp_path):
    """Where it names less than the bigram, as the demo's did, no reader can overlook it."""
    parquet.write(pa.Table.from_pylist([], schema=example_translations.SCHEMA), tmp_path / "seed0.parquet")
    given = inputs(translated())
    given.by_seed = lambda _: [("liu2020/released", 0, tmp_path / "seed0.parquet")]
    for name in ("table1", "table2"):
        made = translation.table(name, given, {"study": STUDY})
        own = made[made["metric"] == MASKED].set_index("definition")
        assert own["here"].to_dict() == {MODEL: 21.0, BIGRAM: 46.0, MAJORITY: 10.0} and set(own["n"]) == {700}
        assert set(own["row"]) == {masked_predictions.TRANSLATOR} and set(own["column"]) == {masked_predictions.HELD_OUT}
    for name in ("figure7", "figure8"):
        figure = translation_figures.figure(name, given, {"study": STUDY})
        texts = [text.get_text().replace("\n", " ") for text in figure.texts]
        assert any("predicted correctly (by the bigram): the model 21 % (46 %)." in text for text in texts), texts


def test_table_2_has_every_printed_cell():
    made = translation.table("table2", inputs(translated()), {"study": STUDY})
    both = made[made["published"].notna()]
    assert set(zip(both["row"], both["column"], strict=True)) == set(PRINTED.index) and len(both) == len(PRINTED) == 84
    assert (both["difference"].abs() < 1e-9).all()
    assert (made["seeds"] == 1).eq(made["here"].notna()).all()


def test_table_2_has_what_needs_no_model_and_what_a_dictionary_says():
    """Swahili has no dictionary. On dev other cells are best, which are scored too."""
    made = translation.table("table2", inputs(translated()), {"study": STUDY})
    assert_golden(made[made["column"].isin(["en->el", "en->sw"])], "liu2020/table2")


def test_the_mean_that_comes_closest_is_called_calibrated():
    made = translation.table("calibration", inputs(translated()), {"study": STUDY})
    assert set(made["seeds"]) == {1}
    assert_golden(made[made["row"] == translation.FITS], "liu2020/calibration")
    assert (made["published"].notna()).sum() == 72


@pytest.mark.parametrize("name", ["figure7", "figure8"])
def test_figures_show_each_weight_and_the_controls(name):
    records = translated()
    random = [{"layer": layer, "weight": 3.0, "value": 0.01, "item": "en->el", "split": "test", "definition": RANDOM,
               "subspace": MEAN, "measure": CONVERT_RATE} for layer in LAYERS if layer != 10]  # fmt: skip
    figure = translation_figures.figure(name, inputs(pd.concat([records, pd.DataFrame(random)])), {"study": STUDY})
    assert_golden_curves(figure, f"liu2020/{name}")


def test_table_1_has_texts_as_remarks(tmp_path):
    common = {"recipe": "liu2020/released", "seed": 0, "item": "en->fr", "number": 36, "layer": 10, "n": 3}
    rows = [common | {"weight": weight, "text": "a b ; c", "reference": "un deux", "output": output, "value": value}
            for weight, output, value in ((0.0, "a b ;", 0.0), (3.0, "un un un", 1.0))]  # fmt: skip
    parquet.write(pa.Table.from_pylist(rows, schema=example_translations.SCHEMA), tmp_path / "seed0.parquet")
    given = inputs(pd.DataFrame())
    given.by_seed = lambda _: [("liu2020/released", 0, tmp_path / "seed0.parquet")]
    assert_golden(translation.table("table1", given, {"study": STUDY}), "liu2020/table1")


def test_table_4_has_every_printed_cell():
    printed = PUBLISHED.table[PUBLISHED.table["item"] == "table4"].set_index(["row", "column"])["value"].astype(float)
    rows = []
    for recipe, row in ((ALL, "finetune all layers"), (LAST, "finetune last 6 layers")):
        place = {"recipe": recipe, "measure": "score", "definition": ACCURACY}
        rows += [place | {"language": code, "value": printed[row, code] / 100} for code in ("en", *NLI)]
    for definition in transfer.SHIFTS:
        for code in NLI:
            place = {"recipe": LAST, "language": code, "definition": definition, "weight": printed["shifting weight", code]}
            value = printed["finetune last 6 layers + MDS", code] / 100
            gain = value - printed["finetune last 6 layers", code] / 100
            rows += [place | {"measure": measured_transfer.ACCURACY, "value": value},
                     place | {"measure": measured_transfer.GAIN, "value": gain}]  # fmt: skip
    records = pd.DataFrame(rows).assign(split="test", n=5010, low=np.nan, high=np.nan)
    seeds = pd.concat([records.assign(seed=seed) for seed in (0, 1)])
    made = transfer.table("table4", inputs(seeds), {"study": STUDY})
    both = made[made["published"].notna()]
    assert set(zip(both["row"], both["column"], strict=True)) == set(printed.index) and len(both) == len(printed) == 49
    assert (both["difference"].abs() < 0.011).all()  # printed averages are rounded
    gains = made[(made["metric"] == measured_transfer.GAIN) & (made["definition"] == measured_transfer.SELECTED)]
    assert gains.set_index("column")["here"]["vi"] == pytest.approx(2.31) and set(gains["seeds"]) == {2}
