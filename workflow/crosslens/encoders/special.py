"""Special pieces that a tokenizer adds to a text or a pair, such as [CLS] and [SEP]."""

from typing import NamedTuple

from tokenizers import Tokenizer, models


class SpecialPieces(NamedTuple):
    """Numbers of the pieces before a text, between the two texts of a pair, and after them."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]


def special_pieces(tokenizer: Tokenizer) -> SpecialPieces:
    """The special pieces of a tokenizer, by the special-tokens mask of a text and of a pair, whatever its post-processor is.

    Raises ValueError where those around a pair are not those around a text.
    """
    joiner = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))  # a text of one piece, whatever the vocabulary
    joiner.post_processor = tokenizer.post_processor
    text, pair = joiner.encode("a"), joiner.encode("a", "a")
    (place,), (first, second) = (
        [place for place, special in enumerate(encoding.special_tokens_mask) if not special] for encoding in (text, pair)
    )
    if (text.ids[:place], text.ids[place + 1 :]) != (pair.ids[:first], pair.ids[second + 1 :]):
        raise ValueError("other special pieces around a pair than around a text")
    return SpecialPieces(tuple(text.ids[:place]), tuple(pair.ids[first + 1 : second]), tuple(text.ids[place + 1 :]))
