"""tanti2021: what explains the drop in language identification after fine-tuning (docs/headline.md).

Each row compares a number before and after fine-tuning (for adversaries: without and with) under one definition or setting.
These are the metric, the head's learning rate, dropout in the frozen encoder, classes absent from the gold labels, adversaries,
and the entropy term's share of the loss.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from crosslens.jobs import parquet
from crosslens.jobs.checksums import verified
from crosslens.numerics.definitions import ACCURACY, CEILING, MACRO_F1, PROBE_ACROSS, PROBE_WITHIN, TRANSFER
from crosslens.numerics.f1 import Counts, accuracy, chunk_counts, chunk_types, flattened, macro_f1, text_ids, token_counts
from crosslens.numerics.intervals import Sample, score_interval
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.names import PAPER, PAPER_F1, TASKS, TUNED, recipe_name
from crosslens.papers.tanti2021.records import named
from crosslens.reports import cells

ADVERSARIES = {
    "gradient_reversal": "gradient reversal",
    "entropy_maximisation": "equation 1",
    "true_entropy": "the entropy itself",
}
LANGUAGE_ITEMS = ("language, target", "language, wiki")
Settings = Mapping[str, Any]
Lines = Iterator[dict[str, Any]]


def table(name: str, inputs: Inputs, settings: Settings) -> pd.DataFrame:
    """The table, in percent: a row for each part, task, item and setting; columns before, after and difference.

    settings: runs, task -> its configured runs; target, key of the corpus for pos, None without that task; wiki, key of the
    corpus of paragraphs; languages, classes of the language heads; weights, task -> weight of the entropy term.
    """
    scores, runs = named(inputs.records(), settings["wiki"]), settings["runs"]
    lines = [*_metric(inputs, settings)] if "pos" in runs else []
    lines += [*_head_rate(scores, runs), *_dropout(scores, runs)]
    # Scores on XNLI with and without classes absent from the gold labels, and the highest score possible with them.
    for definition in (PAPER_F1, CEILING, MACRO_F1, ACCURACY) if "nli" in runs else ():
        lines += _pair("absent classes", scores, "nli", LANGUAGE_ITEMS[0], definition)
    for task in runs:
        lines += [*_adversaries(scores, task, runs[task]), *_objective(inputs, task, settings["weights"][task])]
    return cells.table(lines, PAPER, name)


def _row(part: str, task: str, item: str, setting: str, before: pd.DataFrame, after: pd.DataFrame) -> Lines:
    """Cells of a row: before, after and difference. before, after: records of one definition, one row per seed."""
    numbers = {"before": cells.cell(before), "after": cells.cell(after), "difference": cells.difference(before, after)}
    for column, cell in numbers.items():
        if cell["here"] is not None:
            yield cells.line(f"{TASKS[task]}: {item}", column, part, setting, cell)


def _pair(
    part: str, scores: pd.DataFrame, task: str, item: str, definition: str, setting: str = "", *,
    runs: tuple[str, str] = TUNED, head: str = "language",
) -> Lines:  # fmt: skip
    """A row that compares two runs under a definition.

    setting: text before the definition in the table.
    runs: the run before and the run after.
    head: name of the head that is scored, for language items.
    """
    recorded = item.replace("language", head, 1)
    before, after = (cells.where(scores, recipe=recipe_name(task, run), item=recorded, definition=definition) for run in runs)
    return _row(part, task, item, f"{setting}: {definition}" if setting else definition, before, after)


def _metric(inputs: Inputs, settings: Settings) -> Lines:
    """Rows that score the same language predictions by macro F1 of chunks or words, and by accuracy.

    Each F1 has whole language codes or codes collapsed by their second letter as classes. Only chunk F1 counts classes that are
    predicted but never true.
    """
    languages = settings["languages"]
    kinds = chunk_types(languages)
    second_letters = np.array([sorted(set(kinds)).index(kind) for kind in kinds])
    union, of_truth = partial(macro_f1, classes="union"), partial(macro_f1, classes="true")
    predictions = [(recipe, seed, parquet.read(path).to_pandas()) for recipe, seed, path in inputs.by_seed("predictions")]

    def words(gold: np.ndarray, predicted: np.ndarray, rows: np.ndarray, n: int) -> Counts:
        return token_counts(gold, predicted, rows, n, len(languages))

    metrics: dict[str, tuple[Callable[..., Counts], Callable[[Counts], np.ndarray]]] = {
        "chunks, codes collapsed by their second letter: as published": (partial(chunk_counts, labels=languages), union),
        "chunks, whole codes": (partial(chunk_counts, labels=[f"I-{code}" for code in languages]), union),
        "words, codes collapsed by their second letter": (
            lambda gold, predicted, rows, n: words(second_letters[gold], second_letters[predicted], rows, n), of_truth),
        "words, whole codes": (words, of_truth),
        "words, accuracy": (words, accuracy),
    }  # fmt: skip
    for item in LANGUAGE_ITEMS:
        for metric, (count, score) in metrics.items():
            values: dict[str, list[dict[str, float]]] = {recipe_name("pos", run): [] for run in TUNED}
            for recipe, seed, table in predictions:
                of_item = (table["corpus"] == settings["target"]) == (item == LANGUAGE_ITEMS[0])
                part = table[(table["head"] == "language") & of_item]
                labelled = flattened(part["gold"].tolist(), part["predicted"].tolist())
                sample = Sample.of(text_ids(part["id"].tolist()), part["language"].to_numpy())
                value, low, high = score_interval(count(*labelled, len(part)), score, sample)
                values[recipe].append({"seed": seed, "value": value, "low": low, "high": high, "n": len(labelled[0])})
            yield from _row("metric", "pos", item, metric, *map(pd.DataFrame, values.values()))


def _head_rate(scores: pd.DataFrame, runs: Settings) -> Lines:
    """Scores of the same encoders under language heads that differ only in their learning rate, and under a probe."""
    heads = sorted({item.split(",")[0] for item in scores["item"] if item.startswith("language ")})
    for task in runs:
        for item in LANGUAGE_ITEMS:
            for definition in (PAPER_F1, ACCURACY):
                yield from _pair("head's rate", scores, task, item, definition, "the recipe's rate")
                for head in heads:
                    rate = f"rate {head.removeprefix('language ')}"
                    yield from _pair("head's rate", scores, task, item, definition, rate, head=head)
            for definition in (PROBE_ACROSS, PROBE_WITHIN):
                yield from _pair("head's rate", scores, task, item, definition)


def _dropout(scores: pd.DataFrame, runs: Settings) -> Lines:
    """Scores of the same recipes and seeds with the frozen encoder's dropout off and on while heads are trained."""
    for task in runs:
        seeds = cells.where(scores, recipe=recipe_name(task, "frozen_dropout"))["seed"].unique()
        paired = scores[scores["seed"].isin(seeds)]
        for item in ("task", *LANGUAGE_ITEMS) if len(seeds) else ():
            for definition in (PAPER_F1, ACCURACY):
                for setting, pair in (("off", TUNED), ("on", ("frozen_dropout", "finetuned_dropout"))):
                    yield from _pair("dropout of the frozen encoder", paired, task, item, definition, setting, runs=pair)


