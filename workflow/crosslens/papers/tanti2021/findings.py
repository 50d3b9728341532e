"""tanti2021: what the fall of language identification after fine-tuning is made of (docs/findings.md).

One row a number that stands on one definition or setting, before and after: the metric, the learning rate of the head, the frozen
encoder's dropout, classes that the truth lacks, adversaries, and the scale of the entropy objective.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from crosslens import cells
from crosslens.measures.definitions import ACCURACY, CEILING, MACRO_F1, PROBE_ACROSS, PROBE_WITHIN, TRANSFER
from crosslens.measures.f1 import Counts, accuracy, chunk_counts, chunk_types, flattened, macro_f1, token_counts
from crosslens.measures.intervals import bootstrap
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.layout import PAPER, TASKS, recipe_name
from crosslens.papers.tanti2021.records import named

ADVERSARIES = {
    "gradient_reversal": "gradient reversal",
    "entropy_maximisation": "equation 1",
    "true_entropy": "the entropy itself",
}
LANGUAGE_ITEMS = ("language, target", "language, wiki")
Runs = Mapping[str, Sequence[str]]  # task -> runs that were configured


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """The table in percent: a row a part, task, item and setting; columns before, after and difference.

    settings: runs; target, the corpus of pos; wiki, that of paragraphs; languages, classes of the language heads; weights, of the
    entropy term by task; resamples.
    """
    names = {recipe_name(task, run): (task, run) for task, runs in settings["runs"].items() for run in runs}
    predictions = {(names[recipe][1], seed): pd.read_parquet(path) for recipe, seed, path in inputs.model_files("predictions")}
    histories = {(*names[recipe], seed): pd.read_csv(path) for recipe, seed, path in inputs.model_files("history")}
    rows = findings(
        named(inputs.records(), settings["wiki"]), predictions, histories, settings["runs"], settings["target"],
        settings["languages"], settings["weights"], settings["resamples"],
    )  # fmt: skip
    return cells.table(rows, "tanti2021", name)


def findings(
    scores: pd.DataFrame,
    predictions: Mapping[tuple[str, int], pd.DataFrame],
    histories: Mapping[tuple[str, str, int], pd.DataFrame],
    runs: Runs,
    target: str,
    languages: Sequence[str],
    weights: Mapping[str, float],
    resamples: int,
) -> list[dict[str, Any]]:
    """Lines of the table.

    scores: `named` records; predictions: (run, seed) of pos -> rows of predictions.parquet; histories: (task, run,
    seed) -> history.csv; the rest as in `table`.
    """
    lines = [*_metric(predictions, target, languages, resamples)] if "pos" in runs else []
    lines += [*_head_rate(scores, runs), *_dropout(scores, runs), *_absent_classes(scores, runs)]
    lines += _objective(scores, histories, runs, weights)
    return [line for pair in lines for line in pair]


Lines = list[dict[str, Any]]


def _row(part: str, task: str, item: str, setting: str, before: pd.DataFrame, after: pd.DataFrame) -> Lines:
    """Cells of a row: before, after, and the difference, with the interval of its pairs where both have the same seeds.

    before, after: records of the same definition, one a seed.
    """
    numbers = {"before": cells.cell(before), "after": cells.cell(after)}
    here = [numbers[column]["here"] for column in ("before", "after")]
    if None not in here:
        numbers["difference"] = {"here": cells.rounded(here[1] - here[0])}
        pairs = pd.merge(before, after, on="seed")
        if len(pairs) == len(before) == len(after) > 1:
            numbers["difference"] = cells.cell(pd.DataFrame({"value": pairs["value_y"] - pairs["value_x"]}))
    place = (part, setting)
    return [
        cells.line(f"{TASKS[task]}: {item}", column, *place, cell) for column, cell in numbers.items() if cell["here"] is not None
    ]


def _pick(scores: pd.DataFrame, task: str, run: str, item: str, definition: str) -> pd.DataFrame:
    chosen = (scores["recipe"] == recipe_name(task, run)) & (scores["item"] == item) & (scores["definition"] == definition)
    return scores[chosen]


def _metric(
    predictions: Mapping[tuple[str, int], pd.DataFrame], target: str, languages: Sequence[str], resamples: int
) -> Iterator[Lines]:
    """The same predictions under metrics that differ in one thing: the unit (chunk or word), and classes that collapse."""
    kinds = chunk_types(languages)
    second_letters = np.array([sorted(set(kinds)).index(kind) for kind in kinds])
    union, true = partial(macro_f1, classes="union"), partial(macro_f1, classes="true")

    def words(gold: np.ndarray, predicted: np.ndarray, rows: np.ndarray, n: int) -> Counts:
        return token_counts(gold, predicted, rows, n, len(languages))

    settings: dict[str, tuple[Callable[..., Counts], Callable[[Counts], np.ndarray]]] = {
        "chunks, codes collapsed by their second letter: as published": (partial(chunk_counts, labels=languages), union),
        "chunks, whole codes": (partial(chunk_counts, labels=[f"I-{code}" for code in languages]), union),
        "words, codes collapsed by their second letter": (
            lambda gold, predicted, rows, n: words(second_letters[gold], second_letters[predicted], rows, n), true),
        "words, whole codes": (words, true),
        "words, accuracy": (words, accuracy),
    }  # fmt: skip
    for item in LANGUAGE_ITEMS:
        for setting, (count, score) in settings.items():
            found: dict[str, list[dict[str, float]]] = {"frozen": [], "finetuned": []}
            for (run, seed), table in predictions.items():
                part = table[(table["head"] == "language") & ((table["corpus"] == target) == (item == LANGUAGE_ITEMS[0]))]
                labelled = flattened(part["gold"].tolist(), part["predicted"].tolist())
                values = bootstrap(count(*labelled, len(part)), score, resamples, seed)
                columns = ("seed", "value", "low", "high", "n")
                found[run].append(dict(zip(columns, (seed, *values, len(labelled[0])), strict=True)))
            yield _row("metric", "pos", item, setting, pd.DataFrame(found["frozen"]), pd.DataFrame(found["finetuned"]))


def _head_rate(scores: pd.DataFrame, runs: Runs) -> Iterator[Lines]:
    """The same encoders under language heads that differ in their learning rate only, and under a converged probe."""
    heads = sorted({item.split(",")[0] for item in scores["item"] if item.startswith("language ")})
    for task in runs:
        for where in ("target", "wiki"):
            for definition in (PAPER, ACCURACY):
                for head in ["language", *heads]:
                    before, after = (_pick(scores, task, run, f"{head}, {where}", definition) for run in ("frozen", "finetuned"))
                    name = f"rate {head.split(' ')[1]}" if " " in head else "the recipe's rate"
                    yield _row("head's rate", task, f"language, {where}", f"{name}: {definition}", before, after)
            for definition in (PROBE_ACROSS, PROBE_WITHIN):
                before, after = (_pick(scores, task, run, f"language, {where}", definition) for run in ("frozen", "finetuned"))
                if len(before):
                    yield _row("head's rate", task, f"language, {where}", definition, before, after)


def _dropout(scores: pd.DataFrame, runs: Runs) -> Iterator[Lines]:
    """The same recipes and seeds with the frozen encoder's dropout off and on while heads train on it."""
    for task in runs:
        seeds = scores[scores["recipe"] == recipe_name(task, "frozen_dropout")]["seed"].unique()
        paired = scores[scores["seed"].isin(seeds)]
        for item in ("task", *LANGUAGE_ITEMS) if len(seeds) else ():
            for definition in (PAPER, ACCURACY):
                for setting, ending in (("off", ""), ("on", "_dropout")):
                    compared = (f"frozen{ending}", f"finetuned{ending}")
                    before, after = (_pick(paired, task, run, item, definition) for run in compared)
                    yield _row("dropout of the frozen encoder", task, item, f"{setting}: {definition}", before, after)


