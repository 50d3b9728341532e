"""Labels that corpora share."""

UPOS = tuple("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
"""The universal part-of-speech tags of Universal Dependencies, version 2."""
NLI = ("entailment", "neutral", "contradiction")
"""Natural language inference, in the order of the numbers that stand for them where labels are numbers."""
