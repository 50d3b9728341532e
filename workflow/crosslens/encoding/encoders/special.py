"""Special subwords that a tokenizer adds to a text or a pair, such as [CLS] and [SEP]; those that it must not find in a text."""

import re
from typing import NamedTuple

from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from crosslens.config.encoders import UNKNOWN

NOWHERE = "\U0010ffff"  # no character, so that no vocabulary has it


class SpecialSubwords(NamedTuple):
    """Numbers of the subwords before a text, between the two texts of a pair, and after them."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]


def special_subwords(tokenizer: Tokenizer) -> SpecialSubwords:
    """The special subwords of a tokenizer, by the special-tokens mask of a text and of a pair, whatever its post-processor is.

    Raises ValueError where those around a pair are not those around a text.
    """
    joiner = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))  # a text of one subword, whatever the vocabulary
    joiner.post_processor = tokenizer.post_processor
    text, pair = joiner.encode("a"), joiner.encode("a", "a")
    (place,), (first, second) = (
        [place for place, special in enumerate(encoding.special_tokens_mask) if not special] for encoding in (text, pair)
    )
    if (text.ids[:place], text.ids[place + 1 :]) != (pair.ids[:first], pair.ids[second + 1 :]):
        raise ValueError("other special subwords around a pair than around a text")
    return SpecialSubwords(tuple(text.ids[:place]), tuple(pair.ids[first + 1 : second]), tuple(text.ids[place + 1 :]))


def unknown_subword(tokenizer: Tokenizer) -> int | None:
    """Number of a tokenizer's subword for unknown text: its model's own, or one of the usual name; None without any."""
    if isinstance(tokenizer.model, models.Unigram):  # which does not say
        subwords = [token.id for token in tokenizer.model.tokenize(NOWHERE)]
        unknown = subwords[0] if len(subwords) == 1 else None  # with byte fallback there are several
    else:
        unknown = tokenizer.token_to_id(tokenizer.model.unk_token or "")
    numbers = (unknown, *map(tokenizer.token_to_id, UNKNOWN))
    return next((number for number in numbers if number is not None), None)


def text_as_text(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, changed so that the name of a special subword in a text is read as text, not as the subword.

    Unigram and some other models also have these names among the subwords that they look for in a text. A name is cut after its
    first character, which changes no other text.
    """
    tokenizer.encode_special_tokens = True
    names = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special and len(token.content) > 1]
    if names:
        pattern = "|".join(f"{re.escape(name[0])}(?={re.escape(name[1:])})" for name in names)
        cut = pre_tokenizers.Split(Regex(pattern), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*filter(None, [tokenizer.pre_tokenizer]), cut])
    return tokenizer