def _absent_classes(scores: pd.DataFrame, runs: Runs) -> Iterator[Lines]:
    """XNLI: the same predictions with and without classes that the truth lacks, and the ceiling that these leave."""
    for definition in (PAPER, CEILING, MACRO_F1, ACCURACY) if "nli" in runs else ():
        before, after = (_pick(scores, "nli", run, LANGUAGE_ITEMS[0], definition) for run in ("frozen", "finetuned"))
        yield _row("absent classes", "nli", LANGUAGE_ITEMS[0], definition, before, after)


def _objective(
    scores: pd.DataFrame, histories: Mapping[tuple[str, str, int], pd.DataFrame], runs: Runs, weights: Mapping[str, float]
) -> Iterator[Lines]:
    """Without an adversary (before) and with each (after): gradient reversal, equation 1, and the entropy itself."""
    for task in runs:
        plain = "no_adversary" if "no_adversary" in runs[task] else "finetuned"
        for run, name in ADVERSARIES.items():
            measures = [
                ("task", TRANSFER),
                *((item, of) for item in LANGUAGE_ITEMS for of in (ACCURACY, PROBE_ACROSS, PROBE_WITHIN)),
            ]
            for item, definition in measures if run in runs[task] else ():
                before, after = (_pick(scores, task, each, item, definition) for each in (plain, run))
                if len(before):
                    yield _row("adversaries", task, item, f"{name}: {definition}", before, after)
        shares = [_share(table, weights[task]) for (of, run, _), table in histories.items()
                  if (of, run) == (task, "entropy_maximisation")]  # fmt: skip
        after = pd.DataFrame([{"value": share, "low": share, "high": share, "n": None} for share in shares])
        yield _row("objective's scale", task, "loss", "equation 1: its share of the loss, last epoch", pd.DataFrame(), after)


def _share(history: pd.DataFrame, weight: float) -> float:
    """Share of the weighted entropy term in the sum of losses, last epoch of the task's stage."""
    last = history[history["stage"] == "task"].iloc[-1]
    label = (1 - weight) * next(last[name] for name in history.columns if name.endswith("task cross_entropy"))
    entropy = weight * next(last[name] for name in history.columns if name.endswith("language uniformity"))
    return float(entropy / (entropy + label))
