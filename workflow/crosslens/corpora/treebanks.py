"""Reader of Universal Dependencies treebanks: sentences as rows, rules for dropping them, their words and their documents."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from crosslens.corpora.conllu import UNTAGGED, Sentence, read_treebank
from crosslens.corpora.lines import refuse
from crosslens.corpora.schema import SENTENCES
from crosslens.jobs.errors import DataError, shown

SCHEMA = SENTENCES


def withheld(sentence: Sentence) -> bool:
    """Whether words of a sentence are withheld (`_`), as in treebanks whose text may not be distributed.

    Words of a multiword token with a surface form (all of UD_Marathi-UFAL) do not count, nor does an underscore that is tagged
    as punctuation or a symbol.
    """
    if UNTAGGED not in sentence.forms:
        return False
    covered = {word for first, last, form in sentence.multiwords if form != "_" for word in range(first, last + 1)}
    return any(
        form == "_" and upos not in ("PUNCT", "SYM") and word not in covered
        for word, (form, upos) in enumerate(zip(sentence.forms, sentence.upos, strict=True), start=1)
    )


def reason_to_drop(sentence: Sentence, rule: Literal["paper", "clean", "xtreme"]) -> str | None:
    """Reason to drop a sentence under a rule: 'withheld' or 'untagged'; None if it is kept.

    paper: dropped if all forms are `_` and no UPOS is, so that untagged words survive with the label `_` (tanti2021, the
    authors' udpos/preprocess.py 77-81, in which `or` is likely meant as `and not`).
    xtreme: dropped if it has a form `_` and at most one other form (XTREME, utils_preprocess.py, udpos_preprocess).
    clean: dropped if the text of any word is withheld or any word is untagged.
    """
    hidden = sentence.forms.count("_")
    if rule == "paper":
        return "withheld" if hidden == len(sentence.forms) and UNTAGGED not in sentence.upos else None
    if rule == "xtreme":
        return "withheld" if hidden and hidden >= len(sentence.forms) - 1 else None
    if withheld(sentence):
        return "withheld"
    return "untagged" if UNTAGGED in sentence.upos else None


# Source: XTREME, third_party/ud-conversion-tools/conllu_to_conll.py. It fails on tags that its lists lack; here they come last.
PRECEDENCE = {
    "es": "VERB AUX PRON ADP DET".split(),
    "fr": "VERB AUX PRON NOUN ADJ ADV ADP DET PART SCONJ CCONJ".split(),
    "it": "VERB AUX ADV PRON ADP DET INTJ".split(),
}
OTHERS_PRECEDENCE = "VERB NOUN PROPN PRON ADJ NUM ADV INTJ AUX ADP DET PART CCONJ SCONJ X PUNCT".split()


def fused(sentence: Sentence, language: str) -> Sentence:
    """Sentence in the form of XTREME's UDPOS: surface words, without a tree.

    A multiword token becomes one word, with the UPOS of its part nearest to the root. Ties go to the tag that comes first in
    the language's list (Spanish, French and Italian have their own). Forms lose spaces and U+200C; a word without other
    characters is left out. Departure: XTREME also counts heads of the enhanced graph as nearer to the root.
    """
    order = PRECEDENCE.get(language, OTHERS_PRECEDENCE)
    depths = _depths(sentence.heads or [0] * len(sentence.forms))

    def rank(word: int) -> tuple[int, int]:
        tag = sentence.upos[word - 1]
        return depths[word - 1], order.index(tag) if tag in order else len(order)

    ranges = {first: (last, form) for first, last, form in sentence.multiwords}
    forms: list[str] = []
    upos: list[str] = []
    word = 1
    while word <= len(sentence.forms):
        last, form = ranges.get(word, (word, sentence.forms[word - 1]))
        form = form.replace("\u200c", "").replace(" ", "")
        if form:
            forms.append(form)
            upos.append(sentence.upos[min(range(word, last + 1), key=rank) - 1])
        word = last + 1
    return replace(sentence, forms=forms, upos=upos, heads=[], relations=[], multiwords=[])


def _depths(heads: Sequence[int]) -> list[int]:
    """Number of arcs between each word and the root, (n_words,). heads: a tree, 1-based."""
    depths = [0] * (len(heads) + 1)
    for word in range(1, len(heads) + 1):
        path: list[int] = []  # each arc is followed once, so that time stays linear even if the tree is a chain
        while word and not depths[word]:
            path.append(word)
            word = heads[word - 1]
        for step in reversed(path):
            depths[step] = depths[heads[step - 1]] + 1
    return depths[1:]


def read(
    paths: Sequence[Path],
    language: str,
    *,
    withheld: Literal["paper", "clean", "xtreme"] = "clean",
    words: Literal["syntactic", "fused"] = "syntactic",
    parallel: bool = False,
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Rows of the sentences in some files, in order, and counts of dropped sentences by reason and of `other_text`.

    `other_text` counts sentences whose text differs from their words. withheld: rule of `reason_to_drop`. words: `fused` merges
    multiword tokens (see `fused`).
    A row's id is TREEBANK/SENT_ID. parallel: the id is instead the one that translations share, and rows are sorted by it. It
    is the sent_id without the treebank's name (9 for en_partut-ud-9), or the `orig_file_sentence` of UD_Polish-PUD.
    Raises DataError if a file is not CoNLL-U, a parallel treebank has an id twice, two files have the same sentence under the
    same sent_id, or a multiword token to be fused has no tree.
    """
    rows: list[dict[str, Any]] = []
    forms_by_id: dict[str, list[str]] = {}
    counts = {"withheld": 0, "untagged": 0, "other_text": 0}
    for path in paths:
        treebank = path.name.split(".")[0].split("-ud-")[0]
        for number, sentence in enumerate(read_treebank(path), start=1):
            if words == "fused":
                if sentence.multiwords and not sentence.heads:
                    refuse(
                        path,
                        sentence.line,
                        "no tree",
                        "a tree, since the tag of a fused word is that of the part nearest the root",
                    )
                sentence = fused(sentence, language)
            reason = reason_to_drop(sentence, withheld)
            if reason:
                counts[reason] += 1
                continue
            counts["other_text"] += not sentence.text_fits
            id = _shared_id(sentence) if parallel else f"{treebank}/{sentence.id}"
            # Files of a treebank may all count from 1: an id that is the sentence's number in its file identifies nothing.
            has_name = parallel or sentence.id != str(number)
            if has_name and id in forms_by_id and (parallel or forms_by_id[id] == sentence.forms):
                raise DataError(
                    f"{path}:{sentence.line}: expected each sentence once, found {shown(id)} a second time among "
                    f"{', '.join(map(str, paths))}; name each treebank once"
                )
            if has_name:
                forms_by_id[id] = sentence.forms
            rows.append(_row(id, sentence, language))
    return sorted(rows, key=lambda row: str(row["id"])) if parallel else rows, counts


def _shared_id(sentence: Sentence) -> str:
    """The id that a sentence shares with its translations."""
    return sentence.original.partition("#")[0] or re.sub(r"^[a-z]+_[a-z]+-ud-", "", sentence.id)


def _row(id: str, sentence: Sentence, language: str) -> dict[str, Any]:
    """One row of SENTENCES."""
    return {
        "id": id,
        "language": language,
        "text": sentence.text,
        "forms": sentence.forms,
        "upos": sentence.upos,
        "heads": sentence.heads,
        "relations": sentence.relations,
        "multiwords": [multiword._asdict() for multiword in sentence.multiwords],
        "entities": [],
    }


PUD = re.compile(r"([nw]\d{5})\d{3}")  # n01001011: document n01001
SPLIT_WORD = re.compile(r"(^|[-_:])(train|dev|test)([-_]|$)")
NUMBERS = re.compile(r"(?:\d+\.(?:[ps]\.)?)+(?=.)|\d+[sp]?[-_:#](?=.)")  # matched against the reversed id, in linear time


def document(id: str) -> str:
    """Document of a sentence according to its id in a treebank: the id without its trailing number.

    If the id names no document (test-s4, mst-0008), the document is the id itself. An id names one only if the rest contains a
    digit and no split's name.
    """
    match = PUD.fullmatch(id)
    if match:
        return match[1]
    number = NUMBERS.match(id[::-1])
    base = number and id[: -number.end()]
    return id if not base or SPLIT_WORD.search(base) or not re.search(r"\d", base) else base
