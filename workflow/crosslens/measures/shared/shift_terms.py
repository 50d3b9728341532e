"""Names of the scores that measures of a shift yield, shared with the tables, which run no encoder."""

# Definitions of token translation: the shift of the states.
NO_SHIFT, SHIFT, RANDOM, THIRD, MASKED = (
    "no shift", "mean difference shift", "random direction", "shift to a third language", "one masked subword, no shift",
)  # fmt: skip
FREQUENT = "most frequent subwords in any order"
"""Baseline without a model: the most frequent subwords of the target language's development texts, as many as the input has."""

# Measures of the outputs of token translation.
BLEU_1, CONVERT_RATE = "BLEU-1", "convert rate"
WITHOUT_PENALTY, MEAN_BLEU = "BLEU-1 without brevity penalty", "BLEU-1, mean of texts"
SHARES = {
    "source": "subwords of the source alone", "target": "subwords of the target alone", "common": "subwords of both languages",
    "neither": "subwords of neither language", "unchanged": "subwords as in the input",
}  # fmt: skip
PROBABILITY = "probability of subwords of the target alone"

# Shares of the converted subwords, those that are in the target's vocabulary only.
IN_DICTIONARY = "converted subwords in the place of a word that the dictionary has"
TRANSLATIONS, ELSEWHERE = (
    "converted subwords that are translations of the word in their place",
    "converted subwords that are translations of the word in another place",
)

# Measures of a classifier. Accuracy at every weight has the definitions above; accuracy at a selected weight has those below.
ACCURACY, GAIN = "accuracy", "gain in accuracy"
SELECTED, ONE_WEIGHT, ORACLE, RANDOM_SELECTED = (
    "weight selected on development data", "one weight for all languages", "best weight on test data",
    "random direction, weight selected on development data",
)  # fmt: skip
