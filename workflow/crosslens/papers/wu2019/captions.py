"""wu2019: captions of pages and the report, below an item's title. Names are explained in resources/terms.yaml."""

SCORES = """In percent. Zero-shot transfer: trained and selected on English alone, tested in every language. In-language rows
are trained and selected in each language; of natural language inference on a machine translation of the English training data. The
English cell of all sections is the same training. Rows of other papers are cited: they have no number of ours. Below a value: its
95 % interval, Student's t over the seeds or, with a single seed, a bootstrap over the sentences of a text; and n, the number of
units on which it is based."""
ENTITIES = """Entities are found in whole sentences, and beside it in each window, as the released code finds them; where the
training data have no class MISC, or the test set has none, F1 with MISC as O is the fair one."""
TREES = """Words tagged PUNCT or SYM are not counted. The printed LAS fits a parser that never finds root words, as the released
code's does; "released root" is such a parser, all others have the root as a head like any word. LAS without root words is comparable
between both."""
FROZEN = """Zero-shot scores where the embeddings and the lowest blocks are not trained, and where the encoder is not trained at
all: a scalar mix of its layers is read by an LSTM."""
OF_ITEMS = {
    "table1": "The languages that have a test set of each task: 1 here, and in the paper.",
    "table2": SCORES,
    "table3": SCORES,
    "table4": f"{SCORES}\n\n{ENTITIES}",
    "table5": SCORES,
    "table6": f"{SCORES}\n\n{TREES}",
    "figure1": f"""{FROZEN} Cells have the score, colours its difference from full fine-tuning.

How to read it: blue rows gain from keeping lower blocks as they were pretrained. A difference of a point is within the variation
between seeds.""",
    "figure1_cells": f"{FROZEN} Each cell stands beside the printed one, and its difference from full fine-tuning.",
    "figure2": """Share of texts whose language is named by a linear classifier on the mean of a text's states at each layer. The
encoder is frozen; the dotted line is of one with random weights.

How to read it: a high curve means that a layer keeps the language; where random weights do as well, spelling is enough.""",
    "figure3": """Zero-shot scores of our trainings on English against the overlap of subwords between the English training data
and each test set: above by type, below by token. Each point is a language, with the mean over seeds. r is Pearson's correlation
without English, which the second number includes.

How to read it: languages in other scripts stand apart from those in Latin script, so that two groups can make a correlation;
look at each by itself. The table of the overlap has partial correlations.""",
    "overlap": """Of each task and language: the share, in percent, of the test set's subwords that occur in the task's English
training data too, by type and by token; fertility; and, below a value, n, the number of types, subwords or words that it is a
share of or rests on (of typological distance, of features). Texts are read whole, up to 512 subwords, without special subwords.

Below the languages: correlation over languages of overlap with the scores of zero-shot transfer that the paper prints for mBERT
(tables 2 to 6), with the 95 % bootstrap interval over languages, and n languages. They are mBERT's scores, whichever encoder's
subwords are compared.

How to read it: overlap goes with script and family, and so do scores. A plain correlation therefore does not show that overlap
helps; what is left of it given family and script may still stand for other similarities. With fewer than ten languages, and of
named entities there are four, any value is fragile.""",
    "search": "Scores on the English development set of each training of the grid, the best of each task first.",
}


def caption(name: str) -> str:
    """The caption of an item."""
    return f"{OF_ITEMS[name]}\n\nOur choices: docs/wu2019.md."
