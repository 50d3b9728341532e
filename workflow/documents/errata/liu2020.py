"""Numbers of the remarks on liu2020, by the remark's name."""

from collections.abc import Mapping

import numpy as np

from documents.errata import Facts, Numbers

PAPER = "liu2020"
ALL, LAST, SHIFTED = "finetune all layers", "finetune last 6 layers", "finetune last 6 layers + MDS"
MBERT = "Zero-shot cross-lingual transfer | mBERT"
FIXED, BEST = "BLEU-1 (layer=11, alpha=3)", "best BLEU-1"


def _languages(row: Mapping[str, float]) -> dict[str, float]:
    """Scores by target language, without English and the average."""
    return {language: value for language, value in row.items() if len(language) == 2 and language != "en"}


def shortfall(facts: Facts) -> Numbers:
    """Accuracy in table 4 less that in table 3 of wu2019, which is of the same model and test set, by language."""
    expected = facts.row("wu2019", "table3", MBERT)
    printed = facts.row(PAPER, "table4", ALL)
    differences = {language: printed[language] - expected[language] for language in printed if language in expected}
    return differences | {
        "n": len(differences),
        "worst": min(differences.values()),
        "mean": float(np.mean(list(_languages(differences).values()))),
    }


def unknown_counted(facts: Facts) -> Numbers:
    """Number of cells of table 3 that exceed our count of subwords by one, and number that equal our count with [UNK]."""
    table = facts.published[PAPER].table
    cells = table[table["item"] == "table3"]
    ways = {"more": ("without [UNK]", 1), "equal": ("with [UNK]", 0)}
    return {"cells": len(cells)} | {
        name: sum(
            float(cell["value"])
            == facts.run("laptop/liu2020/table3", cell["column"], row=cell["row"], definition=definition) + added
            for cell in cells.to_dict("records")
        )
        for name, (definition, added) in ways.items()
    }


def chosen_on_test(facts: Facts) -> Numbers:
    """Number of directions whose best weight is the largest that was tried, and mean BLEU-1 of best and fixed settings."""
    weights = facts.row(PAPER, "table2", "best alpha")
    fixed, best = (list(facts.row(PAPER, "table2", row).values()) for row in (FIXED, BEST))
    return {
        "directions": len(weights),
        "largest": sum(weight == max(weights.values()) for weight in weights.values()),
        "weight": max(weights.values()),
        "best": float(np.mean(best)),
        "fixed": float(np.mean(fixed)),
    }


def best_setting(facts: Facts) -> Numbers:
    """Number of directions in which the setting that the text calls best is best, and cells of two exceptions."""
    fixed, best = facts.row(PAPER, "table2", FIXED), facts.row(PAPER, "table2", BEST)
    layers = facts.row(PAPER, "table2", "best layer")
    return {
        "best": sum(fixed[direction] == best[direction] for direction in best),
        "directions": len(best),
        "greek": fixed["en->el"],
        "greek_best": best["en->el"],
        "german_layer": layers["de->en"],
    }


def slightly_better(facts: Facts) -> Numbers:
    """Gains from fine-tuning the last six layers instead of all, and the mean of the same gain in wu2019."""
    whole, last = facts.row(PAPER, "table4", ALL), facts.row(PAPER, "table4", LAST)
    gains = {language: last[language] - whole[language] for language in _languages(whole)}
    frozen, full = facts.row("wu2019", "figure1b", "Lay 6"), facts.row("wu2019", "table3", MBERT)
    return {
        "average": last["avg w/o en"] - whole["avg w/o en"],
        "english": last["en"] - whole["en"],
        "up": sum(gain > 0 for gain in gains.values()),
        "languages": len(gains),
        "least": min(gains.values()),
        "most": max(gains.values()),
        "elsewhere": float(np.mean([frozen[code] - full[code] for code in _languages(full)])),
    }


def gain_of_the_shift(facts: Facts) -> Numbers:
    """Gain from the shift on XNLI over target languages: mean, median, t, and languages that stand out."""
    last, shifted = _languages(facts.row(PAPER, "table4", LAST)), _languages(facts.row(PAPER, "table4", SHIFTED))
    gains = {language: shifted[language] - last[language] for language in last}
    values = np.array(list(gains.values()))
    return {
        "up": int((values > 0).sum()),
        "languages": len(values),
        "mean": values.mean(),
        "median": float(np.median(values)),
        "vietnamese": gains["vi"],
        "share": 100 * gains["vi"] / values.sum(),
        "t": values.mean() / (values.std(ddof=1) / np.sqrt(len(values))),
        "russian_pairs": gains["ru"] / 100 * 5010,
        "french_pairs": -gains["fr"] / 100 * 5010,
    }


def overlap_and_gain(facts: Facts) -> Numbers:
    """Percentage of a language's subwords that English has too, and gain from the shift, in four languages."""
    vocabulary, shared = facts.row(PAPER, "table3", "V_lang"), facts.row(PAPER, "table3", "V_en and V_lang")
    last, shifted = facts.row(PAPER, "table4", LAST), facts.row(PAPER, "table4", SHIFTED)
    numbers: Numbers = {}
    for code in ("el", "fr", "de", "zh"):
        numbers |= {f"{code}_share": 100 * shared[code] / vocabulary[code], f"{code}_gain": shifted[code] - last[code]}
    counts = {code: count for code, count in shared.items() if code != "en"}
    return numbers | {"most": max(counts.values()), "french_first": counts["fr"] == max(counts.values())}


def missing_languages(facts: Facts) -> Numbers:
    """Numbers of languages in table 4, of languages in XNLI, and of those that are missing."""
    columns = set(_languages(facts.row(PAPER, "table4", ALL))) | {"en"}
    xnli = set(_languages(facts.row("wu2019", "table3", MBERT))) | {"en"}
    return {"languages": len(columns), "all": len(xnli), "missing": len(xnli - columns)}


def rows_of_table_4(facts: Facts) -> Numbers:
    """Means of the rows of table 4, the printed averages, and the number of cells with a doubtful row label."""
    numbers: Numbers = {}
    for name, row in (("all", ALL), ("last", LAST), ("shifted", SHIFTED)):
        values = facts.row(PAPER, "table4", row)
        numbers |= {name: float(np.mean(list(_languages(values).values()))), f"{name}_printed": values["avg w/o en"]}
    notes = facts.published[PAPER].table["note"].fillna("")
    return numbers | {"noted": int(notes.str.startswith("doubtful row label").sum())}
