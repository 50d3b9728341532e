"""Attachment scores of parsers: LAS and UAS, with and without punctuation."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pandas as pd

from crosslens.encoding.relations import relations_of
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError
from crosslens.measures.shared.subject import Subject
from crosslens.measures.shared.unseen import score_records, unseen
from crosslens.numerics.definitions import (
    LAS,
    LAS_SEEN,
    LAS_WITH_SUBTYPES,
    LAS_WITHOUT_PUNCTUATION,
    LAS_WITHOUT_ROOTS,
    UAS,
    UAS_WITHOUT_PUNCTUATION,
    UNSEEN_RELATIONS,
)
from crosslens.numerics.f1 import Counts, accuracy, cut_shares
from crosslens.numerics.trees import attachment

NOT_COUNTED = ("PUNCT", "SYM")  # UPOS tags that scores without punctuation leave out, as in wu2019
UNSEEN = "unseen in training"  # replaces gold relations that the training data lack, so that no prediction matches them


def measure(
    subject: Subject, *, head: str, arcs: str, relations: Sequence[str], training: Sequence[tuple[str, str, str]] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the scores on each corpus, split and language, with intervals over sentences.

    Each word's UPOS and gold relation are read from the tokens. Raises DataError if the predictions are of other sentences.

    head, arcs: names under which predictions of relations and of syntactic heads are stored. relations: names of the classes;
    empty if the classes are the relations of the training data, with subtypes. training: corpus, language and split of each
    file of training data, from which unseen relations and unseen texts are found; if empty, scores that need them are left out.
    """
    training_relations = relations_of(
        subject.tokens[corpus] / f"{language}.{split}.parquet" for corpus, language, split in training
    )
    table = parquet.read(subject.folder / "predictions.parquet").to_pandas()
    for (corpus, split, language), part in table.groupby(["corpus", "split", "language"], sort=False):
        place = {"item": head, "corpus": corpus, "split": split, "language": language}
        labelled = part[part["head"] == head]
        file = subject.tokens[corpus] / f"{language}.{split}.parquet"
        words = parquet.read(file, columns=["id", "labels", "relations"]).to_pandas()
        lost = cut_shares(labelled["cut"].to_numpy(), labelled["cut_words"].to_numpy(), sum(map(len, labelled["gold"])))
        for definition, (share, n) in lost.items():
            yield place | {"measure": "cut", "definition": definition, "value": share, "n": n}
        if not labelled["id"].tolist() == part[part["head"] == arcs]["id"].tolist() == words["id"].tolist():
            predictions = subject.folder / "predictions.parquet"
            raise DataError(f"{predictions}: expected the sentences of {file}, found others: train the recipe again")
        if training_relations:
            is_unseen = ~words["relations"].explode().dropna().isin(training_relations)
            yield place | {
                "measure": "unseen",
                "definition": UNSEEN_RELATIONS,
                "value": float(is_unseen.mean()),
                "n": len(is_unseen),
            }
        counts = _counts(labelled, part[part["head"] == arcs], words, relations, training_relations)
        yield from score_records(place, counts, accuracy, unseen(subject, labelled, training))


def _counts(
    labelled: pd.DataFrame, arcs: pd.DataFrame, words: pd.DataFrame, relations: Sequence[str], training_relations: Collection[str]
) -> dict[str, Counts]:
    names = [*(relations or training_relations), ""]  # the last one, at index -1, means no label
    gold = words["relations"].tolist()
    predicted = [[names[max(number, -1)] for number in sentence] for sentence in labelled["predicted"]]
    upos = words["labels"].tolist()

    def counts(gold: Sequence[Sequence[str]], **options: Any) -> dict[str, Counts]:
        return attachment(arcs["gold"].tolist(), gold, arcs["predicted"].tolist(), predicted, upos, **options)

    whole, without = counts(gold), counts(gold, without=NOT_COUNTED)
    by_definition = {
        LAS: whole["las"], UAS: whole["uas"], LAS_WITHOUT_PUNCTUATION: without["las"], UAS_WITHOUT_PUNCTUATION: without["uas"],
        LAS_WITHOUT_ROOTS: counts(gold, without=NOT_COUNTED, roots=False)["las"],
    }  # fmt: skip
    if not relations:
        by_definition[LAS_WITH_SUBTYPES] = counts(gold, subtypes=True)["las"]
    elif training_relations:
        by_definition[LAS_SEEN] = counts(
            [[name if name in training_relations else UNSEEN for name in sentence] for sentence in gold]
        )["las"]
    return by_definition
