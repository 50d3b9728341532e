"""Prompts as the archives of MultiNLI 1.0 and XNLI 1.0.

Formats: MultiNLI, https://cims.nyu.edu/~sbowman/multinli (JSON lines); XNLI, https://github.com/facebookresearch/XNLI
(19 columns separated by tabs, no quoting). Parses are empty.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence

from crosslens.phrasebook.generate import joined
from crosslens.phrasebook.grammar import Grammar
from crosslens.phrasebook.inference import Prompt
from crosslens.phrasebook.realise import Meaning, realise

XNLI_LANGUAGES = ("ar", "bg", "de", "el", "en", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh")
XNLI_COLUMNS = (
    "language gold_label sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse sentence1 sentence2 "
    "promptID pairID genre label1 label2 label3 label4 label5 sentence1_tokenized sentence2_tokenized match"
).split()
GENRE = "phrasebook"
ANNOTATORS = 5


def multinli(english: Grammar, train: Sequence[Prompt], dev: Sequence[Prompt]) -> bytes:
    """multinli_1.0.zip with the members train and dev_matched; one annotator in train, five in dev, as published."""
    members = {"train": _multinli_lines(english, train, 1), "dev_matched": _multinli_lines(english, dev, ANNOTATORS)}
    return _archive({f"multinli_1.0/multinli_1.0_{name}.jsonl": lines for name, lines in members.items()})


def xnli(grammars: Iterable[Grammar], dev: Sequence[Prompt], test: Sequence[Prompt]) -> bytes:
    """XNLI-1.0.zip with dev and test in those of the languages that XNLI has, one after the other in alphabetical order."""
    known = sorted((each for each in grammars if each.language.code in XNLI_LANGUAGES), key=lambda each: each.language.code)
    members = {"dev": _xnli_lines(known, dev), "test": _xnli_lines(known, test)}
    return _archive({f"XNLI-1.0/xnli.{name}.tsv": lines for name, lines in members.items()})


def _pairs(prompts: Sequence[Prompt]) -> Iterator[tuple[int, int, str, tuple[Meaning, ...], Meaning]]:
    """(number of the prompt, number of the pair, label, premise, hypothesis), counted from 1."""
    pair = 0
    for number, prompt in enumerate(prompts, start=1):
        for label, hypothesis in prompt.hypotheses:
            pair += 1
            yield number, pair, label, prompt.premise, hypothesis


def _texts(grammar: Grammar, meanings: Sequence[Meaning]) -> tuple[str, str]:
    """The sentences as they are written, and their tokens set apart by spaces."""
    sentences = [realise(grammar, meaning) for meaning in meanings]
    tokens = " ".join(token.form for sentence in sentences for token in sentence.tokens)
    return joined(sentences, grammar.language.spaces), tokens


def _multinli_lines(english: Grammar, prompts: Sequence[Prompt], annotators: int) -> Iterator[str]:
    parses = {f"sentence{number}_{parse}": "" for number in (1, 2) for parse in ("binary_parse", "parse")}
    for prompt, _, label, premise, hypothesis in _pairs(prompts):
        line = {
            "annotator_labels": [label] * annotators,
            "genre": GENRE,
            "gold_label": label,
            "pairID": f"{prompt}{label[0]}",
            "promptID": str(prompt),
            "sentence1": _texts(english, premise)[0],
            "sentence2": _texts(english, [hypothesis])[0],
        }
        yield json.dumps(line | parses, ensure_ascii=False, sort_keys=True)


def _xnli_lines(grammars: Sequence[Grammar], prompts: Sequence[Prompt]) -> Iterator[str]:
    yield "\t".join(XNLI_COLUMNS)
    for grammar in grammars:
        for prompt, pair, label, premise, hypothesis in _pairs(prompts):
            (one, tokens), (other, other_tokens) = _texts(grammar, premise), _texts(grammar, [hypothesis])
            cells = [grammar.language.code, label, "", "", "", "", one, other, str(prompt), str(pair), GENRE]
            yield "\t".join([*cells, *[label] * ANNOTATORS, tokens, other_tokens, "True"])


def _archive(members: dict[str, Iterator[str]]) -> bytes:
    """A zip of the members, always the same bytes: a fixed date, and no compression, which depends on zlib's version."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, lines in members.items():
            info = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, "".join(line + "\n" for line in lines).encode())
    return stream.getvalue()
