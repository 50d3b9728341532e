"""Labels of the official formats."""

UPOS = tuple("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
"""The universal part-of-speech tags of Universal Dependencies, version 2."""
NLI = ("entailment", "neutral", "contradiction")  # labels of natural language inference, as MultiNLI and XNLI write them
