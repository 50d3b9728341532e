"""Special subwords that a tokenizer adds to a text or pair, such as [CLS] and [SEP], but must not find in its text."""

import re
from typing import NamedTuple

from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from crosslens.config.encoders import UNKNOWN

NOWHERE = "\U0010ffff"  # a noncharacter, which no vocabulary has


class SpecialSubwords(NamedTuple):
    """Numbers of the subwords before a text, between the two texts of a pair, and after them."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]


def special_subwords(tokenizer: Tokenizer) -> SpecialSubwords:
    """The special subwords of a tokenizer, found from the special-tokens masks of a text and a pair, for any post-processor.

    Raises ValueError if those around a pair differ from those around a text.
    """
    joiner = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))  # for texts of one subword, whatever the vocabulary
    joiner.post_processor = tokenizer.post_processor
    text, pair = joiner.encode("a"), joiner.encode("a", "a")
    (place,), (first, second) = (
        [place for place, special in enumerate(encoding.special_tokens_mask) if not special] for encoding in (text, pair)
    )
    if (text.ids[:place], text.ids[place + 1 :]) != (pair.ids[:first], pair.ids[second + 1 :]):
        raise ValueError("other special subwords around a pair than around a text")
    return SpecialSubwords(tuple(text.ids[:place]), tuple(pair.ids[first + 1 : second]), tuple(text.ids[place + 1 :]))


def unknown_subword(tokenizer: Tokenizer) -> int | None:
    """Number of the subword for unknown text, of the tokenizer's model or else with a usual name; None if there is none."""
    if isinstance(tokenizer.model, models.Unigram):  # a Unigram model does not expose it
        subwords = [token.id for token in tokenizer.model.tokenize(NOWHERE)]
        unknown = subwords[0] if len(subwords) == 1 else None  # several with byte fallback
    else:
        unknown = tokenizer.token_to_id(tokenizer.model.unk_token or "")
    numbers = (unknown, *map(tokenizer.token_to_id, UNKNOWN))
    return next((number for number in numbers if number is not None), None)


def text_as_text(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, changed so that the name of a special subword in a text is read as ordinary text.

    Unigram and some other models have these names also among the subwords that they look for in a text. Each name is therefore
    cut after its first character, which changes no other text.
    """
    tokenizer.encode_special_tokens = True
    names = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special and len(token.content) > 1]
    if names:
        pattern = "|".join(f"{re.escape(name[0])}(?={re.escape(name[1:])})" for name in names)
        cut = pre_tokenizers.Split(Regex(pattern), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*filter(None, [tokenizer.pre_tokenizer]), cut])
    return tokenizer
