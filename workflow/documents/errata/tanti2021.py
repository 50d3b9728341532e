"""Numbers of the remarks on tanti2021, by the remark's name."""

from collections.abc import Sequence

import numpy as np
from crosslens.config.labels import UPOS
from crosslens.numerics.f1 import chunk_counts, chunk_types, macro_f1, overall
from crosslens.papers.tanti2021.layout import MICRO_F1
from crosslens.papers.tanti2021.layout import PAPER_F1 as CHUNKS

from documents.errata import Facts, Numbers

PAPER = "tanti2021"
TARGET, WIKI, LABELS = "Lang. ID (Target)", "Lang. ID (Wiki)", "Target labels"
ACROSS, WITHIN = "accuracy, converged probe trained on paragraphs", "accuracy, converged probe trained on the same corpus"
RUNS = ("Init.", "Fine-T.", "Grad.", "Ent.")
TASKS = ("UDPOS", "XNLI")


def _languages(facts: Facts) -> list[str]:
    """Codes of the paper's languages, which are those of its paragraphs."""
    languages: list[str] = facts.config["corpora"]["wikipedia"]["languages"]
    return languages


def _score(facts: Facts, row: str, task: str, run: str) -> float:
    """A printed score of tables 1 to 3. The V-measures of table 3 are printed in captions of figures for the first two runs."""
    panels = {LABELS: f"{task} labels", "Language (Target)": f"{task} languages", "Language (Wiki)": "Wikipedia languages"}
    if row not in panels:
        return facts.value(PAPER, "table1" if run in RUNS[:2] else "table2", row, f"{task} {run}")
    if run in RUNS[2:]:
        return facts.value(PAPER, "table3", row, f"{task} {run}", "V-measure")
    caption = f"{panels[row]} {'initial' if run == 'Init.' else 'fine-tuned'}"
    cells = facts.published[PAPER].table
    figure = "figure3" if task == "UDPOS" else "figure4"
    items = cells[(cells["row"] == caption) & cells["item"].str.startswith(figure)]["item"]
    return facts.value(PAPER, items.iloc[0], caption, "caption", "V-measure")


def chunks(facts: Facts) -> Numbers:
    """Macro F1 of chunks by accuracy of words: of independent errors in texts of 30 and of 15 words, and in a run of ours."""
    labels = _languages(facts)
    k = len(labels)
    numbers: Numbers = {"languages": k}
    for words, texts in ((30, 400), (15, 400)):
        gold = np.repeat(np.arange(k), words * texts)
        sentences = np.repeat(np.arange(k * texts), words)
        for right in (99, 95, 90, 80):
            generator = np.random.default_rng(right)
            wrong = generator.random(len(gold)) >= right / 100
            predicted = np.where(wrong, (gold + generator.integers(1, k, len(gold))) % k, gold)
            counts = overall(chunk_counts(gold, predicted, sentences, k * texts, labels))
            numbers[f"of_{words}_{right}"] = 100 * float(macro_f1(counts, "true"))
    for name, run in (("before", "UDPOS Init."), ("after", "UDPOS Fine-T.")):
        numbers |= {
            f"here_{name}": facts.run("laptop/table1", run, row=TARGET, definition=CHUNKS),
            f"here_{name}_words": facts.run("laptop/table1", run, row=TARGET, definition="accuracy"),
        }
    return numbers


def first_letters(facts: Facts) -> Numbers:
    """Numbers of codes and of tags, numbers of types that remain of them, and a score with and without this in a run of ours."""
    codes = _languages(facts)
    place = {"metric": "metric", "row": "UDPOS: language, target"}
    return {
        "codes": len(codes),
        "types": len(set(chunk_types(codes))),
        "tags": len(UPOS),
        "tag_types": len(set(chunk_types(UPOS))),
        "here_with": facts.run(
            "laptop/findings", "before", definition="chunks, codes collapsed by their second letter: as published", **place
        ),
        "here_without": facts.run("laptop/findings", "before", definition="chunks, whole codes", **place),
    }


def rates_of_heads(facts: Facts) -> Numbers:
    """Learning rates of the heads before and after fine-tuning, and accuracies after it by rate in a run of ours."""
    rates = {name: facts.value(PAPER, "table5", f"UDPOS {name}", "Classifier learning rate") for name in ("frozen", "fine-tuned")}
    place = {"metric": "head's rate", "row": "UDPOS: language, target"}
    here = {
        "here_slow": "rate 1e-03: accuracy",
        "here_recipe": "the recipe's rate: accuracy",
        "here_fast": "rate 1e-01: accuracy",
        "here_across": ACROSS,
        "here_within": WITHIN,
    }
    return {"before": rates["frozen"], "after": rates["fine-tuned"], "ratio": rates["fine-tuned"] / rates["frozen"]} | {
        name: facts.run("laptop/findings", "after", definition=definition, **place) for name, definition in here.items()
    }


