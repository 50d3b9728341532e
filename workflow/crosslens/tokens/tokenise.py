"""From words to pieces, and the piece of a word that carries its label."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from tokenizers import Encoding, Tokenizer, models

from crosslens.config.tokens import Tokens
from crosslens.corpora import schema as corpora
from crosslens.corpora.words import text_words
from crosslens.errors import DataError
from crosslens.tokens.schema import TOKENS

BARE_MARK = "▁"  # what a Unigram vocabulary leaves of the space before a word of an unspaced script
CHUNK = 2000  # texts encoded together


def labelled_pieces(encoding: Encoding, labelled_piece: str) -> list[tuple[int, int]]:
    """(word, position) of each labelled piece, in order of position.

    `labelled_piece` as in the configuration. A word whose characters the tokenizer drops has no piece, and no entry.
    """
    found: list[tuple[int, int]] = []
    last_word, open_word = -1, False
    for position, (word, piece) in enumerate(zip(encoding.word_ids, encoding.tokens, strict=True)):
        if word is None:
            continue
        if word != last_word:
            found.append((word, position))
            last_word, open_word = word, piece == BARE_MARK
        elif open_word and labelled_piece == "first_visible":
            found[-1] = (word, position)
            open_word = piece == BARE_MARK
        elif labelled_piece == "word_starts" and not piece.startswith("##"):
            found.append((word, position))
    return found


def tokenise(
    tokenizer: Tokenizer, rows: Iterable[dict[str, Any]], settings: Tokens, limit: int | None = None
) -> tuple[pa.Table, dict[str, int]]:
    """Tokenise rows of a corpus until `limit` texts are kept.

    Returns the TOKENS table and counts: texts kept, texts dropped for an unknown piece (anywhere in the whole text, as in
    tanti2021's code), texts and words cut by the maximum, words without a piece.
    """
    if settings.labelled_piece == "word_starts" and not isinstance(tokenizer.model, models.WordPiece):
        raise DataError(
            f"tokens.labelled_piece: word_starts needs a WordPiece vocabulary, this one is {type(tokenizer.model).__name__}: "
            "choose first or first_visible"
        )
    unknown = _unknown_id(tokenizer)
    counts = dict.fromkeys(("texts", "unknown", "cut_texts", "cut_words", "words_without_piece"), 0)
    columns: dict[str, list[Any]] = {name: [] for name in TOKENS.names}
    rows = iter(rows)
    while chunk := list(islice(rows, CHUNK)):
        split = [text_words(row) for row in chunk]
        encodings = tokenizer.encode_batch([text for text, _ in split], is_pretokenized=True)
        for row, (text, labels), encoding in zip(chunk, split, encodings, strict=True):
            if limit is not None and counts["texts"] >= limit:
                return pa.table(columns, schema=TOKENS), counts
            if settings.drop_unknown and unknown in encoding.ids:
                counts["unknown"] += 1
                continue
            labelled = labelled_pieces(encoding, settings.labelled_piece)
            counts["words_without_piece"] += len(text) - len({word for word, _ in labelled})
            kept = [(word, position) for word, position in labelled if position < settings.maximum - 1]
            counts["cut_texts"] += len(encoding.ids) > settings.maximum
            counts["cut_words"] += len(labelled) - len(kept)
            counts["texts"] += 1
            columns["id"].append(row["id"])
            columns["language"].append(row["language"])
            columns["pieces"].append(_truncate(encoding.ids, settings.maximum))
            columns["words"].append([text[word] for word, _ in kept])
            columns["positions"].append([position for _, position in kept])
            columns["labels"].append([labels[word] if labels else "" for word, _ in kept])
    return pa.table(columns, schema=TOKENS), counts


def _truncate(ids: Sequence[int], maximum: int) -> list[int]:
    """At most `maximum` pieces; the closing special piece stays."""
    return list(ids) if len(ids) <= maximum else [*ids[: maximum - 1], ids[-1]]


def _unknown_id(tokenizer: Tokenizer) -> int | None:
    return next((found for name in ("[UNK]", "<unk>") if (found := tokenizer.token_to_id(name)) is not None), None)


def load_tokenizer(folder: Path) -> Tokenizer:
    """The fast tokenizer of an encoder's folder, without truncation or padding."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise DataError(f"{path}: missing; expected a fast tokenizer: save the encoder's tokenizer with transformers again")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def write_tokens(encoder: Path, corpus: Path, output: Path, settings: Tokens, split: str) -> dict[str, int]:
    """Tokenise one file of a corpus; a sample with spare texts is cut to its nominal size.

    Returns the counts of `tokenise`. Raises DataError when no text is left.
    """
    table, nominal = corpora.read(corpus), corpora.metadata(corpus).get("nominal", {}).get(split)
    tokens, counts = tokenise(load_tokenizer(encoder), table.to_pylist(), settings, nominal)
    if not counts["texts"]:
        raise DataError(
            f"{corpus}: none of {table.num_rows} texts is free of unknown pieces under {encoder.name}: "
            "choose an encoder that covers the language, or set tokens.drop_unknown to false"
        )
    corpora.write(tokens, output, TOKENS, counts)
    return counts
