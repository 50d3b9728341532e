"""The columns of tokenised text, whose rows are texts, or pairs of texts one after the other."""

from pathlib import Path

import pyarrow as pa

from crosslens.jobs.checksums import verified
from crosslens.jobs.parquet import metadata

TOKENS = pa.schema(
    [
        ("id", pa.string()),  # of the text; its second window has ID#2, and so on
        ("language", pa.string()),
        ("page", pa.string()),  # article or document of running text, whose texts follow each other; '' of other texts
        ("subwords", pa.list_(pa.int32())),  # with special subwords, at most the configured maximum
        ("words", pa.list_(pa.string())),  # labelled words, as long as positions
        ("positions", pa.list_(pa.int16())),  # index into subwords of each labelled word's subword
        ("labels", pa.list_(pa.string())),  # UPOS or entity tag of each labelled word; '' where the corpus has none
        ("heads", pa.list_(pa.int16())),  # of each labelled word, among them from 1; 0 root, -1 cut away; [] without trees
        ("relations", pa.list_(pa.string())),  # of each labelled word, with subtypes; [] where the corpus has no trees
        ("label", pa.string()),  # of the whole text, of a pair or document; '' where the corpus has none
        ("second", pa.int16()),  # index of the first subword of a pair's second text; 0 where there is none
        ("cut", pa.bool_()),  # if subwords of the text were cut away, in each of its windows
        ("cut_words", pa.int32()),  # labelled words that were cut away; counted in the first of its windows
    ]
)

SPECIAL = "special"
"""Key of a file's metadata beside the counts: numbers of special subwords before a text, between the two of a pair, and after."""


def counts(folder: Path, split: str) -> dict[str, dict[str, int]]:
    """Language -> the counts of `crosslens.encoding.tokens.tokenise.tokenise` for the texts of a split.

    folder: tokens/ENCODER/CORPUS.
    """
    files = sorted(verified(folder).glob(f"*.{split}.parquet"))
    return {path.name.split(".")[0]: {name: value for name, value in metadata(path).items() if name != SPECIAL} for path in files}
