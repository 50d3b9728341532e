"""tanti2021: scores of predictions under every definition (tables 1, 2 and 5, footnote 6)."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from crosslens.measures.f1 import (
    CUT_TEXTS,
    Counts,
    accuracy,
    chunk_counts,
    cut_shares,
    flattened,
    macro_f1,
    micro_f1,
    token_counts,
    true_share,
)
from crosslens.measures.intervals import bootstrap
from crosslens.papers.tanti2021.items import (
    ACCURACY,
    ADVERSARY,
    ADVERSARY_BEST,
    ADVERSARY_END,
    ADVERSARY_START,
    CEILING,
    MACRO_F1,
    MICRO_F1,
    PAPER,
    TRANSFER,
)
from crosslens.recipes import LANGUAGE, TASK, Recipe


def prediction_records(
    path: Path, recipe: Recipe, *, target: str, source_language: str, resamples: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Scores of a training's predictions under every definition, over all languages and for each.

    target: the task's corpus; source_language: the one that the mean over the other languages leaves out.
    """
    table = pq.read_table(path).to_pandas()
    for (head, corpus, split), part in table.groupby(["head", "corpus", "split"], sort=False):
        item = TASK if head == TASK else f"{head}, {'target' if corpus == target else 'wiki'}"
        gold, predicted, sentences = flattened(part["gold"].tolist(), part["predicted"].tolist())
        labels = recipe.heads[head].labels
        tokens = token_counts(gold, predicted, sentences, len(part), len(labels))
        common = {"item": item, "corpus": corpus, "split": split}
        definitions: list[tuple[str, Counts, Callable[[Counts], np.ndarray]]] = []
        if recipe.reading.unit == "word":
            chunks = chunk_counts(gold, predicted, sentences, len(part), labels)
            definitions.append((PAPER, chunks, partial(macro_f1, classes="union")))
            if head == TASK:
                definitions.append((MICRO_F1, chunks, micro_f1))
        else:
            definitions.append((PAPER, tokens, partial(macro_f1, classes="union")))
            if head != TASK:
                definitions.append((CEILING, tokens, true_share))
        definitions += [(MACRO_F1, tokens, partial(macro_f1, classes="true")), (ACCURACY, tokens, accuracy)]
        languages = part["language"].to_numpy()
        for language in ["all", *dict.fromkeys(languages)]:
            chosen = np.ones(len(part), bool) if language == "all" else languages == language
            for definition, counts, score in definitions:
                if not chosen.any():
                    continue
                value, low, high = bootstrap(_rows(counts, chosen), score, resamples, seed)
                yield common | {"language": language, "measure": "score", "definition": definition, "value": value,
                                "low": low, "high": high, "n": int(tokens.true[chosen].sum())}  # fmt: skip
        if head in (TASK, LANGUAGE):
            shares = cut_shares(part["cut"].to_numpy(), part["cut_words"].to_numpy(), len(gold))
            for definition, (value, n) in shares.items():
                if definition == CUT_TEXTS or recipe.reading.unit == "word":
                    yield common | {"language": "all", "measure": "score", "definition": definition, "value": value, "n": n}
        if head == TASK:
            others = np.array([language for language in dict.fromkeys(languages) if language != source_language])
            by_language = _by_language(tokens, languages, others)
            value, low, high = by_language_interval(by_language, resamples, seed)
            yield common | {"language": "all", "measure": "score", "definition": TRANSFER, "value": value, "low": low,
                            "high": high, "n": int(tokens.true[languages != source_language].sum())}  # fmt: skip


def adversary_records(history: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """How well the head inside an adversarial training identified the languages of held-out paragraphs; nothing for others.

    history: rows of history.csv. An adversary near chance shows nothing about the encoder that it was trained against.
    """
    names = [name for name in history.columns if name.startswith(f"accuracy {LANGUAGE}")]
    task = history[history["stage"] == "task"].dropna(subset=f"accuracy {LANGUAGE}") if names else history[:0]
    if not len(task):
        return
    alone = f"accuracy {LANGUAGE}, after phase 1"  # of entropy maximisation, where the head learns first in each epoch
    before = max(task[f"accuracy {LANGUAGE}"].iloc[0], task[alone].dropna().iloc[0] if alone in task else 0.0)
    training = history[history["stage"].isin(["adversary", "task"])]
    for definition, value in (
        (ADVERSARY_START, before),
        (ADVERSARY_END, task[f"accuracy {LANGUAGE}"].iloc[-1]),
        (ADVERSARY_BEST, np.nanmax(training[names].to_numpy())),
    ):
        yield {"item": ADVERSARY, "language": "all", "split": "validation", "measure": "adversary", "definition": definition,
               "value": float(value), "n": int(task[f"n {LANGUAGE}"].iloc[0])}  # fmt: skip


def _rows(counts: Counts, chosen: np.ndarray) -> Counts:
    return Counts(counts.true[chosen], counts.predicted[chosen], counts.correct[chosen])


def _by_language(tokens: Counts, languages: np.ndarray, of: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each language, correct and all tokens of each sentence."""
    correct, true = tokens.correct.sum(1), tokens.true.sum(1)
    return [(correct[languages == language], true[languages == language]) for language in of]


def by_language_interval(
    sentences: Sequence[tuple[np.ndarray, np.ndarray]], resamples: int, seed: int
) -> tuple[float, float, float]:
    """Mean over languages of token accuracy, with sentences resampled within each language."""
    generator = np.random.default_rng(seed)
    value, samples = 0.0, np.zeros(resamples)
    for correct, true in sentences:
        weights = generator.multinomial(len(true), np.full(len(true), 1 / len(true)), size=resamples)
        samples += (weights @ correct) / np.maximum(weights @ true, 1) / len(sentences)
        value += correct.sum() / max(true.sum(), 1) / len(sentences)
    low, high = np.percentile(samples, [2.5, 97.5])
    return float(value), float(low), float(high)
