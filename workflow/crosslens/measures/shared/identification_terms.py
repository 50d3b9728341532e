"""Names of the scores of language identification in liu2020's measures, shared with the tables, which run no encoder."""

# Definitions of `language_of_subwords`: the subwords tested, and baselines.
EVERY, SEVERAL = "subwords of one or several languages", "subwords of several languages"
CHANCE = "a guess without vectors"  # 1 over the number of languages
ALONE = "the best guess by the subword alone"  # the language in which the subword occurs most often

# Follows the name of a shift (shift_terms.py) in definitions of `language_after_shift`: the probe was trained without it.
UNSHIFTED_PROBE = "probe of unshifted states"
