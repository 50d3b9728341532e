"""liu2020: captions of pages and the report, below an item's title. Names are explained in resources/terms.yaml."""

from collections.abc import Iterable

from crosslens.papers.liu2020.layout import OVER_PAIRS
from crosslens.papers.wording import interval

RETRIEVED = """Given an English word, the words of the other language are ranked by the cosine of their vectors: the mean
reciprocal rank of the best-ranked translation, in percent, with its 95 % interval over words. A contextual model's
vector of a word is the mean over its occurrences in running text, at the last layer; that of a word of several subwords,
their mean. All models are asked for the same words: those of the MUSE dictionary that occur in the text. The dashed line is
chance; a BERT with random weights shows what spelling alone gives. The note below the figure has what each BERT names of masked
subwords of held-out text beside the bigram, the most frequent subword after the one before.

How to read it: the paper prints no numbers. What it claims of them stands in the table of claims, and the numbers with cosine
replaced by CSLS, without words that are spelt the same in both languages, and by layer in the table of word retrieval."""
INFERRED = """Accuracy on XNLI in percent, trained on English alone, and its 95 % interval, {interval}. The paper does not say
what reads static vectors. Here the same head reads all models: of the means u and v of the two texts' vectors it is given u,
v, |u - v| and u * v, and the model stays frozen (filled marks). BERT is fine-tuned besides (hollow marks).

How to read it: compare filled marks with filled marks, and each with the same training from random weights. A third is chance.
The note below the figure has what each BERT names of masked subwords of held-out text beside the bigram, the most frequent
subword after the one before."""
NAMED = """

Masked subwords of held-out text tell what the model has learned: those that it names stand beside those that the most frequent
subword after the one before (the bigram) would name. A model that names no more than the bigram has nothing to translate with."""
WINDOWS = """ All BERTs have as many updates, each of as many subwords, whatever the window and the amount of text."""
OF_ITEMS: dict[str, str] = {
    "table1": """The subword that a masked language model finds most probable in each place of a pair of sentences, after the
difference of the mean states of two languages, times a weight, was added to the states of one layer.

How to read it: the output has as many subwords as the input. The notes below the table are the texts; beside each
stands the share of its subwords that are the other language's alone."""
    + NAMED,
    "table2": """BLEU-1 of the outputs against the parallel pairs, in points, and convert rate: of the output subwords that
are not common to both languages, the share that only the other language has. Layer and weight of the best cell are those of
the test set itself, as in the paper; beside it they are selected on the development set. Below: the same without shift, with
a random vector of the same length, and with the difference to a third language.

How to read it: subwords that both languages have, such as punctuation and names, score without any translation: compare with
the row without shift. The convert rate counts any subword of the other language, right or wrong."""
    + NAMED,
    "table3": """Number of different subwords in the premises and hypotheses of XNLI's test set, and how many of them English
has too. The printed numbers count [UNK] as one of them. No model is asked.""",
    "table4": """Accuracy on XNLI in percent, trained and selected on English. The shift adds the difference between the mean
states of English and of the language, times a weight, in the middle of the encoder, where the frozen half ends. The weight is
selected on the development set of each language, which is therefore no zero-shot transfer; one weight for all languages, the
best weight of the test set and a random vector of the same length stand beside it. A third is chance.
Intervals are of 95 %, {interval}; those of gains are of paired differences.""",
    "figure1": RETRIEVED,
    "figure2": INFERRED,
    "figure3": RETRIEVED,
    "figure4": INFERRED,
    "figure5": RETRIEVED + WINDOWS,
    "figure6": """Accuracy on XNLI in percent, of fine-tuned BERTs (above), and by how many percent that of the short window
is below that of the long one (below). Compare with the same training from random weights;
a third is chance. Intervals are of 95 %, {interval}."""
    + WINDOWS,
    "figure7": """Convert rate by the layer to which the shift is added, for each weight. Dashed: without shift; dotted: a random
vector of the same length, with the largest weight."""
    + NAMED,
    "figure8": """BLEU-1 in points, by the weight of the shift for some layers (above) and by its layer for each weight (below).
Dashed: without shift, which is mostly the input as it is."""
    + NAMED,
    "retrieval": """Scores behind figures 1, 3 and 5, in both directions, by layer, with cosine and CSLS, with and without
words that are spelt the same, and after mean difference shift: the difference of the languages' mean states is added to the
source words. All in percent but hubness, the skewness of how often a word is among the ten nearest ones. First what BERTs name
of masked subwords of held-out text; chance and words spelt the same follow.""",
    "inference": """Scores behind figures 2, 4 and 6: accuracy in percent, with its 95 % interval, {interval}. A third is chance;
the same trainings from random weights stand last, what BERTs name of masked subwords of held-out text first.""",
    "claims": """What the text says of figures without numbers, and of what it does not show. here: the measured difference or
share, in percentage points or percent; remark: whether it agrees with the claim, and in how many languages or directions the
number is as claimed, which the paper says of all. A difference is the mean over families of languages of the means of their
languages, with its 95 % interval: over families, since related languages are not independent, and on XNLI over test pairs too.

How to read it: where the remark says "not decided", the numbers are no finding. Nothing is decided between models of which one
has learned nothing: each must exceed guessing, the same training from random weights and, as a masked language model, the bigram
(the most frequent subword after the one before). Nor does a single seed, a single family of languages or an interval that
includes 0 decide anything. Section 3 rests on the pretrainings: of one seed each (papers.liu2020.pretraining.seeds)
it is not decided.""",
    "accents": """Share of the subwords of XNLI's test pairs that altered letters change, in percent, by language: without
accents (combining marks, vowel signs among them), in lower case, and both, as a cased model reads them whose tokenizer is set up
as for an uncased one. Below: the printed accuracies of table 4, those of the same model, task and test set in wu2019's table 3,
their differences, and the correlation of differences and shares over the languages but English.

How to read it: no model is trained here. A strong correlation for accents and none for lower case points at the tokenizer; it is
an inference from printed numbers. To test it, train with papers.liu2020.inference.reading: without_accents.""",
    "text": """The text of the pretrainings by language and amount: sentences, the pages that they stand on, and their subwords;
and the examples that each BERT reads, with their mean length, special subwords included.

How to read it: languages have as many sentences, not as many subwords, and a language with longer ones is a larger share of the
text. An example ends with its page or sentence: the farther its mean length is below the window, the less of that is used.""",
    "calibration": """Convert rates at the layer of table 2 under each variant of the mean, and their mean absolute difference
from the printed ones. The variant that comes closest is calibrated on the printed numbers, and no finding.""",
}


def caption(name: str, seeds: Iterable[int]) -> str:
    """The caption of an item. seeds: numbers of seeds that its values rest on."""
    text = OF_ITEMS[name].format(interval=interval(seeds, OVER_PAIRS))
    return f"{text}\n\nOur choices: docs/liu2020.md."
