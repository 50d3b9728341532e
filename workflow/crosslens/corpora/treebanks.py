"""Sentences of Universal Dependencies treebanks as rows: rules for dropping them, their words, and their documents."""

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
    """Whether words are hidden (`_`), as in treebanks whose text may not be given away.

    Not hidden are the parts of a multiword token, whose surface form is given (all of UD_Marathi-UFAL), and an
    underscore that is punctuation or a symbol.
    """
    if UNTAGGED not in sentence.forms:
        return False
    covered = {word for first, last, form in sentence.multiwords if form != "_" for word in range(first, last + 1)}
    return any(
        form == "_" and upos not in ("PUNCT", "SYM") and word not in covered
        for word, (form, upos) in enumerate(zip(sentence.forms, sentence.upos, strict=True), start=1)
    )


def reason_to_drop(sentence: Sentence, rule: Literal["paper", "clean", "xtreme"]) -> str | None:
    """Reason for which a sentence is dropped: 'withheld', 'untagged' or None.

    paper: dropped where all forms are `_` and no UPOS is, so that untagged words survive with the label `_` (tanti2021, the
    authors' udpos/preprocess.py 77-81, where `or` is likely meant as `and not`).
    xtreme: dropped where at most one form is not `_` (XTREME, utils_preprocess.py, udpos_preprocess).
    clean: dropped where any word's text is withheld or any word is untagged.
    """
    hidden = sentence.forms.count("_")
    if rule == "paper":
        return "withheld" if hidden == len(sentence.forms) and UNTAGGED not in sentence.upos else None
    if rule == "xtreme":
        return "withheld" if hidden and hidden >= len(sentence.forms) - 1 else None
    if withheld(sentence):
        return "withheld"
    return "untagged" if UNTAGGED in sentence.upos else None


# XTREME, third_party/ud-conversion-tools/conllu_to_conll.py, which fails on tags that its lists lack; here they come last.
PRECEDENCE = {
    "es": "VERB AUX PRON ADP DET".split(),
    "fr": "VERB AUX PRON NOUN ADJ ADV ADP DET PART SCONJ CCONJ".split(),
    "it": "VERB AUX ADV PRON ADP DET INTJ".split(),
}
OTHERS_PRECEDENCE = "VERB NOUN PROPN PRON ADJ NUM ADV INTJ AUX ADP DET PART CCONJ SCONJ X PUNCT".split()


def fused(sentence: Sentence, language: str) -> Sentence:
    """The sentence as XTREME's UDPOS has it: its surface words, without a tree.

    A multiword token is one word. Its UPOS is that of its part nearest to the root; of several as near, that of the first tag in
    a list of the language (Spanish, French and Italian have their own). Forms lose spaces and U+200C; a word of nothing
    else is left out. Departure: XTREME also counts heads of the enhanced graph as nearer to the root.
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
        path: list[int] = []  # each arc is walked once, so that a chain takes no longer than a bush
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
    """Rows of the sentences of some files, in order, and counts: of dropped sentences by reason, and of `other_text`, sentences
    whose text is not that of their words.

    withheld: see `reason_to_drop`; words: fused, see `fused`.
    A row's id is TREEBANK/SENT_ID. parallel: it is the id that translations share, the sent_id without the treebank's name
    (en_partut-ud-9: 9) or what UD_Polish-PUD gives in its place, and the rows are sorted by it.
    Raises DataError where a file is not CoNLL-U, an id of a parallel treebank comes twice, or a sentence with its sent_id
    in two files.
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
            # Files of a treebank may number alike. A number without a sent_id, or equal to it, is that of a place, not a name.
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
NUMBERS = re.compile(
    r"(?:\d+\.(?:[ps]\.)?)+(?=.)|\d+[sp]?[-_:#](?=.)"
)  # at an id's end, backwards: from there they are read once


def document(id: str) -> str:
    """The document of a sentence by its id in a treebank: the id without its trailing number.

    Where an id has no document in it (test-s4, mst-0008), the document is the id itself: what is left without the number
    must keep a number that can be a document's.
    """
    match = PUD.fullmatch(id)
    if match:
        return match[1]
    number = NUMBERS.match(id[::-1])
    base = number and id[: -number.end()]
    return id if not base or SPLIT_WORD.search(base) or not re.search(r"\d", base) else base
