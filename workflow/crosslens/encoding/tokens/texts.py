"""Texts of a corpus as subwords, without texts that have unknown subwords."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from tokenizers import Encoding, Tokenizer

from crosslens.corpora.words import text_words, whole_texts
from crosslens.encoding.encoders.special import unknown_subword
from crosslens.encoding.tokens.sentences import Splitter

CHUNK = 2000  # texts encoded together
LOOKED_AT = 510  # first subwords of a text, checked for unknown ones: tokeniser_mbert.py:83-99 cuts at 512 with 2 special ones


class Text(NamedTuple):
    """A text of a corpus, or a pair of texts, as subwords."""

    place: int  # number of the text in the corpus; sentences of one text share it
    row: dict[str, Any]  # of the corpus
    words: list[list[str]]  # of the text, or of each of the pair
    labels: list[str] | None  # of the words; None if the corpus has none
    parts: list[Encoding]  # the text, or each of the pair, without special subwords


@dataclass
class KnownTexts:
    """The texts of a corpus, without those that have an unknown subword among their first LOOKED_AT.

    Where a text is cut later does not matter. A pair is dropped if either of its texts has such a subword.
    """

    tokenizer: Tokenizer
    rows: Iterable[dict[str, Any]]  # of the corpus
    drop_unknown: bool  # False: no text is dropped
    split: Splitter | None = None  # splits running text into sentences; the first two become a pair
    each_sentence: bool = False  # whether each sentence becomes a text instead
    limit: int | None = None  # largest number of rows with kept texts; later rows do not count as dropped
    room: int | None = (
        None  # largest number of subwords of a word; words with more, or with none, become an unknown subword; None: unchanged
    )
    whole: bool = False  # whether a text is tokenised as a whole instead of word by word
    dropped: int = 0  # number of texts dropped so far

    def __iter__(self) -> Iterator[Text]:
        unknown = unknown_subword(self.tokenizer)
        name = None if unknown is None else self.tokenizer.id_to_token(unknown)
        rows = self._sentences(self.split) if self.split and self.each_sentence else enumerate(self.rows)
        last, count = -1, 0  # place of the last row with a kept text, and number of such rows
        while chunk := list(islice(rows, CHUNK)):
            split = None if self.each_sentence else self.split
            texts_and_labels = [(whole_texts(row), None) if self.whole else text_words(row, split) for _, row in chunk]
            flat = [words for texts, _ in texts_and_labels for words in texts]
            encodings = iter(self.tokenizer.encode_batch(flat, is_pretokenized=True, add_special_tokens=False))
            for (place, row), (words, labels) in zip(chunk, texts_and_labels, strict=True):
                parts = list(islice(encodings, len(words)))
                if self.room is not None and name:
                    parts = [self._with_unknown(*pair, name) for pair in zip(words, parts, strict=True)]
                if count == self.limit and place != last:
                    return
                if self.drop_unknown and any(unknown in part.ids[:LOOKED_AT] for part in parts):
                    self.dropped += 1
                else:
                    last, count = place, count + (place != last)
                    yield Text(place, row, words, labels, parts)

    def _with_unknown(self, words: list[str], encoding: Encoding, name: str) -> Encoding:
        """Subwords of a text, with the unknown subword `name` for each word that has no subword or more than `room`.

        Source: XTREME's code (utils_preprocess.py 64-66 for entities, 155-157 for tags).
        """
        sizes = Counter(encoding.word_ids)
        fits = [0 < sizes[number] <= (self.room or 0) for number in range(len(words))]
        if all(fits):
            return encoding
        special = [token.content for token in self.tokenizer.get_added_tokens_decoder().values() if token.special]
        fits = [fit and not any(subword in word for subword in special) for word, fit in zip(words, fits, strict=True)]
        words = [word if fit else name for word, fit in zip(words, fits, strict=True)]
        self.tokenizer.encode_special_tokens = False  # otherwise `name` would be read as text
        encoding = self.tokenizer.encode(words, is_pretokenized=True, add_special_tokens=False)
        self.tokenizer.encode_special_tokens = True
        return encoding

    def _sentences(self, split: Splitter) -> Iterator[tuple[int, dict[str, Any]]]:
        """A text's place and a row for each of its sentences; texts without sentences, and other rows, as they are."""
        for place, row in enumerate(self.rows):
            texts = split(row["text"], row["language"]) if "text" in row and "forms" not in row else []
            yield from ((place, row | {"id": numbered(row, number), "text": text}) for number, text in enumerate(texts))
            if not texts:
                yield place, row


def numbered(row: dict[str, Any], number: int) -> str:
    """Id of a window or sentence of a row, by its number from 0: ID, ID#2, ID#3."""
    return f"{row['id']}#{number + 1}" if number else row["id"]
