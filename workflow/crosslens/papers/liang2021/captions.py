"""liang2021: captions of pages and the report, below an item's title. Names are explained in resources/terms.yaml."""

from crosslens.papers.liang2021.layout import BY_LANGUAGE

SCORES = """In percent. Beside each F1 of tags stands accuracy, beside each F1 of entities strict F1: published values correspond
to the first of both. L-DAR is trained without dropout: compare it with "no dropout". Below a value: its 95 % interval,
Student's t over the seeds or, with a single seed, a bootstrap over the sentences of a text; and n, the number of units on which
it is based."""
MIXED = """Each source has at most as many sentences as English has divided by the number of sources; a smaller one enters
whole."""
REMOVAL = """F1 of linear heads, mean over the languages but English, by the number of directions that are removed from the last
layer's states: the first ones of its language subspace (DensRay), or as many random ones.

How to read it: removed directions matter for the task where the curve lies below that of random ones. On the left the encoder is
frozen; on the right it is fine-tuned, and can move what the head needs into the directions that are left."""

PROBED = """Linear probes (logistic regression, trained until it converges) read x coordinates of a word's state and
are tested on other words. A subspace is fitted on words that no probe sees; LDA's coordinates are
scaled by it, DensRay's are not. From n languages a method determines at most n - 1 directions; those
beyond are random ones.

*Language identification*: accuracy over random pairs of languages; chance is 0.5. *Typology*: which
value a feature of WALS has in the word's language, mean over features. A probe that is tested on
languages it has learned can do it by learning languages: it does so for shuffled values too. Where
whole families are held out it cannot. *Similarity*: clusters of the means of languages (single linkage,
cosine distance around the centre) against genera."""
EACH = {
    "figure1": """How to read it: the first x directions know the language if their curve is above that of random ones;
all that is known of languages lies in the first n - 1 if the next x directions, from there on, fall to
the level of chance.""",
    "figure2": """How to read it: above 0 a window of neighbouring directions tells more than as many random ones do.""",
    "figure3": """How to read it: a curve above that of random directions has found what it looks for at that layer. The
dotted curve is of an encoder with random weights, which knows words and nothing of languages.""",
    "figure5": """How to read it: where languages of a family need more directions than random languages do before a curve
falls to 0, they differ along more of them.""",
    "subspaces": """DensRay's directions are the principal axes of the means of languages. How to read it: the earlier a
curve rises, the fewer directions hold what tells languages apart.""",
}


def caption(name: str) -> str:
    """The caption of an item."""
    if name == "figure4":
        text = REMOVAL
    elif name in EACH:
        text = f"{PROBED}\n\n{EACH[name]}"
    else:
        several = BY_LANGUAGE.get(name, ("", 1))[1]
        text = "\n\n".join([SCORES, *([MIXED] if several else [])])
    return f"{text}\n\nOur choices: docs/liang2021.md."
