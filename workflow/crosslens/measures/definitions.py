"""How scores are computed, by name. Names alone: the Snakefile imports them."""

ACCURACY = "accuracy"
MACRO_F1 = "macro F1 over true classes"
UNION_F1 = "macro F1 over true and predicted classes"  # a class that is only predicted counts as 0
CEILING = "highest macro F1 that stray classes leave"
CHUNK_MACRO_F1 = "macro F1 of chunks of bare tags"  # of seqeval 1.2.2 on tags without IOB prefixes: see f1.chunk_counts
CHUNK_MICRO_F1 = "micro F1 of chunks of bare tags"
TRANSFER = "accuracy, mean of the other languages"
CUT_TEXTS, CUT_WORDS = "texts cut at the maximum", "words cut away, not scored"  # shares, beside scores
F1 = "F1"  # spans as conlleval and seqeval's default find them
F1_STRICT = "F1 strict"  # a span opens with B- alone
F1_MISC_AS_O = "F1, MISC as O"
LAS, UAS, LAS_WITHOUT_PUNCTUATION = "LAS", "UAS", "LAS without punctuation"
V_MEASURE = "V-measure"
V_CHANCE = "V-measure against shuffled truth"
AMI = "adjusted mutual information"
PROBE_ACROSS = "accuracy, converged probe trained on paragraphs"
PROBE_WITHIN = "accuracy, converged probe trained on the same corpus"
PROBE_RANDOM = "accuracy, converged probe trained on random labels"
ADVERSARY_START = "accuracy in training, before the encoder moved"
ADVERSARY_END = "accuracy in training, after the last epoch"
ADVERSARY_BEST = "accuracy in training, at its best"
