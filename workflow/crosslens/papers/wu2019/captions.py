"""wu2019: captions of pages and the report, below an item's title. Names are explained in resources/terms.yaml."""

from collections.abc import Iterable

from crosslens.papers.wording import by_seeds, interval

BELOW = "Below a value: its 95 % interval, {interval}; and n, the number of units on which it is based."
SCORED = f"""In percent. Zero-shot transfer: trained and selected on English alone, tested in every language; in-language rows
are trained and selected in each language. The English cell of both is the same training. Rows of the literature are cited. Means
are over the configured ones of the languages that the printed mean is over. {BELOW}"""
OF_ITEMS: dict[str, str] = {
    "table1": """1 where a task has a test set in a language, 0 where it has none; below it the paper's, by the languages of
tables 2 to 6.""",
    "table2": SCORED,
    "table3": f"{SCORED} Pseudo supervision: trained on MultiNLI translated into the language.",
    "table4": f"""{SCORED} Entities are found in whole sentences; F1 by window is the released code's score, in each window of a
long sentence by itself. The Chinese data have no MISC: one that a model trained on English predicts is an error, unless it is
read as O.""",
    "table5": SCORED,
    "table6": f"""UAS and LAS without punctuation and symbols, as in the paper. S: trained in each language; Z: on English;
Z+POS: with gold tags as input. Distance and baseline are cited. {BELOW}

How to read it: the released parser masks the root, so that root words are never right. The printed differences between UAS and
LAS fit this: in English 10.2 points, and about nine of a hundred scored words are roots. Ours finds roots; that with the
released root stands beside it, and LAS without root words compares the two.""",
    "figure1": """Scores of zero-shot transfer from English with the lowest blocks frozen (Lay n: embeddings and n blocks), and
from features of all layers with a frozen encoder (Feat). Colours: difference from full fine-tuning; bold where above it;
triangles where beyond the scale.

How to read it: most printed gains are of about one point, from one seed. Compare ours with their {spread} in the table of the
cells, whose remarks say which scores lie at an end of their scale, where differences mean little.""",
    "figure1_cells": f"""The numbers of figure 1, and their differences from full fine-tuning, paired by seed; published
differences are those of two printed cells. {BELOW}""",
    "figure2": """Share of texts whose language is named by a linear classifier on the mean of a text's states at each layer. The
encoder is frozen; the dashed line is of one with random weights.

How to read it: a high curve means that a layer keeps the language; where random weights do as well, spelling is enough.""",
    "search": "Scores on the English development set of each training of the grid, the best of each task first.",
    "overlap": """Of each task and language: the share, in percent, of the test set's subwords that occur in the task's English
training data too, by type and by token; fertility; and, below a value, n, the number of types, subwords or words that it is a
share of or rests on (of typological distance, of features). Texts are read whole, up to 512 subwords, without special subwords.

Below the languages: correlation over languages of overlap with the scores of zero-shot transfer that the paper prints for mBERT
(tables 2 to 6), with the 95 % bootstrap interval over languages, and n languages. They are mBERT's scores, whichever encoder's
subwords are compared.

How to read it: overlap goes with script and family, and so do scores. A plain correlation therefore does not show that overlap
helps; what is left of it given family and script may still stand for other similarities. With fewer than ten languages, and of
named entities there are four, any value is fragile.""",
    "figure3": """Zero-shot scores of our trainings on English against the overlap of subwords between the English training data
and each test set: above by type, below by token. Each point is a language{mean}. r is Pearson's correlation
without English, which the second number includes.

How to read it: languages in other scripts stand apart from those in Latin script, so that two groups can make a correlation;
look at each by itself. The table of the overlap has partial correlations.""",
}


def caption(name: str, seeds: Iterable[int]) -> str:
    """The caption of an item. seeds: numbers of seeds that its values rest on."""
    numbers = {*seeds}
    text = OF_ITEMS[name].format(
        interval=interval(numbers),
        spread=by_seeds(numbers, "spread over {} seeds", "intervals, the jackknife over texts,"),
        mean=by_seeds(numbers, ", with the mean over {} seeds", ", with the score of one seed"),
    )
    return f"{text}\n\nOur choices: docs/wu2019.md."
