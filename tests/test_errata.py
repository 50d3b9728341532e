"""The numbers of docs/errata.md: computed from printed cells and code, compared with what is stated here by hand.

A number that comes from a run in docs/results is named here_...; it changes with the run, and is not compared.
"""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from crosslens.papers import KEYS
from crosslens.runs.errors import DataError
from documents import errata
from documents.errata import FIELDS, KINDS, Facts, numbers, remarks

ROOT = Path(__file__).parents[1]
STATED = {  # paper -> remark -> numbers, to the decimals that are stated
    "tanti2021": {
        "chunks": {"languages": "33", "of_30_99": "59", "of_30_95": "10", "of_30_90": "1", "of_30_80": "0.0", "of_15_99": "76"},
        "first_letters": {"codes": "33", "types": "15", "tags": "17", "tag_types": "16"},
        "rates_of_heads": {"before": "0.001", "after": "0.1", "ratio": "100"},
        "equation_1": {"classes": "33", "least": "115.4", "entropy": "3.50", "weight": "0.7", "share": "99.6"},
        "stray_classes": {"ceiling": "42.4", "true": "14", "before": "49.8", "after": "39.2", "stray": "14.1"},
        "adversaries_that_learn": {
            "most": "3.50", "UDPOS_adversary_least": "2.72", "UDPOS_adversary_most": "3.28", "XNLI_adversary_least": "3.27",
            "XNLI_adversary_most": "3.38", "UDPOS_language_least": "3.19", "UDPOS_language_most": "3.28",
            "XNLI_language_least": "3.26", "XNLI_language_most": "3.41", "UDPOS_f1": "0.2", "XNLI_f1": "1.1",
            "epoch_1": "10", "epoch_2": "31", "epoch_3": "45", "epoch_4": "51", "epoch_5": "54",
        },
        "rate_of_adversaries": {"UDPOS_Grad": "-6.1", "UDPOS_Ent": "-2.8", "XNLI_Grad": "-4.1", "XNLI_Ent": "-4.2",
                                "UDPOS_ratio": "100", "XNLI_ratio": "10"},
        "languages_of_xnli": {"sample": "2100", "of_14": "2100", "of_15": "2250", "test": "67459", "test_13": "65130",
                              "test_14": "70140"},
        "chance_of_inference": {"printed": "29.7", "chance": "33.3"},
        "clusters_by_label": {"UDPOS_FineT": "47.5", "UDPOS_Grad": "22.8", "UDPOS_Ent": "30.1", "XNLI_FineT": "20.3",
                              "XNLI_Grad": "1.1", "XNLI_Ent": "12.2", "change": "3.7"},
        "clusters_and_identification": {"UDPOS_target": "0.4", "UDPOS_wiki": "0.8", "XNLI_target": "0.4", "XNLI_wiki": "-0.8"},
        "two_metrics": {"printed": "73.4", "xtreme": "70.3"},
        "sets_of_hyperparameters": {"sets": "20"},
        "clusters_by_chance": {"tagging": "3.1", "tags": "0.9", "inference": "3.4", "labels": "0.1", "paragraphs": "4.9",
                               "before_above": "6.8", "after_above": "4.0", "target_above": "3.4"},
        "best_epoch": {"best": "1", "epochs": "5", "score": "82.7", "least": "70", "most": "73"},
    },
    "muller2021": {
        "means_of_rows": {
            "parsing_EN_ref": "52.47", "parsing_EN_ref_printed": "53.23", "parsing_EN_first": "-17.46",
            "parsing_EN_first_printed": "-15.77", "parsing_RU_ref": "53.62", "parsing_RU_first": "-8.86",
            "parsing_AR_ref": "27.41", "parsing_AR_first": "-5.39", "pos_EN_ref": "79.04", "pos_EN_first": "-9.96",
            "pos_RU_ref": "77.94", "pos_RU_first": "-11.67", "pos_AR_ref": "64.44", "ner_RU_ref": "60.68",
            "ner_RU_first": "-16.49", "ner_AR_ref": "64.40", "ner_AR_first": "-16.57", "ner_EN_ref": "63.45", "most": "1.7",
        },
        "correlation_for_tagging": {"text": "0.75", "table": "0.74"},
        "sign_of_the_correlation": {"printed": "0.76", "positive": "6"},
        "significance": {"fine": "0.47", "fine_17": "0.057", "fine_15": "0.077", "pretrained": "0.43", "pretrained_17": "0.085",
                         "pretrained_15": "0.110", "others": "0.002"},
        "three_similarities": {"printed": "0.43", "released": "0.84", "linear": "0.43", "debiased": "0.00", "with_means": "1.00"},
        "upper_layers": {"arabic": "16", "arabic_down": "16", "arabic_mean": "1.42", "arabic_printed": "1.29",
                         "arabic_own": "0.00", "romance_least": "7.67", "romance_most": "9.00", "others": "12",
                         "others_mean": "1.5"},
        "one_setting": {"table1": "83.30", "table2": "83.22", "table5": "83.06", "table8": "83.27", "range": "0.24"},
        "two_test_sets": {"french_5": "68.94", "french": "74.04", "arabic_5": "23.37", "arabic": "35.88", "indonesian_5": "84.06",
                          "indonesian": "71.44", "arabic_tagging_5": "56.66", "arabic_tagging": "70.20", "first_5": "1.23",
                          "first": "-3.63"},
        "tables_5_and_8": {"table5": "3.43", "table8": "2.64", "difference": "0.79"},
        "zero_shot_arabic": {"parsing_RU": "59.41", "parsing_AR": "59.54", "parsing_EN": "35.88", "pos_RU": "79.30",
                             "pos_AR": "79.28", "pos_EN": "70.20", "above": "0.02"},
        "rate_outside_the_grid": {"rate": "3.5e-05", "grid": "1e-05, 2.5e-05, 5e-05", "inside": "0"},
        "domains": {"french_least": "-0.88", "french_most": "-0.93", "english_least": "-0.65", "english_most": "-1.21",
                    "translated_parsing": "-2.69", "tweets_parsing": "-2.75", "translated_parsing_share": "3.2",
                    "tweets_parsing_share": "6.0", "tweets_tagging_first": "3.5", "translated_tagging_first": "3.8"},
        "two_initialisations": {"inputs_768": "0.0208", "inputs_3072": "0.0104"},
        "noise_of_upper_layers": {"deltas": "102", "fewest_small": "63", "most_small": "73", "least_deviation": "1.5",
                                  "most_deviation": "2.6", "parsing_positive": "68", "pos_positive": "38", "ner_positive": "55",
                                  "spanish": "4.37", "slovenian": "4.79"},
        "doubtful_cells": {"cells": "1728", "noted": "32", "restored": "8", "missing": "1"},
    },
    "liang2021": {
        "rank_of_densray": {"rank_2": "1", "rank_5": "4", "rank_20": "19"},
        "baseline_beyond_the_first": {"least": "88", "most": "99", "rank": "103"},
        "random_clusters": {"v": "0.57"},
        "cells_of_table_6": {"mean_1": "70.96", "printed_1": "71.5", "mean_2": "72.12", "printed_2": "72.0", "mean_3": "67.89",
                             "printed_3": "68.0", "wrong": "3", "agree": "17"},
        "rounded_mean": {"mean": "67.925", "printed": "68.0", "cells": "40", "difference": "-0.65", "zero_shot": "-0.71"},
        "groups_of_table_6": {"one_groups_least": "82.9", "one_groups_most": "83.1", "one_least": "84.1", "one_most": "84.6",
                              "three_groups_least": "80.2", "three_groups_most": "80.2", "three_least": "82.5",
                              "three_most": "82.6"},
        "penalty_of_groups": {"all": "0.06", "groups": "0.08"},
        "gains_of_ldar": {"table2": "0.29", "table2_t": "1.1", "table3": "0.50", "table3_t": "2.1", "table4": "0.26",
                          "table4_t": "0.6", "table5": "-0.71", "table5_t": "-1.3", "table4_least": "-9.7", "table4_most": "8.1",
                          "table5_least": "-9.4", "table5_most": "6.2"},
        "thai_in_percent": {"printed": "61.79", "hundredfold": "63.4", "thai": "0.64"},
        "chunks_of_tags": {"words": "0.83", "chunks": "0.60"},
    },
    "wu2019": {
        "root_words": {"mbert": "10.2", "baseline": "2.0"},
        "averages_with_english": {"documents_with": "0.60", "documents_without": "0.40", "inference_with": "0.77",
                                  "inference_without": "0.23", "inference_up": "8", "inference_targets": "14",
                                  "las_with": "0.41", "las_without": "0.66"},
        "cut_averages": {"documents": "89.56", "documents_printed": "89.5", "entities": "74.36", "entities_printed": "74.3",
                         "entities_0": "74.34"},
        "freezing": {"documents": "3.4", "inference": "0.8", "entities": "1.5", "tagging": "0.06", "parsing": "1.4",
                     "positive": "12", "cells": "20", "tagging_up": "8", "tagging_all": "14", "parsing_up": "27",
                     "parsing_all": "30", "inference_up": "12", "entities_0": "70.00", "entities_3": "69.98"},
        "weak_languages": {"documents": "-0.54", "inference": "0.57", "entities_3": "-0.65", "tagging": "0.16",
                           "parsing": "0.02"},
        "noise_of_documents": {"ja_0": "49.2", "ja_3": "70.6", "ja_full": "56.5", "ru_0": "73.8", "ru_3": "59.9",
                               "ru_full": "73.7", "zh_0": "69.3", "zh_3": "73.6", "zh_full": "76.9"},
        "few_points": {"documents": "7", "entities": "4", "documents_r": "0.75", "entities_r": "0.95"},
        "chinese_entities": {"supervised": "93.17", "transfer": "51.9"},
        "vietnamese": {"translated": "67.8", "transfer": "69.5", "gain": "-1.7", "others": "13", "least": "2.6", "most": "14.9"},
    },
    "liu2020": {
        "shortfall": {"vi": "-28.8", "th": "-14.1", "tr": "-11.5", "el": "-9.7", "ar": "-5.0", "es": "-3.7",
                      "fr": "-3.4", "zh": "-2.1", "ru": "-2.0", "en": "-1.2", "n": "12"},
        "unknown_counted": {"cells": "14", "more": "14", "equal": "14"},
        "chosen_on_test": {"best": "11.95", "fixed": "9.62", "largest": "10", "directions": "12", "weight": "3"},
        "best_setting": {"best": "4", "directions": "12", "greek": "11.47", "greek_best": "19.13", "german_layer": "1"},
        "slightly_better": {"average": "3.80", "english": "1.30", "up": "11", "languages": "11", "least": "0.08", "most": "7.24",
                            "elsewhere": "0.8"},
        "gain_of_the_shift": {"up": "9", "languages": "11", "mean": "0.44", "median": "0.28", "vietnamese": "2.31", "share": "47",
                              "t": "2.0", "russian_pairs": "5", "french_pairs": "27"},
        "overlap_and_gain": {"el_share": "53.2", "el_gain": "0.50", "fr_share": "45.7", "fr_gain": "-0.53", "de_share": "35.1",
                             "de_gain": "0.38", "zh_share": "34.3", "zh_gain": "0.20", "most": "3911", "french_first": "1"},
        "missing_languages": {"languages": "12", "all": "15", "missing": "3"},
        "rows_of_table_4": {"all": "57.998", "all_printed": "58.00", "last": "61.800", "shifted": "62.244",
                            "shifted_printed": "62.24", "noted": "25"},
    },
}  # fmt: skip
COMPUTED = [(key, name) for key in KEYS for name in numbers(key)]


