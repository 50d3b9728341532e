"""Marks of words in a tokenizer's subwords: words given one by one must get the marks that they have in a whole text."""

from heapq import nsmallest

from tokenizers import Tokenizer, normalizers

MARKS = ("▁", "Ġ")  # at the start of a subword that begins a word, in vocabularies other than WordPiece
END = "</w>"  # at the end of a subword that ends a word, in the BPE of XLM
PROBED = 8  # number of words to try


def by_words(tokenizer: Tokenizer) -> Tokenizer | None:
    """The tokenizer, changed if necessary so that it accepts words one by one; None if this is impossible.

    Byte-level tokenizers, Gemma's and some of SentencePiece recognise the beginning of a word by the space before it. A word
    given by itself lacks this space, and would be split like the inside of a word. As with add_prefix_space in transformers,
    each word then gets a space, and the first word of a text is read like a later one. The tokenizer is tried on words of its
    own vocabulary: one by one, they must have the subwords that they have in a whole text.
    """
    words = 2 * longest_words(tokenizer)  # twice, so that no word is only first or only last
    alone, after_space = (tokenizer.encode(space + " ".join(words), add_special_tokens=False).ids for space in ("", " "))
    if _one_by_one(tokenizer, words) == alone:
        return tokenizer
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(" "), *filter(None, [tokenizer.normalizer])])
    return tokenizer if _one_by_one(tokenizer, words) == after_space else None


def _one_by_one(tokenizer: Tokenizer, words: list[str]) -> list[int]:
    subwords: list[int] = tokenizer.encode(words, is_pretokenized=True, add_special_tokens=False).ids
    return subwords


def longest_words(tokenizer: Tokenizer) -> list[str]:
    """The PROBED longest words of letters in a vocabulary."""
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    subwords = tokenizer.get_vocab().keys() - special
    marked = [subword for subword in subwords if subword.startswith(MARKS) or subword.endswith(END)] or subwords
    words = {subword.strip("".join(MARKS) + "#").removesuffix(END) for subword in marked}
    return nsmallest(PROBED, filter(str.isalpha, words), key=lambda word: (-len(word), word))
