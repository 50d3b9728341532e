"""muller2021: scores of predictions (tables 1, 2, 4 to 8, figure 3)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from crosslens.labels import ENTITIES, RELATIONS
from crosslens.measures.f1 import Counts, accuracy, chunk_counts, cut_shares, flattened, micro_f1, token_counts
from crosslens.measures.intervals import bootstrap
from crosslens.measures.trees import attachment
from crosslens.recipes import ARC, TASK

OUTSIDE = ENTITIES.index("O")
MISC = [number for number, tag in enumerate(ENTITIES) if tag.endswith("-MISC")]
Definitions = dict[str, tuple[Counts, Callable[[Counts], np.ndarray]]]


def prediction_records(
    predictions: Path, tokens: Mapping[str, Path], task: str, labels: Sequence[str], *, resamples: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Scores of a training on each corpus, split and language, with intervals over sentences.

    tokens: corpus -> its folder of tokens, where the parser's words have their UPOS.
    """
    table = pq.read_table(predictions).to_pandas()
    for (corpus, split, language), part in table.groupby(["corpus", "split", "language"], sort=False):
        found = part[part["head"] == TASK]
        if task == "parsing":
            upos = pq.read_table(tokens[corpus] / f"{language}.{split}.parquet", columns=["id", "labels"]).to_pandas()
            definitions = _parsing(found, part[part["head"] == ARC], upos)
        else:
            gold, predicted, sentences = flattened(found["gold"].tolist(), found["predicted"].tolist())
            definitions = (_pos if task == "pos" else _ner)(gold, predicted, sentences, len(found), labels)
        words = sum(map(len, found["gold"]))
        for definition, (share, n) in cut_shares(found["cut"].to_numpy(), found["cut_words"].to_numpy(), words).items():
            yield {"item": "score", "corpus": corpus, "split": split, "language": language, "measure": "cut",
                   "definition": definition, "value": share, "n": n}  # fmt: skip
        for definition, (counts, score) in definitions.items():
            value, low, high = bootstrap(counts, score, resamples, seed)
            yield {"item": "score", "corpus": corpus, "split": split, "language": language, "measure": "score",
                   "definition": definition, "value": value, "low": low, "high": high, "n": int(counts.true.sum())}  # fmt: skip


def _parsing(relations: pd.DataFrame, heads: pd.DataFrame, upos: pd.DataFrame) -> Definitions:
    if not relations["id"].tolist() == heads["id"].tolist() == upos["id"].tolist():
        raise ValueError("predictions and tokens of other sentences: build the predictions again")
    names = [*RELATIONS, ""]  # -1, and what has no label, is the last
    given: tuple[Any, ...] = (
        heads["gold"].tolist(),
        [[names[max(each, -1)] for each in of] for of in relations["gold"]],
        heads["predicted"].tolist(),
        [[names[max(each, -1)] for each in of] for of in relations["predicted"]],
        upos["labels"].tolist(),
    )
    whole, without = attachment(*given), attachment(*given, without=("PUNCT", "SYM"))  # the latter as wu2019 counts
    counted = {"LAS": whole["las"], "UAS": whole["uas"], "LAS without punctuation": without["las"]}
    return {name: (counts, accuracy) for name, counts in counted.items()}


def _pos(gold: np.ndarray, predicted: np.ndarray, sentences: np.ndarray, n: int, labels: Sequence[str]) -> Definitions:
    return {"accuracy": (token_counts(gold, predicted, sentences, n, len(labels)), accuracy)}


def _ner(gold: np.ndarray, predicted: np.ndarray, sentences: np.ndarray, n: int, labels: Sequence[str]) -> Definitions:
    """F1 of spans: as conlleval and seqeval's default find them; strict, where a span opens with B- alone.

    A gold MISC can only be missed by a model whose training data have none; with MISC as O it is not asked for.
    """
    tags = {"F1": (gold, predicted), "F1 strict": (strict(gold, sentences, labels), strict(predicted, sentences, labels))}
    if np.isin(gold, MISC).any():
        tags["F1, MISC as O"] = tuple(np.where(np.isin(of, MISC), OUTSIDE, of) for of in (gold, predicted))  # type: ignore[assignment]
    return {name: (chunk_counts(*pair, sentences, n, labels), micro_f1) for name, pair in tags.items()}


def strict(tags: np.ndarray, sentences: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """Tags whose I- do not continue a span of their type made O: what seqeval reads in strict mode under IOB2."""
    found = tags.copy()
    before, sentence = "O", -1
    for place, (number, row) in enumerate(zip(tags.tolist(), sentences.tolist(), strict=True)):
        tag = labels[number]
        if row != sentence:
            before, sentence = "O", row
        if tag.startswith("I-") and before[2:] != tag[2:]:
            tag, found[place] = "O", OUTSIDE
        before = tag
    return found
