"""Numbers of the remarks on liu2020, by the remark's name."""

from collections.abc import Mapping

import numpy as np

from documents.errata import Facts, Numbers

PAPER = "liu2020"
ALL, LAST, SHIFTED = "finetune all layers", "finetune last 6 layers", "finetune last 6 layers + MDS"
MBERT = "Zero-shot cross-lingual transfer | mBERT"
FIXED, BEST = "BLEU-1 (layer=11, alpha=3)", "best BLEU-1"


def _languages(row: Mapping[str, float]) -> dict[str, float]:
    """Without English and the average."""
    return {language: value for language, value in row.items() if len(language) == 2 and language != "en"}


def shortfall(facts: Facts) -> Numbers:
    """Table 4 less table 3 of wu2019, the same model and test set."""
    theirs = facts.row("wu2019", "table3", MBERT)
    here = facts.row(PAPER, "table4", ALL)
    found = {language: here[language] - theirs[language] for language in here if language in theirs}
    return found | {"n": len(found), "worst": min(found.values()), "mean": float(np.mean(list(_languages(found).values())))}


def unknown_counted(facts: Facts) -> Numbers:
    """How many cells of table 3 are one more than the subwords that our run counted, and how many are the count with [UNK]."""
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
    """Directions whose best weight is the largest that was tried, and means of best and fixed settings."""
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
    """In how many directions the setting that the text calls best is best."""
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
    """Fine-tuning the last six layers against all."""
    both, last = facts.row(PAPER, "table4", ALL), facts.row(PAPER, "table4", LAST)
    gains = {language: last[language] - both[language] for language in _languages(both)}
    frozen, full = facts.row("wu2019", "figure1b", "Lay 6"), facts.row("wu2019", "table3", MBERT)
    return {
        "average": last["avg w/o en"] - both["avg w/o en"],
        "english": last["en"] - both["en"],
        "up": sum(gain > 0 for gain in gains.values()),
        "languages": len(gains),
        "least": min(gains.values()),
        "most": max(gains.values()),
        "elsewhere": float(np.mean([frozen[code] - full[code] for code in _languages(full)])),
    }


def gain_of_the_shift(facts: Facts) -> Numbers:
    """The shift's gain on XNLI by language."""
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
    """Share of each language's subwords that English has too, and the shift's gain."""
    own, shared = facts.row(PAPER, "table3", "V_lang"), facts.row(PAPER, "table3", "V_en and V_lang")
    last, shifted = facts.row(PAPER, "table4", LAST), facts.row(PAPER, "table4", SHIFTED)
    found: Numbers = {}
    for code in ("el", "fr", "de", "zh"):
        found |= {f"{code}_share": 100 * shared[code] / own[code], f"{code}_gain": shifted[code] - last[code]}
    counts = {code: count for code, count in shared.items() if code != "en"}
    return found | {"most": max(counts.values()), "french_first": counts["fr"] == max(counts.values())}


def missing_languages(facts: Facts) -> Numbers:
    """Languages of table 4, of the 15 of XNLI."""
    columns = set(_languages(facts.row(PAPER, "table4", ALL))) | {"en"}
    theirs = set(_languages(facts.row("wu2019", "table3", MBERT))) | {"en"}
    return {"languages": len(columns), "all": len(theirs), "missing": len(theirs - columns)}


def rows_of_table_4(facts: Facts) -> Numbers:
    """Means of the rows of table 4, beside the printed averages."""
    found: Numbers = {}
    for name, row in (("all", ALL), ("last", LAST), ("shifted", SHIFTED)):
        values = facts.row(PAPER, "table4", row)
        found |= {name: float(np.mean(list(_languages(values).values()))), f"{name}_printed": values["avg w/o en"]}
    notes = facts.published[PAPER].table["note"].fillna("")
    return found | {"noted": int(notes.str.startswith("doubtful row label").sum())}
