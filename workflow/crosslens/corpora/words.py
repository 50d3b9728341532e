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
    """Split a text at white space and punctuation, and around each Han character.

    This is mBERT's pre-tokenisation. For mBERT, the first subword of each word is therefore one without `##`, and tanti2021's
    code labels these positions. Other tokenizers get the same words.
    """
    normalizer, splitter = _splitter()
    return [word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]


def whole_texts(row: dict[str, Any]) -> list[list[str]]:
    """Texts of a corpus row, one or the two of a pair, each as a single word: the text unchanged."""
    return [[row["premise"]], [row["hypothesis"]]] if "premise" in row else [[row["text"]]]


def text_words(
    row: dict[str, Any], split: Callable[[str, str], list[str]] | None = None
) -> tuple[list[list[str]], list[str] | None]:
    """Words of each text in a corpus row (one, or two of a pair), and the words' UPOS or entity tags, if the corpus has them.

    The words are the treebank's own or, for running text, those of `words`. split: (text, language) -> sentences; the first two
    sentences of running text then form a pair. None: running text is not split.
    """
    if "forms" in row:
        return [row["forms"]], row["upos"] or row["entities"]
    if "premise" in row:
        return [words(row["premise"]), words(row["hypothesis"])], None
    texts = (split(row["text"], row["language"])[:2] if split else []) or [row["text"]]
    return [words(text) for text in texts], None
