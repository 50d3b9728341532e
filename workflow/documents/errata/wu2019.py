"""Numbers of the remarks on wu2019, by the remark's name."""

from collections.abc import Mapping, Sequence

import numpy as np
from crosslens.runs.errors import DataError

from documents.errata import Facts, Numbers

PAPER = "wu2019"
ZERO, OWN = "Zero-shot cross-lingual transfer | mBERT", "In language supervised learning | mBERT"
RELEASED = "mBERT(Z), released root"
LINES = ("Lay 0", "Lay 3", "Lay 6", "Lay 9")  # lines of figure 1, named by the number of frozen blocks
PANELS = {"documents": "figure1a", "inference": "figure1b", "entities": "figure1c", "tagging": "figure1d", "parsing": "figure1e"}
TABLES = {"documents": "table2", "inference": "table3", "entities": "table4", "tagging": "table5"}


def _languages(row: Mapping[str, float]) -> dict[str, float]:
    """Scores by language, without English and averages."""
    return {code: value for name, value in row.items() if len(code := name.rstrip("*")) == 2 and code != "en"}


def _mean(row: Mapping[str, float], codes: Sequence[str]) -> float:
    return float(np.mean([row[code] for code in codes]))


def _full(facts: Facts, task: str) -> dict[str, float]:
    """Scores of full fine-tuning by target language."""
    row = facts.column(PAPER, "table6", "mBERT(Z)", "LAS") if task == "parsing" else facts.row(PAPER, TABLES[task], ZERO)
    return _languages(row)


def _gains(facts: Facts, task: str) -> dict[str, dict[str, float]]:
    """Gains over full fine-tuning, by line of figure 1 and target language."""
    full = _full(facts, task)
    rows = {line: _languages(facts.row(PAPER, PANELS[task], line)) for line in LINES}
    return {line: {code: row[code] - full[code] for code in full} for line, row in rows.items()}


def _best(gains: Mapping[str, Mapping[str, float]]) -> str:
    """The line with the largest mean gain."""
    return max(gains, key=lambda line: float(np.mean(list(gains[line].values()))))


def root_words(facts: Facts) -> Numbers:
    """UAS less LAS in English, and losses from the released treatment of root words in a run of ours."""
    uas, las = (
        {head: facts.value(PAPER, "table6", "en", head, metric) for head in ("mBERT(Z)", "Baseline(Z)")}
        for metric in ("UAS", "LAS")
    )
    costs: dict[str, list[float]] = {"LAS": [], "UAS": []}
    for row in facts.column(PAPER, "table6", "mBERT(Z)", "LAS"):
        for metric, differences in costs.items() if row != "AVER" else ():
            place = {"row": row, "metric": metric, "definition": f"{metric} without punctuation"}
            try:
                usual, released = (facts.run("laptop/wu2019/table6", head, **place) for head in ("mBERT(Z)", RELEASED))
            except DataError:
                continue  # the run has no such language
            differences.append(usual - released)
    place = {"row": "en", "metric": "LAS", "definition": "LAS without punctuation"}
    english = [facts.run("laptop/wu2019/table6", head, **place) for head in ("mBERT(Z)", RELEASED)]
    return {
        "mbert": uas["mBERT(Z)"] - las["mBERT(Z)"],
        "baseline": uas["Baseline(Z)"] - las["Baseline(Z)"],
        "here_english": english[0] - english[1],
        "here_mean": float(np.mean(costs["LAS"])),
        "here_uas": float(np.mean(costs["UAS"]).round(1)) + 0,  # no minus before 0.0
        "here_languages": len(costs["LAS"]),
    }


def averages_with_english(facts: Facts) -> Numbers:
    """Mean advantages over the cited baselines, with English and without it."""
    numbers: Numbers = {}
    baselines = {"documents": "Schwenk and Li (2018)", "inference": "Conneau et al. (2018) (X-LSTM) ♠ ♦"}
    for task, baseline in baselines.items():
        rows = ZERO, f"Zero-shot cross-lingual transfer | {baseline}"
        mbert, cited = (facts.row(PAPER, TABLES[task], row) for row in rows)
        targets = list(_languages(mbert))
        difference = {code: mbert[code] - cited[code] for code in ["en", *targets]}
        numbers |= {f"{task}_with": _mean(difference, ["en", *targets]), f"{task}_without": _mean(difference, targets)}
        numbers |= {f"{task}_up": sum(difference[code] > 0 for code in targets), f"{task}_targets": len(targets)}
    mbert, cited = (facts.column(PAPER, "table6", head, "LAS") for head in ("mBERT(Z)", "Baseline(Z)"))
    difference = {row: mbert[row] - cited[row] for row in mbert if row != "AVER"}
    targets = [row for row in difference if row != "en"]
    return numbers | {"las_with": _mean(difference, list(difference)), "las_without": _mean(difference, targets)}


