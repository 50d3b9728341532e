"""Columns of token files. Each row is a text, a window of a text, or a pair of texts one after the other."""

from pathlib import Path

import pyarrow as pa

from crosslens.jobs.checksums import verified
from crosslens.jobs.parquet import metadata

TOKENS = pa.schema(
    [
        ("id", pa.string()),  # of the text; ID#2 for its second window, and so on
        ("language", pa.string()),
        ("page", pa.string()),  # article or document of running text, whose texts are neighbours; '' for other texts
        ("subwords", pa.list_(pa.int32())),  # including special ones, at most the configured maximum
        ("words", pa.list_(pa.string())),  # labelled words, as long as positions
        ("positions", pa.list_(pa.int16())),  # index into subwords for each labelled word
        ("labels", pa.list_(pa.string())),  # UPOS or entity tag of each labelled word; '' if the corpus has none
        ("heads", pa.list_(pa.int16())),  # of each labelled word, counted among these from 1; 0 root, -1 missing; [] no trees
        ("relations", pa.list_(pa.string())),  # of each labelled word, with subtypes; [] if the corpus has no trees
        ("label", pa.string()),  # of a whole text, pair or document; '' if the corpus has none
        ("second", pa.int16()),  # index of the first subword of a pair's second text; 0 for a single text
        ("cut", pa.bool_()),  # whether subwords of the text were cut away; the same in all its windows
        ("cut_words", pa.int32()),  # number of labelled words of the text that were cut away; 0 in further windows
    ]
)

SPECIAL = "special"
"""Key of a file's metadata for its numbers of special subwords: before a text, between the two of a pair, and after."""


def counts(folder: Path, split: str) -> dict[str, dict[str, int]]:
    """Language -> counts of the texts of a split (see `crosslens.encoding.tokens.tokenise.tokenise`).

    folder: tokens/ENCODER/CORPUS.
    """
    files = sorted(verified(folder).glob(f"*.{split}.parquet"))
    return {path.name.split(".")[0]: {name: value for name, value in metadata(path).items() if name != SPECIAL} for path in files}
