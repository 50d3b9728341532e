"""Settings of papers that do not fit their study or each other: each is told in one line."""

from copy import deepcopy

import pytest
from crosslens.jobs.errors import DataError
from crosslens.papers.configuration import load

WRONG = [  # key of a paper, its value, and a part of the message, or several with ... between them
    ("liang2021.sources", [["de"]], "sources: expected [en] first, on which tables 2 and 4 and figure 4 are based, found ['de']"),
    ("liang2021.sources", [["en"], ["en", "fr"]],
     "papers.liang2021.tasks.pos: corpora.udpos_xtreme has no training data for fr"),
    ("liang2021.models", {"ldar": {"weight": 1}},
     "models: expected 'mbert', with which the others are compared, found none: add it"),
    ("liang2021.texts", {"xlmr": "cc100"}, "texts: expected a corpus for the paper's encoder, mbert, found none: add it"),
    ("liang2021.probe_words", 900,
     "papers.liang2021: probing.typology.words: expected at most 900, as probe_words has it, found 1000"),
    ("liang2021.removal", {"first": [50, 100]},
     "removal: first: expected 0 among the numbers, with which the others are compared"),
    ("liang2021.probing", {"bands": [5, 10, 20]},
     "probing: bands: expected windows of 10 to end at 10 or later, found 5: remove it"),
    ("liang2021.probing", {"groups": {"languages": {"some": ["en", "xx"]}}},
     "groups.languages.some: corpora.wikipedia_mbert lacks xx"),
    ("liang2021.text_tokenisation", "whole",
     "papers.liang2021.text_tokenisation: expected a tokenisation with labelled_subword: every, found first"),
    ("muller2021.encoder", "mbret", "bert-blank, static-blank, xlmr, found 'mbret'; did you mean 'mbert'?"),
    ("muller2021.parallel", "wikiann", "parallel: expected a corpus of kind 'treebank', found 'wikiann'"),
    ("muller2021.source_languages", ["en", "fr"],
     "muller2021.tasks.parsing: corpora.muller2021_ud has no training data for fr"),
    ("muller2021.source_languages", ["ru", "en"],
     "source_languages: expected 'en' first, since tables 2, 4 and 5 and CKA are based on it"),
    ("muller2021.pairs", [[1, 2], [2, 1]],
     "pairs, sets: expected layer numbers in ascending order, each set once in both lists"),
    ("wu2019.overlap.encoder", "mbret",
     "overlap.encoder: expected one of mbert, mbert-vocabulary, bert-blank, static-blank, xlmr, found 'mbret'"),
    ("wu2019.overlap.tokenisation", "windows",
     "without windows and with labelled_subword: first or first_visible, found 'windows' with windows: 64"),
    ("wu2019.overlap.tokenisation", "subwords", "found 'subwords' with windows: None, labelled_subword: every"),
    ("wu2019.overlap.typology", "pud",
     "overlap.typology: expected a corpus of kind 'typology', found 'pud' of kind 'treebank'"),
    ("wu2019.overlap.corpora", {"pos": ["pud"]},
     "overlap.corpora.pos: no corpus of pud has training data for en: add files"),
    ("wu2019.tasks.pos.corpora", ["conll2003"], "tasks.pos.corpora: expected a corpus of kind 'treebank'"),
    ("wu2019.tasks.ner.corpora", ["conll2002"], "tasks.ner: no corpus of conll2002 has training data for en"),
    ("wu2019.tasks.topic.corpora", ["mldoc", "sib200"], "topic.corpora: expected corpora with the same topics"),
    ("wu2019.identification", {"corpus": "mldoc2"},
     "identification.corpus: expected one of ... found 'mldoc2'; did you mean 'mldoc'"),
    ("wu2019.frozen", [13], "frozen: expected numbers up to 12, which encoders.mbert has, found 13"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "message"), WRONG)
def test_a_wrong_setting_is_told_in_one_line(values, key, value, message):
    changed = deepcopy(values)
    *parents, last = key.split(".")
    section = changed["papers"]
    for parent in parents:
        section = section[parent]
    section[last] = value
    with pytest.raises(DataError, match=r"^config.yaml: ") as caught:
        load(changed)
    assert all(part in str(caught.value) for part in message.split(" ... ")) and "\n" not in str(caught.value)
