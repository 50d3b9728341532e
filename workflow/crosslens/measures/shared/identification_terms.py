"""Names of the numbers of language identification that liu2020's measures yield, shared with the tables, which run no encoder."""

# Of subwords in running text.
EVERY, SEVERAL = "subwords of one or several languages", "subwords of several languages"
CHANCE = "a guess without vectors"  # one of as many languages
ALONE = "the best guess by the subword alone"  # the language in which it has most of its places

# Of shifted states, after the shift, whose names are in measures/shifts.py: the probe has learnt without it.
UNSHIFTED_PROBE = "probe of unshifted states"