@pytest.fixture(scope="module")
def facts():
    return Facts(ROOT)


@pytest.mark.parametrize(("key", "name"), COMPUTED)
def test_computed_numbers_are_the_stated_ones(key, name, facts):
    computed, stated = numbers(key)[name](facts), STATED.get(key, {}).get(name, {})
    assert stated or all(number.startswith("here_") for number in computed), "state its numbers here"
    for number, text in stated.items():
        value = computed[number]
        if isinstance(value, str):
            assert value == text
        else:  # to the last stated digit, either way where the next one is a five
            unit = 10.0 ** Decimal(text).as_tuple().exponent
            assert float(value) == pytest.approx(float(text), abs=0.5 * unit + 1e-9), number


def test_at_least_forty_remarks_have_computed_numbers():
    assert len(COMPUTED) >= 40 and {(key, name) for key, found in STATED.items() for name in found} <= {*COMPUTED}


@pytest.mark.parametrize("key", KEYS)
def test_remarks_say_where_what_how_much_and_what_it_changes(key):
    found = remarks(ROOT, key)
    assert set(numbers(key)) <= set(found), "a function without its remark"
    for name, remark in found.items():
        assert {"title", "kind", "where", "what", "size", "changes"} <= remark.keys() <= {"title", "kind", *FIELDS}, name
        assert remark["kind"] in KINDS
        braces = re.search(r"\{\w", " ".join(remark.values()))
        assert bool(braces) == (name in numbers(key)), f"{name}: numbers in braces come from a function of that name"


def test_a_paper_without_printed_values_and_remarks_has_none(monkeypatch):
    there = errata.documents(ROOT)
    monkeypatch.setattr(errata, "KEYS", (*KEYS, "doe2099"))
    assert errata.documents.__wrapped__(ROOT) == there


def test_a_number_that_nothing_computes_is_named(facts, tmp_path, monkeypatch):
    folder = tmp_path / errata.REMARKS
    folder.mkdir(parents=True)
    for path in (ROOT / errata.REMARKS).glob("*.yaml"):
        (folder / path.name).write_text(path.read_text("utf-8"), encoding="utf-8")
    path = folder / "liu2020.yaml"
    path.write_text(path.read_text("utf-8").replace("{mean:+.1f} on average", "{men:+.1f} on average"), encoding="utf-8")
    monkeypatch.setattr(errata, "Facts", lambda root: facts)
    with pytest.raises(DataError, match=r"resources/errata/liu2020.yaml: shortfall: 'men' is not among its numbers: en, de, es"):
        errata.documents(tmp_path)