def equation_1(facts: Facts) -> Numbers:
    """Least value of equation 1, at the uniform output; the entropy there; and its share of the loss beside a label loss of 1."""
    k = len(_languages(facts))
    weight = facts.value(PAPER, "table5", "UDPOS ent. max.", "Entropy max. weighting")
    least = k * np.log(k)
    return {
        "classes": k,
        "least": least,
        "entropy": np.log(k),
        "weight": weight,
        "share": 100 * weight * least / (weight * least + 1 - weight),
    }


def stray_classes(facts: Facts) -> Numbers:
    """Highest score that stray classes leave, largest number of them that a printed score allows, and a run of ours."""
    k, true = len(_languages(facts)), len(facts.config["corpora"]["xnli"]["languages"])
    before, after = (_score(facts, TARGET, "XNLI", run) for run in RUNS[:2])
    place = {"metric": "absent classes", "row": "XNLI: language, target"}
    return {
        "classes": k,
        "true": true,
        "ceiling": 100 * true / k,
        "before": before,
        "after": after,
        "stray": 100 * true / before - true,
        "here_all": facts.run("laptop/findings", "before", definition=CHUNKS, **place),
        "here_true": facts.run("laptop/findings", "before", definition="macro F1 over true classes", **place),
    }


def _history(facts: Facts, row: str, metric: str) -> list[float]:
    """Printed numbers by epoch, from epoch 1 to the last."""
    values = facts.row(PAPER, "epochs", row, metric)
    return [value for epoch, value in values.items() if epoch != "epoch 0"]


def adversaries_that_learn(facts: Facts) -> Numbers:
    """Entropies and best macro F1 of the heads of gradient reversal; macro F1 by epoch of one after entropy maximisation."""
    numbers = {"most": float(np.log(len(_languages(facts))))}
    for task in TASKS:
        for head in ("adversary", "language"):
            entropies = _history(facts, f"{task} Grad., {head}", "entropy")
            numbers |= {f"{task}_{head}_least": min(entropies), f"{task}_{head}_most": max(entropies)}
        numbers[f"{task}_f1"] = max(_history(facts, f"{task} Grad., adversary", "macro F1"))
    rising = _history(facts, "XNLI Ent., language", "macro F1")
    return numbers | {f"epoch_{number}": value for number, value in enumerate(rising, 1)}


def rate_of_adversaries(facts: Facts) -> Numbers:
    """Task scores with an adversary less those of fine-tuning, and the ratio of the encoder's learning rates without and with."""
    numbers: Numbers = {}
    for task in TASKS:
        finetuned = _score(facts, "Target task", task, "Fine-T.")
        numbers |= {f"{task}_{run[:-1]}": _score(facts, "Target task", task, run) - finetuned for run in RUNS[2:]}
        without, adversarial = (
            facts.value(PAPER, "table5", f"{task} {run}", "mBERT learning rate") for run in ("fine-tuned", "grad. rev.")
        )
        numbers[f"{task}_ratio"] = without / adversarial
    return numbers


def languages_of_xnli(facts: Facts) -> Numbers:
    """Printed sizes of the sample and of the test set, and the sizes that 13, 14 and 15 languages give."""
    points = facts.value(PAPER, "text", "XNLI", "t-SNE/V-measure sample", "maximum points per unit")
    return {
        "sample": facts.value(PAPER, "text", "XNLI", "t-SNE/V-measure sample", "total points"),
        "of_14": 14 * 3 * points,
        "of_15": 15 * 3 * points,
        "test": facts.value(PAPER, "text", "XNLI", "test"),
        "test_13": 13 * 5010,
        "test_14": 14 * 5010,
    }


def chance_of_inference(facts: Facts) -> Numbers:
    """Score of the frozen head, score of a uniform guess among three balanced classes, and validation in the last two epochs."""
    history = _history(facts, "XNLI Init., task", "macro F1")
    return {
        "printed": _score(facts, "Target task", "XNLI", "Init."),
        "chance": 100 / 3,
        "last": history[-1],
        "before_last": history[-2],
    }