def _adversaries(scores: pd.DataFrame, task: str, runs: Collection[str]) -> Lines:
    """Rows without (before) and with (after) each adversary: gradient reversal, equation 1, and the entropy itself."""
    plain = "no_adversary" if "no_adversary" in runs else "finetuned"
    places = [("task", TRANSFER), *product(LANGUAGE_ITEMS, (ACCURACY, PROBE_ACROSS, PROBE_WITHIN))]
    for run, name in ADVERSARIES.items():
        for item, definition in places if run in runs else ():
            yield from _pair("adversaries", scores, task, item, definition, name, runs=(plain, run))


def _objective(inputs: Inputs, task: str, weight: float) -> Lines:
    """A row with the share of the loss that comes from the weighted term of equation 1, in the last epoch of the task."""
    shares = []
    for recipe, _, path in inputs.by_seed("history"):
        if recipe == recipe_name(task, "entropy_maximisation"):
            history = pd.read_csv(verified(path))
            last = history[history["stage"] == "task"].iloc[-1]
            label = (1 - weight) * next(last[name] for name in history.columns if name.endswith("task cross_entropy"))
            entropy = weight * next(last[name] for name in history.columns if name.endswith("language uniformity"))
            share = float(entropy / (entropy + label))
            shares.append({"value": share, "n": None})
    setting = "equation 1: its share of the loss, last epoch"
    yield from _row("objective's scale", task, "loss", setting, pd.DataFrame(), pd.DataFrame(shares))
