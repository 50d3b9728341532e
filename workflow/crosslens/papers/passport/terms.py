"""Names that modules of passports share."""

PIVOT = "en"  # the language with which others are aligned, and in which topics are learned; sentences of the page say English
UNKNOWN = "unknown share"  # definition of the first measure: share of subwords that are unknown
