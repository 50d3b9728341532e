"""Detection of languages whose parallel texts cannot be measured, from their tokens, before any state is computed."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from crosslens.encoding.tokens.schema import SPECIAL
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError

MOST_CUT = 0.1  # share of a language's texts that may be cut


def unmeasurable(tokens: Path, languages: Sequence[str], pivot: str) -> dict[str, str]:
    """Reason for each language whose test texts cannot be measured together with their translations into the pivot.

    tokens: folder of a corpus's token files. Raises DataError if the pivot is such a language, or if no other language is left.
    """
    ids = parquet.read(tokens / f"{pivot}.test.parquet", columns=["id"])["id"]
    all_reasons = {language: _reason(tokens / f"{language}.test.parquet", ids, pivot) for language in languages}
    reasons = {language: reason for language, reason in all_reasons.items() if reason}
    if pivot in reasons or len(reasons) > len(languages) - 2:
        examples = "; ".join(f"{language}: {reason}" for language, reason in reasons.items())
        raise DataError(
            f"{tokens}: expected texts that can be measured in {pivot} and another language, found none ({examples}): name an "
            "encoder with more positions or another tokenizer, a tokenisation with a larger maximum, or other texts"
        )
    return reasons


def _reason(file: Path, ids: pa.ChunkedArray, pivot: str) -> str:
    """Reason why the texts of a token file cannot be measured; "" if they can. ids: of their translations into the pivot."""
    table = parquet.read(file, columns=["id", "subwords", "cut"])
    before, _, after = parquet.metadata(file)[SPECIAL]
    cut, n = pc.sum(table["cut"]).as_py(), len(table)
    empty = pc.sum(pc.less_equal(pc.list_value_length(table["subwords"]), before + after)).as_py()
    if table["id"] != ids:
        return f"its sentences are not those of {pivot}, or in another order"
    if cut > MOST_CUT * n:
        return f"{cut} of {n} sentences are longer than the encoder or the tokenisation allows, and were cut"
    if empty:
        return f"the tokenizer leaves nothing of {empty} of {n} sentences"
    if len({tuple(subwords) for subwords in table["subwords"].to_pylist()}) == 1:
        return "the tokenizer gives all its sentences the same subwords"
    return ""
