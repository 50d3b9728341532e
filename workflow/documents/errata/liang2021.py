"""Numbers of the remarks on liang2021, by the remark's name."""

from itertools import combinations

import numpy as np
from crosslens.numerics.f1 import accuracy, chunk_counts, micro_f1, overall, token_counts

from documents.errata import Facts, Numbers

PAPER = "liang2021"
TABLES = {"table2": ("en",), "table3": ("en", "de", "zh"), "table4": ("en",), "table5": ("en", "de", "zh")}
"""Table with a column for each language -> languages of its training data."""
BASELINE, LDAR, AVERAGE = "mBERT", "L-DAR", "avg"
WIDTH, LANGUAGES = 768, 104  # dimensions of mBERT's states; number of languages that are identified


def _by_language(facts: Facts, table: str, row: str) -> dict[str, float]:
    return {code: value for code, value in facts.row(PAPER, table, row).items() if code != AVERAGE}


def rank_of_densray(facts: Facts) -> Numbers:
    """Rank of DensRay's matrix for some numbers of languages.

    The matrix is the sum over pairs of languages of the outer products of the differences of their means.
    """
    generator, numbers = np.random.default_rng(0), Numbers()
    for n in (2, 5, 20):
        means = generator.normal(size=(n, 50))
        differences = np.array([first - second for first, second in combinations(means, 2)])
        numbers[f"rank_{n}"] = int(np.linalg.matrix_rank(differences.T @ differences))
    return numbers


def baseline_beyond_the_first(facts: Facts) -> Numbers:
    """Percentage of the windows of x neighbouring coordinates that begin at the rank or beyond, over all starts.

    Starts are from x to width - x, without the latter, as in crosslens.numerics.windows.contiguous.
    """
    rank = LANGUAGES - 1
    shares = [100 * (WIDTH - x - max(rank, x)) / (WIDTH - 2 * x) for x in range(10, 101)]
    return {"least": min(shares), "most": max(shares), "rank": rank}


def random_clusters(facts: Facts) -> Numbers:
    """V-measure of 90 languages that are assigned at random to 25 genera and to 25 clusters, mean over draws."""
    from sklearn.metrics import v_measure_score

    draws = np.random.default_rng(0).integers(25, size=(100, 2, 90))
    return {"v": float(np.mean([v_measure_score(genera, clusters) for genera, clusters in draws]))}


def cells_of_table_6(facts: Facts) -> Numbers:
    """Printed means over all languages in table 6 that are not the weighted means of their two groups; and how many are.

    A difference of 0.1 is explained by rounding to one decimal.
    """
    numbers: Numbers = {}
    agree = 0
    columns = {
        ("PoS", "Single-Src."): (1, 32),
        ("PoS", "Multi-Src."): (3, 30),
        ("NER", "Single-Src."): (1, 39),
        ("NER", "Multi-Src."): (3, 37),
    }
    table = facts.published[PAPER].table
    rows = dict.fromkeys(table[table["item"] == "table6"]["row"])
    wrong = []
    for row in rows:
        cells = facts.row(PAPER, "table6", row)
        for (task, sources), (n_train, n_zero) in columns.items():
            if not row.startswith(sources) or f"{task} All" not in cells:
                continue
            train, zero, printed = (cells[f"{task} {group}"] for group in ("Train", "Zero-S.", "All"))
            mean = (n_train * train + n_zero * zero) / (n_train + n_zero)
            if abs(mean - printed) <= 0.1 + 1e-9:
                agree += 1
            else:
                wrong.append((mean, printed))
    for number, (mean, printed) in enumerate(sorted(wrong, key=lambda pair: -abs(pair[0] - pair[1])), 1):
        numbers |= {f"mean_{number}": mean, f"printed_{number}": printed}
    return numbers | {"wrong": len(wrong), "agree": agree}


def rounded_mean(facts: Facts) -> Numbers:
    """Mean of L-DAR's cells in table 5, the printed mean, and the difference from the baseline's mean."""
    cells, baseline = (_by_language(facts, "table5", row) for row in (LDAR, BASELINE))
    targets = [code for code in cells if code not in TABLES["table5"]]
    return {
        "mean": float(np.mean(list(cells.values()))),
        "printed": facts.value(PAPER, "table5", LDAR, AVERAGE),
        "cells": len(cells),
        "difference": float(np.mean([cells[code] - baseline[code] for code in cells])),
        "zero_shot": float(np.mean([cells[code] - baseline[code] for code in targets])),
    }


