"""Labels that corpora share."""

UPOS = tuple("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
"""The universal part-of-speech tags of Universal Dependencies, version 2."""
NLI = ("entailment", "neutral", "contradiction")
"""Labels of NLI, in the order of their numbers in data where labels are numbers."""
TOPICS = ("CCAT", "ECAT", "GCAT", "MCAT")
"""The main topics of Reuters, which MLDoc classifies: corporate and industrial, economics, government and social, markets."""
RELATIONS = tuple(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed flat "
    "goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp".split()
)
"""The universal dependency relations, version 2, without subtypes."""
ENTITIES = ("O", *(f"{prefix}-{kind}" for kind in ("PER", "LOC", "ORG", "MISC") for prefix in "BI"))
"""IOB2 tags of CoNLL-2002 and 2003; WikiANN and MSRA have no MISC."""
