"""Words of running text, for corpora that come without a tokenisation."""

from collections.abc import Callable
from functools import cache
from typing import Any

from tokenizers import normalizers, pre_tokenizers


@cache
def _splitter() -> tuple[normalizers.Normalizer, pre_tokenizers.PreTokenizer]:
    normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=False)
    return normalizer, pre_tokenizers.BertPreTokenizer()


def words(text: str) -> list[str]:
    """Split at white space and punctuation, and around each Han character.

    The pre-tokenisation of mBERT, so that for it the first subword of each of these words is a subword without `##`: the
    positions that tanti2021's code labels. Other tokenizers get the same words.
    """
    normalizer, splitter = _splitter()
    return [word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]


def whole_texts(row: dict[str, Any]) -> list[list[str]]:
    """Each text of a row of a corpus, one or a pair's two, as a single word: the text as it is."""
    return [[row["premise"]], [row["hypothesis"]]] if "premise" in row else [[row["text"]]]


def text_words(
    row: dict[str, Any], split: Callable[[str, str], list[str]] | None = None
) -> tuple[list[list[str]], list[str] | None]:
    """Words of each text of a row of a corpus, one or a pair's two, and UPOS or entity tags where the corpus has them.

    The words are a treebank's own, or those of running text. split: text, language -> sentences of running text, whose first two
    are then a pair.
    """
    if "forms" in row:
        return [row["forms"]], row["upos"] or row["entities"]
    if "premise" in row:
        return [words(row["premise"]), words(row["hypothesis"])], None
    texts = (split(row["text"], row["language"])[:2] if split else []) or [row["text"]]
    return [words(text) for text in texts], None
