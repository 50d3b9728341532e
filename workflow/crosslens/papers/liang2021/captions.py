"""liang2021: captions of pages and the report, below an item's title. Names are explained in resources/terms.yaml."""

from collections.abc import Iterable

from crosslens.papers.liang2021.layout import BY_LANGUAGE
from crosslens.papers.wording import interval

SCORES = """In percent. Beside each F1 of tags stands accuracy, beside each F1 of entities strict F1: published values correspond
to the first of both. L-DAR is trained without dropout: compare it with "no dropout". Beside its differences from models without
a penalty stands how large its penalty is after both trainings, in percent of the cross entropy that it was minimised with: where
the two are close, the penalty was hardly felt. Below a value: its 95 % interval, {interval}; and n, the number of units on which
it is based."""
MIXED = """Each source has at most as many sentences as English has divided by the number of sources; a smaller one enters
whole."""
REMOVAL = """What linear heads lose, in F1 and mean over all languages, by the number of directions that are removed from the last
layer's states: the first ones of its language subspace (DensRay), or as many random ones.

How to read it: removed directions matter for the task where the curve lies above that of random ones. On the left the encoder is
frozen; on the right it is fine-tuned, and can move what the head needs into the directions that are left. Heads learn from
English, which is one of the languages."""

PROBES = """Linear probes (logistic regression, trained to convergence) read x coordinates of a word's state and are
tested on other words. Subspaces are fitted on texts that are disjoint from the probes'."""
RANK = """n languages determine at most n - 1 directions; those beyond are random ones. LDA whitens its
coordinates within languages; DensRay keeps the original scale, so that the L2 penalty acts differently
on the two."""
TASKS = """*Language identification*: accuracy over random pairs of languages; chance is 0.5. *Typology*:
predicting the value of a feature of WALS in the word's language, mean over features. If test languages
also occur in training, a probe can succeed by identifying the language. Holding out whole families
removes this shortcut. *Similarity*: V-measure between families, or genera, and single-linkage clusters of
language centroids (cosine distance, centred); languages alone in theirs are left out, and so is x = 1,
where all distances are ties."""
OF_PROBES = {
    "figure1": (RANK, TASKS, """How to read it: the first x directions encode language identity if their curve lies above that of
random directions. Beyond n - 1 compare "next x" with "x consecutive, random", and not with 0.5: where train
and test words come from the same texts, probes also learn what the texts are about, which the second
row rules out. For typology of the same languages compare with shuffled values, of held-out families
with the most frequent value, for similarity with shuffled families or genera."""),
    "figure2": (RANK, TASKS, """How to read it: above 0, a window of adjacent directions is more informative than the same
number of random directions."""),
    "figure3": (RANK, TASKS, """How to read it: a curve above that of random directions means that the property is
linearly decodable from the leading directions of that layer. The dotted curve is of an encoder with random weights, which
sees the words but has learnt nothing about languages."""),
    "figure5": ("""Each group of languages has a subspace of its own, by DensRay; probes tell pairs of its languages apart.""",
                """How to read it: the higher a curve stays up to n - 1, where it must fall to 0, the more evenly the
group's differences spread over its directions."""),
    "subspaces": ("""DensRay's directions are the principal axes of the language centroids. INLP learns in two rounds of up
to n - 1 directions from 300 words per language; the other methods determine at most n - 1 directions,
and those beyond are random ones.""",
                  """How to read it: the earlier a curve rises, the fewer directions suffice to tell languages apart."""),
}  # fmt: skip


def caption(name: str, seeds: Iterable[int]) -> str:
    """The caption of an item. seeds: numbers of seeds that its values rest on."""
    if name == "figure4":
        text = REMOVAL
    elif name in OF_PROBES:
        text = "\n\n".join([PROBES, *OF_PROBES[name]])
    else:
        several = BY_LANGUAGE.get(name, ("", 1))[1]
        text = "\n\n".join([SCORES.format(interval=interval(seeds)), *([MIXED] if several else [])])
    return f"{text}\n\nOur choices: docs/liang2021.md."