def cut_averages(facts: Facts) -> Numbers:
    """Means of printed cells, and the averages that are printed for two of them."""
    supervised = facts.row(PAPER, "table2", "In language supervised learning | Schwenk and Li (2018)")
    entities = facts.row(PAPER, "figure1c", "Lay 3")
    unfrozen = facts.row(PAPER, "figure1c", "Lay 0")

    def mean(row: Mapping[str, float]) -> float:
        return float(np.mean([value for code, value in row.items() if len(code) == 2]))

    return {
        "documents": mean(supervised),
        "documents_printed": supervised["Average"],
        "entities": mean(entities),
        "entities_printed": entities["AVER"],
        "entities_0": mean(unfrozen),
    }


def freezing(facts: Facts) -> Numbers:
    """Mean gain over full fine-tuning of the best number of frozen blocks by task, and number of languages that gain."""
    numbers: Numbers = {}
    positive = cells = 0
    for task in PANELS:
        gains = _gains(facts, task)
        means = {line: float(np.mean(list(values.values()))) for line, values in gains.items()}
        best = gains[_best(gains)]
        numbers |= {task: max(means.values()), f"{task}_up": sum(gain > 1e-9 for gain in best.values()), f"{task}_all": len(best)}
        positive += sum(mean > 1e-9 for mean in means.values())
        cells += len(means)
    entities = {
        line: float(np.mean(list(_languages(facts.row(PAPER, "figure1c", line)).values()))) for line in ("Lay 0", "Lay 3")
    }
    return numbers | {"positive": positive, "cells": cells, "entities_0": entities["Lay 0"], "entities_3": entities["Lay 3"]}


def weak_languages(facts: Facts) -> Numbers:
    """Pearson's correlation over target languages of the full model's score with the gain at the best number of frozen blocks.

    For entities it is also given at 3 frozen blocks, which are best where English is in the mean.
    """
    numbers: Numbers = {}
    for task in PANELS:
        gains, full = _gains(facts, task), _full(facts, task)
        lines = {task: _best(gains)} | ({"entities_3": "Lay 3"} if task == "entities" else {})
        for name, line in lines.items():
            numbers[name] = float(np.corrcoef([full[code] for code in full], [gains[line][code] for code in full])[0, 1])
    return numbers


def noise_of_documents(facts: Facts) -> Numbers:
    """Scores in three languages with 0 and with 3 frozen blocks and with full fine-tuning, and their largest difference."""
    numbers: Numbers = {}
    for code in ("ja", "ru", "zh"):
        numbers |= {f"{code}_{line[-1]}": facts.value(PAPER, "figure1a", line, code) for line in ("Lay 0", "Lay 3")}
        numbers[f"{code}_full"] = facts.value(PAPER, "table2", ZERO, code)
    return numbers | {"widest": max(abs(numbers[f"{code}_0"] - numbers[f"{code}_3"]) for code in ("ja", "ru", "zh"))}


def latin_script(facts: Facts) -> Numbers:
    """Token overlap of treebanks with English in a run of ours, by language."""
    numbers: Numbers = {}
    for code in ("bg", "el", "fa", "hi", "mr", "ru", "ur", "cs"):
        numbers[f"here_{code}"] = facts.run(
            "laptop/wu2019/overlap", "POS tagging", row=code, metric="token overlap", definition="all subwords"
        )
    return numbers


def few_points(facts: Facts) -> Numbers:
    """Least significant correlations for small numbers of languages, and a correlation with English as a point and without it."""
    from scipy.stats import t

    def least_significant(n: int) -> float:
        quantile = t.ppf(0.975, n - 2)
        return float(quantile / np.sqrt(n - 2 + quantile**2))

    here = {
        name: facts.run(
            "laptop/wu2019/overlap",
            "POS tagging",
            row="type overlap, accuracy",
            metric="Pearson's r",
            definition=f"all subwords; {name} English",
        )
        for name in ("with", "without")
    }
    documents, entities = (len(_full(facts, task)) for task in ("documents", "entities"))
    return {
        "documents": documents,
        "entities": entities,
        "documents_r": least_significant(documents),
        "entities_r": least_significant(entities),
        "here_with": here["with"],
        "here_without": here["without"],
    }


def chinese_entities(facts: Facts) -> Numbers:
    """Scores of entities in Chinese, trained on Chinese and on English, and their difference."""
    supervised, transfer = (facts.value(PAPER, "table4", row, "zh") for row in (OWN, ZERO))
    return {"supervised": supervised, "transfer": transfer, "gap": supervised - transfer}


def vietnamese(facts: Facts) -> Numbers:
    """Gains from training on translations instead of transfer on XNLI: in Vietnamese, and the range in other languages."""
    translated = facts.row(
        PAPER, "table3", "Pseudo supervision with machine translated training data from English to target language | mBERT"
    )
    transfer = facts.row(PAPER, "table3", ZERO)
    gains = {code: translated[code] - transfer[code] for code in _languages(transfer)}
    other_gains = [gain for code, gain in gains.items() if code != "vi"]
    return {
        "translated": translated["vi"],
        "transfer": transfer["vi"],
        "gain": gains["vi"],
        "others": len(other_gains),
        "least": min(other_gains),
        "most": max(other_gains),
    }