def clusters_by_label(facts: Facts) -> Numbers:
    """V-measures by label, and the largest change by an adversary of those by language in tagging."""
    runs = {run: run.rstrip(".").replace("-", "") for run in RUNS[1:]}
    numbers = {f"{task}_{name}": _score(facts, LABELS, task, run) for task in TASKS for run, name in runs.items()}
    changes = [
        abs(_score(facts, row, "UDPOS", run) - _score(facts, row, "UDPOS", "Fine-T."))
        for row in ("Language (Target)", "Language (Wiki)")
        for run in RUNS[2:]
    ]
    return numbers | {"change": max(changes)}


def clusters_and_identification(facts: Facts) -> Numbers:
    """Spearman's correlation over the four models between language identification and V-measure by language."""
    from scipy.stats import spearmanr

    numbers: Numbers = {}
    for task in TASKS:
        for name, row, clusters in (("target", TARGET, "Language (Target)"), ("wiki", WIKI, "Language (Wiki)")):
            identification, v_measure = ([_score(facts, measure, task, run) for run in RUNS] for measure in (row, clusters))
            numbers[f"{task}_{name}"] = float(spearmanr(identification, v_measure).statistic)
    return numbers


def two_metrics(facts: Facts) -> Numbers:
    """Both scores of footnote 6, and both metrics of the same predictions in a run of ours."""
    printed, xtreme = (
        facts.value(PAPER, "text", "UDPOS", column) for column in ("fine-tuned (this paper)", "XTREME (Hu et al. 2020)")
    )
    here = {
        name: facts.run("laptop/table1", "UDPOS Fine-T.", row="Target task", definition=definition)
        for name, definition in (("here_chunks", MICRO_F1), ("here_words", "accuracy"))
    }
    return {"printed": printed, "xtreme": xtreme} | here


def sets_of_hyperparameters(facts: Facts) -> Numbers:
    """Lowest and highest development score over the sets of hyperparameters of the authors' search, by task."""
    scores = {task: list(facts.row(PAPER, "table5_search", f"{task} fine-tuned").values()) for task in TASKS}
    return {"sets": len(scores["UDPOS"])} | {
        f"{task}_{name}": end(values) for task, values in scores.items() for name, end in (("least", min), ("most", max))
    }


def _chance_v(points: int, classes: int, clusters: int, draws: int = 20) -> float:
    """V-measure in percent of random clusters, for classes of equal size; mean over draws."""
    from sklearn.metrics import v_measure_score

    generator, truth = np.random.default_rng(0), np.arange(points) % classes
    return 100 * float(np.mean([v_measure_score(truth, generator.integers(clusters, size=points)) for _ in range(draws)]))


def clusters_by_chance(facts: Facts) -> Numbers:
    """V-measures of random clusters with the printed numbers of points and clusters, and printed V-measures less these."""
    k = len(_languages(facts))
    sizes = {
        corpus: int(facts.value(PAPER, "text", corpus, "t-SNE/V-measure sample", "total points"))
        for corpus in ("UDPOS", "XNLI", "Wikipedia")
    }
    true = len(facts.config["corpora"]["xnli"]["languages"])
    chance = {
        "tagging": _chance_v(sizes["UDPOS"], k, k),
        "tags": _chance_v(sizes["UDPOS"], len(UPOS), len(UPOS)),
        "inference": _chance_v(sizes["XNLI"], true, k),
        "labels": _chance_v(sizes["XNLI"], 3, 3),
        "paragraphs": _chance_v(sizes["Wikipedia"], k, k),
    }
    before, after = (_score(facts, "Language (Wiki)", "XNLI", run) for run in RUNS[:2])
    target = _score(facts, "Language (Target)", "XNLI", "Fine-T.")
    return chance | {
        "true": true,
        "clusters": k,
        "before": before,
        "after": after,
        "before_above": before - chance["paragraphs"],
        "after_above": after - chance["paragraphs"],
        "target": target,
        "target_above": target - chance["inference"],
    }


def best_epoch(facts: Facts) -> Numbers:
    """Best epoch of entropy maximisation in tagging by the task's validation score, with the scores of all epochs."""
    scores: Sequence[float] = _history(facts, "UDPOS Ent., task", "macro F1")
    return {
        "best": int(np.argmax(scores)) + 1,
        "epochs": len(scores),
        "score": max(scores),
        "least": min(scores[1:]),
        "most": max(scores[1:]),
    }


def other_domain(facts: Facts) -> Numbers:
    """Accuracies on treebanks of probes that are trained on paragraphs and on treebanks, in a run of ours."""
    return {
        name: facts.run("laptop/table1", "UDPOS Init.", row=TARGET, definition=definition)
        for name, definition in (("here_across", ACROSS), ("here_within", WITHIN))
    }
