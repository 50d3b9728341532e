"""NLI prompts as the archives of MultiNLI 1.0, XNLI 1.0 and XNLI-MT 1.0.

Formats: MultiNLI, https://cims.nyu.edu/~sbowman/multinli (JSON lines); XNLI, https://github.com/facebookresearch/XNLI (19
columns separated by tabs, no quoting); XNLI-MT, three columns, words separated by spaces. Parses are empty.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

from synthetic.archives import lined, zipped
from synthetic.articles import joined
from synthetic.grammar import Grammar
from synthetic.nli import Prompt
from synthetic.realise import Meaning, realise

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
    return zipped({f"multinli_1.0/multinli_1.0_{name}.jsonl": lined(lines) for name, lines in members.items()})


def xnli(grammars: Iterable[Grammar], dev: Sequence[Prompt], test: Sequence[Prompt]) -> bytes:
    """XNLI-1.0.zip with dev and test in the given languages that XNLI covers, one after the other in alphabetical order."""
    covered = _covered(grammars)
    members = {"dev": _xnli_lines(covered, dev), "test": _xnli_lines(covered, test)}
    return zipped({f"XNLI-1.0/xnli.{name}.tsv": lined(lines) for name, lines in members.items()})


def xnli_mt(grammars: Iterable[Grammar], train: Sequence[Prompt]) -> bytes:
    """XNLI-MT-1.0.zip with the prompts of MultiNLI's train in the given languages that XNLI covers, including English."""
    folder = "XNLI-MT-1.0/multinli"
    texts = {grammar.language.code: lined(_xnli_mt_lines(grammar, train)) for grammar in _covered(grammars)}
    return zipped({f"{folder}/multinli.train.{code}.tsv": text for code, text in texts.items()})


def _covered(grammars: Iterable[Grammar]) -> list[Grammar]:
    """Grammars of the languages that XNLI covers, in alphabetical order."""
    by_code = {grammar.language.code: grammar for grammar in grammars}
    return [by_code[code] for code in sorted(by_code) if code in XNLI_LANGUAGES]


def _pairs(prompts: Sequence[Prompt]) -> Iterator[tuple[int, int, str, tuple[Meaning, ...], Meaning]]:
    """Yield (number of the prompt, number of the pair, label, premise, hypothesis); both numbers count from 1."""
    pair = 0
    for number, prompt in enumerate(prompts, start=1):
        for label, hypothesis in prompt.hypotheses:
            pair += 1
            yield number, pair, label, prompt.premise, hypothesis


def _texts(grammar: Grammar, meanings: Sequence[Meaning]) -> tuple[str, str]:
    """Text of the sentences as they are written, and their tokens separated by spaces."""
    sentences = [realise(grammar, meaning) for meaning in meanings]
    tokens = " ".join(token.form for sentence in sentences for token in sentence.tokens)
    return joined(grammar, sentences), tokens


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
            (first, first_tokens), (second, second_tokens) = _texts(grammar, premise), _texts(grammar, [hypothesis])
            cells = [grammar.language.code, label, "", "", "", "", first, second, str(prompt), str(pair), GENRE]
            yield "\t".join([*cells, *[label] * ANNOTATORS, first_tokens, second_tokens, "True"])


def _xnli_mt_lines(grammar: Grammar, prompts: Sequence[Prompt]) -> Iterator[str]:
    yield "premise\thypo\tlabel"
    for _, _, label, premise, hypothesis in _pairs(prompts):
        # The published files use another word for this label only.
        published_label = "contradictory" if label == "contradiction" else label
        yield "\t".join((_texts(grammar, premise)[1], _texts(grammar, [hypothesis])[1], published_label))