def groups_of_table_6(facts: Facts) -> Numbers:
    """Lowest and highest entity scores in the languages of training: of groups of layers, and of baseline and L-DAR."""
    column = facts.column(PAPER, "table6", "NER Train")
    numbers: Numbers = {}
    for name, sources in (("one", "Single-Src."), ("three", "Multi-Src.")):
        rows = {row: value for row, value in column.items() if row.startswith(sources)}
        groups = [value for row, value in rows.items() if "Δ" in row]
        whole = [value for row, value in rows.items() if "Δ" not in row]
        numbers |= {f"{name}_groups_least": min(groups), f"{name}_groups_most": max(groups)}
        numbers |= {f"{name}_least": min(whole), f"{name}_most": max(whole)}
    return numbers


def penalty_of_groups(facts: Facts) -> Numbers:
    """Sum over layers of the penalty's weight in config.yaml, for all twelve layers and for a group of four (appendix B.4)."""
    models = facts.config["papers"][PAPER]["models"]
    whole, group = models["ldar"], models["ldar_1-4"]
    return {"all": 12 * whole["weight"], "groups": len(group["layers"]) * group["weight"]}


def gains_of_ldar(facts: Facts) -> Numbers:
    """Mean gain of L-DAR over zero-shot languages with its t, and the smallest and the largest gain, by table."""
    numbers: Numbers = {}
    for table, sources in TABLES.items():
        cells, baseline = (_by_language(facts, table, row) for row in (LDAR, BASELINE))
        gains = {code: cells[code] - baseline[code] for code in cells if code not in sources}
        values = np.array(list(gains.values()))
        numbers |= {table: values.mean(), f"{table}_t": values.mean() / (values.std(ddof=1) / np.sqrt(len(values)))}
        numbers |= {f"{table}_least": values.min(), f"{table}_most": values.max()}
    return numbers


def no_dropout(facts: Facts) -> Numbers:
    """Gains in tagging from training without dropout and from the penalty, mean over languages, in a run of ours."""
    numbers: Numbers = {}
    for name, row in (("here_dropout", "mBERT, no dropout - mBERT"), ("here_penalty", "L-DAR - mBERT, no dropout")):
        numbers |= {
            name + end: facts.run(
                "laptop/liang2021/table2",
                AVERAGE + end.replace("_", " "),
                row=row,
                metric="points",
                definition="micro F1 of chunks of bare tags",
            )
            for end in ("", "_low", "_high")
        }
    return numbers


def thai_in_percent(facts: Facts) -> Numbers:
    """Mean of the baseline's row of table 4 with the printed value for Thai, and with a hundred times that value."""
    cells = _by_language(facts, "table4", BASELINE)
    values = {"printed": cells, "hundredfold": cells | {"th": 100 * cells["th"]}}
    return {name: float(np.mean(list(row.values()))) for name, row in values.items()} | {
        "average": facts.value(PAPER, "table4", BASELINE, AVERAGE),
        "thai": cells["th"],
    }


def chunks_of_tags(facts: Facts) -> Numbers:
    """Micro F1 of chunks of bare tags, and accuracy: of six words of which one is wrong, and in a run of ours."""
    labels = ["DET", "NOUN", "VERB"]
    gold = np.array([0, 1, 1, 2, 0, 1])  # five runs of equal tags
    predicted = np.array([0, 1, 2, 2, 0, 1])
    sentences = np.zeros(6, int)
    chunks = overall(chunk_counts(gold, predicted, sentences, 1, labels))
    words = overall(token_counts(gold, predicted, sentences, 1, len(labels)))
    here = {
        name: facts.run("laptop/liang2021/table2", AVERAGE, row=BASELINE, metric="PoS F1", definition=definition)
        for name, definition in (("here_chunks", "micro F1 of chunks of bare tags"), ("here_words", "accuracy"))
    }
    return {"chunks": float(micro_f1(chunks)), "words": float(accuracy(words))} | here
