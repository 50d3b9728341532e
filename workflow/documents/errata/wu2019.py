"""Numbers of the remarks on wu2019, by the remark's name."""

from collections.abc import Mapping, Sequence

import numpy as np
from crosslens.runs.errors import DataError

from documents.errata import Facts, Numbers

PAPER = "wu2019"
ZERO, OWN = "Zero-shot cross-lingual transfer | mBERT", "In language supervised learning | mBERT"
RELEASED = "mBERT(Z), released root"
LINES = ("Lay 0", "Lay 3", "Lay 6", "Lay 9")  # of figure 1: how many blocks are frozen
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
    """Gain over full fine-tuning by frozen blocks and target language."""
    full = _full(facts, task)
    rows = {line: _languages(facts.row(PAPER, PANELS[task], line)) for line in LINES}
    return {line: {code: row[code] - full[code] for code in full} for line, row in rows.items()}


def _best(gains: Mapping[str, Mapping[str, float]]) -> str:
    return max(gains, key=lambda line: float(np.mean(list(gains[line].values()))))


def root_words(facts: Facts) -> Numbers:
    """UAS less LAS in English, and what the released root costs in a run of ours."""
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
                continue  # no language of the run
            differences.append(usual - released)
    place = {"row": "en", "metric": "LAS", "definition": "LAS without punctuation"}
    english = [facts.run("laptop/wu2019/table6", head, **place) for head in ("mBERT(Z)", RELEASED)]
    return {
        "mbert": uas["mBERT(Z)"] - las["mBERT(Z)"],
        "baseline": uas["Baseline(Z)"] - las["Baseline(Z)"],
        "here_english": english[0] - english[1],
        "here_mean": float(np.mean(costs["LAS"])),
        "here_uas": float(np.mean(costs["UAS"])),
        "here_languages": len(costs["LAS"]),
    }


def averages_with_english(facts: Facts) -> Numbers:
    """Advantages over the cited baselines, with English in the mean and without it."""
    found: Numbers = {}
    baselines = {"documents": "Schwenk and Li (2018)", "inference": "Conneau et al. (2018) (X-LSTM) ♠ ♦"}
    for task, baseline in baselines.items():
        rows = ZERO, f"Zero-shot cross-lingual transfer | {baseline}"
        ours, theirs = (facts.row(PAPER, TABLES[task], row) for row in rows)
        targets = list(_languages(ours))
        difference = {code: ours[code] - theirs[code] for code in ["en", *targets]}
        found |= {f"{task}_with": _mean(difference, ["en", *targets]), f"{task}_without": _mean(difference, targets)}
        found |= {f"{task}_up": sum(difference[code] > 0 for code in targets), f"{task}_targets": len(targets)}
    ours, theirs = (facts.column(PAPER, "table6", head, "LAS") for head in ("mBERT(Z)", "Baseline(Z)"))
    difference = {row: ours[row] - theirs[row] for row in ours if row != "AVER"}
    targets = [row for row in difference if row != "en"]
    return found | {"las_with": _mean(difference, list(difference)), "las_without": _mean(difference, targets)}


def cut_averages(facts: Facts) -> Numbers:
    """Means of the printed cells beside two printed averages."""
    supervised = facts.row(PAPER, "table2", "In language supervised learning | Schwenk and Li (2018)")
    entities = facts.row(PAPER, "figure1c", "Lay 3")
    none = facts.row(PAPER, "figure1c", "Lay 0")

    def mean(row: Mapping[str, float]) -> float:
        return float(np.mean([value for code, value in row.items() if len(code) == 2]))

    return {
        "documents": mean(supervised),
        "documents_printed": supervised["Average"],
        "entities": mean(entities),
        "entities_printed": entities["AVER"],
        "entities_0": mean(none),
    }


def freezing(facts: Facts) -> Numbers:
    """Gains over full fine-tuning of the best number of frozen blocks, by task, over target languages."""
    found: Numbers = {}
    positive = cells = 0
    for task in PANELS:
        gains = _gains(facts, task)
        means = {line: float(np.mean(list(values.values()))) for line, values in gains.items()}
        best = gains[_best(gains)]
        found |= {task: max(means.values()), f"{task}_up": sum(gain > 1e-9 for gain in best.values()), f"{task}_all": len(best)}
        positive, cells = positive + sum(mean > 1e-9 for mean in means.values()), cells + len(means)
    entities = {
        line: float(np.mean(list(_languages(facts.row(PAPER, "figure1c", line)).values()))) for line in ("Lay 0", "Lay 3")
    }
    return found | {"positive": positive, "cells": cells, "entities_0": entities["Lay 0"], "entities_3": entities["Lay 3"]}


def weak_languages(facts: Facts) -> Numbers:
    """Pearson's r over target languages of the full model's score with the gain at the best number of frozen blocks.

    Of entities also at 3, which is best where English is in the mean.
    """
    found: Numbers = {}
    for task in PANELS:
        gains, full = _gains(facts, task), _full(facts, task)
        lines = {task: _best(gains)} | ({"entities_3": "Lay 3"} if task == "entities" else {})
        for name, line in lines.items():
            found[name] = float(np.corrcoef([full[code] for code in full], [gains[line][code] for code in full])[0, 1])
    return found


def noise_of_documents(facts: Facts) -> Numbers:
    """Neighbouring settings in three languages."""
    found: Numbers = {}
    for code in ("ja", "ru", "zh"):
        found |= {f"{code}_{line[-1]}": facts.value(PAPER, "figure1a", line, code) for line in ("Lay 0", "Lay 3")}
        found[f"{code}_full"] = facts.value(PAPER, "table2", ZERO, code)
    return found | {"widest": max(abs(found[f"{code}_0"] - found[f"{code}_3"]) for code in ("ja", "ru", "zh"))}


def latin_script(facts: Facts) -> Numbers:
    """Token overlap of treebanks with English in a run of ours, by language."""
    found: Numbers = {}
    for code in ("bg", "el", "fa", "hi", "mr", "ru", "ur", "cs"):
        found[f"here_{code}"] = facts.run(
            "laptop/wu2019/overlap", "POS tagging", row=code, metric="token overlap", definition="all subwords"
        )
    return found


def few_points(facts: Facts) -> Numbers:
    """Correlations that are significant with few languages, and what English as a point does to one."""
    from scipy.stats import t

    def least(n: int) -> float:
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
        "documents_r": least(documents),
        "entities_r": least(entities),
        "here_with": here["with"],
        "here_without": here["without"],
    }


def chinese_entities(facts: Facts) -> Numbers:
    """Entities in Chinese, trained on Chinese and on English."""
    supervised, transfer = (facts.value(PAPER, "table4", row, "zh") for row in (OWN, ZERO))
    return {"supervised": supervised, "transfer": transfer, "gap": supervised - transfer}


def vietnamese(facts: Facts) -> Numbers:
    """What training on translations gains over transfer."""
    translated = facts.row(
        PAPER, "table3", "Pseudo supervision with machine translated training data from English to target language | mBERT"
    )
    transfer = facts.row(PAPER, "table3", ZERO)
    gains = {code: translated[code] - transfer[code] for code in _languages(transfer)}
    others = [gain for code, gain in gains.items() if code != "vi"]
    return {
        "translated": translated["vi"],
        "transfer": transfer["vi"],
        "gain": gains["vi"],
        "others": len(others),
        "least": min(others),
        "most": max(others),
    }
