"""How often heads name the right class of a word or a text, under every definition that is asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from crosslens import parquet
from crosslens.measures.definitions import ACCURACY, CEILING, CHUNK_MACRO_F1, CHUNK_MICRO_F1, MACRO_F1, TRANSFER, UNION_F1
from crosslens.measures.f1 import (
    Counts,
    accuracy,
    chunk_counts,
    cut_shares,
    flattened,
    macro_f1,
    micro_f1,
    sentences,
    token_counts,
    true_share,
)
from crosslens.measures.given import Given
from crosslens.measures.intervals import bootstrap

READS = ("predictions",)

Score = Callable[[Counts], np.ndarray]
TOKEN_SCORES: dict[str, Score] = {
    UNION_F1: partial(macro_f1, classes="union"),
    CEILING: true_share,
    MACRO_F1: partial(macro_f1, classes="true"),
    ACCURACY: accuracy,
}
CHUNK_SCORES: dict[str, Score] = {CHUNK_MACRO_F1: partial(macro_f1, classes="union"), CHUNK_MICRO_F1: micro_f1}


def measure(
    given: Given,
    *,
    labels: Mapping[str, Sequence[str]],
    definitions: Mapping[str, Sequence[str]],
    resamples: int,
    source_language: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Scores of each head on each corpus and split, over all languages and for each, with intervals over sentences.

    labels: head -> its classes. definitions: head -> those of its scores, CUT_TEXTS and CUT_WORDS among them. source_language:
    the one that TRANSFER, the mean over languages, leaves out. Records have the head as their item.
    """
    table = parquet.read(given.folder / "predictions.parquet").to_pandas()
    for (head, corpus, split), part in table[table["head"].isin(list(labels))].groupby(["head", "corpus", "split"], sort=False):
        place = {"item": head, "corpus": corpus, "split": split}
        whole, of_rows = sentences(part["id"].tolist()), part["language"].to_numpy()
        languages = of_rows[np.unique(whole, return_index=True)[1]]
        gold, predicted, rows = flattened(part["gold"].tolist(), part["predicted"].tolist())
        tokens = token_counts(gold, predicted, whole[rows], len(languages), len(labels[head]))
        counts = dict.fromkeys(TOKEN_SCORES, tokens)
        if any(definition in CHUNK_SCORES for definition in definitions[head]):
            chunks = chunk_counts(gold, predicted, rows, len(part), labels[head])  # by window, as XTREME
            counts |= dict.fromkeys(CHUNK_SCORES, chunks.together(whole))
        scores = {name: score for name, score in (CHUNK_SCORES | TOKEN_SCORES).items() if name in definitions[head]}
        for language in ["all", *dict.fromkeys(languages)]:
            chosen = np.full(len(languages), language == "all") | (languages == language)
            n = int(tokens.true[chosen].sum())
            for definition, score in scores.items():
                value, low, high = bootstrap(_take(counts[definition], chosen), score, resamples, given.seed)
                yield place | {"language": language, "measure": "score", "definition": definition, "value": value,
                               "low": low, "high": high, "n": n}  # fmt: skip
            shown = part if language == "all" else part[of_rows == language]
            lost = cut_shares(shown["cut"].to_numpy(), shown["cut_words"].to_numpy(), n)
            for definition, (share, total) in lost.items():
                if definition in definitions[head]:
                    yield place | {"language": language, "measure": "cut", "definition": definition, "value": share,
                                   "n": total}  # fmt: skip
        if TRANSFER in definitions[head]:
            others = [language for language in dict.fromkeys(languages) if language != source_language]
            correct = [_correct(_take(tokens, languages == language)) for language in others]
            value, low, high = mean_over_languages(correct, resamples, given.seed)
            yield place | {"language": "all", "measure": "score", "definition": TRANSFER, "value": value, "low": low,
                           "high": high, "n": int(tokens.true[languages != source_language].sum())}  # fmt: skip


def mean_over_languages(
    languages: Sequence[tuple[np.ndarray, np.ndarray]], resamples: int, seed: int
) -> tuple[float, float, float]:
    """Mean over languages of accuracy, and its 95 % interval, with sentences resampled within each language.

    languages: of each, the correct and all units of its sentences, (n,) each.
    """
    generator = np.random.default_rng(seed)
    value, samples = 0.0, np.zeros(resamples)
    for correct, total in languages:
        weights = generator.multinomial(len(total), np.full(len(total), 1 / len(total)), size=resamples)
        samples += (weights @ correct) / np.maximum(weights @ total, 1) / len(languages)
        value += correct.sum() / max(total.sum(), 1) / len(languages)
    low, high = np.percentile(samples, [2.5, 97.5])
    return float(value), float(low), float(high)


def _take(counts: Counts, chosen: np.ndarray) -> Counts:
    return Counts(counts.true[chosen], counts.predicted[chosen], counts.correct[chosen])


def _correct(tokens: Counts) -> tuple[np.ndarray, np.ndarray]:
    """Correct and all units of each sentence."""
    return tokens.correct.sum(1), tokens.true.sum(1)
