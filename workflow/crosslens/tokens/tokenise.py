"""From words to pieces, and the piece of a word that carries its label."""

import math
from collections.abc import Iterable
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
    """(word, position) of each labelled piece of one text, in order of position.

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
    """Tokenise rows of a corpus until `limit` texts are kept; a pair is one text, its two parts one after the other.

    A text is cut to the maximum, a pair at the end of its longer part, piece by piece (tokenizers' longest_first).
    Returns the TOKENS table and counts: texts kept, texts dropped for an unknown piece (anywhere in the whole text, each
    part by itself, as in tanti2021's code), texts and words cut by the maximum, words without a piece.
    """
    if settings.labelled_piece == "word_starts" and not isinstance(tokenizer.model, models.WordPiece):
        raise DataError(
            f"tokens.labelled_piece: word_starts needs a WordPiece vocabulary, this one is {type(tokenizer.model).__name__}: "
            "choose first or first_visible"
        )
    unknown = _unknown_id(tokenizer)
    joiner = _joiner(tokenizer, settings.maximum)
    counts = dict.fromkeys(("texts", "unknown", "cut_texts", "cut_words", "words_without_piece"), 0)
    most = math.inf if limit is None else limit
    tables = [TOKENS.empty_table()]
    rows = iter(rows)
    while counts["texts"] < most and (chunk := list(islice(rows, CHUNK))):
        columns: dict[str, list[Any]] = {name: [] for name in TOKENS.names}
        split = [text_words(row) for row in chunk]
        flat = [words for parts, _ in split for words in parts]
        encodings = iter(tokenizer.encode_batch(flat, is_pretokenized=True, add_special_tokens=False))
        for row, (texts, labels) in zip(chunk, split, strict=True):
            parts = list(islice(encodings, len(texts)))
            if counts["texts"] >= most:
                break
            if settings.drop_unknown and any(unknown in part.ids for part in parts):
                counts["unknown"] += 1
                continue
            joined = joiner.post_process(parts[0], parts[1] if len(parts) > 1 else None)
            places = _places(joined)[: len(parts)]
            words: list[str] = []
            positions: list[int] = []
            tags: list[str] = []
            for text, part, (start, size) in zip(texts, parts, places, strict=True):
                labelled = labelled_pieces(part, settings.labelled_piece)
                kept = [(word, position) for word, position in labelled if position < size]
                counts["words_without_piece"] += len(text) - len({word for word, _ in labelled})
                counts["cut_words"] += len(labelled) - len(kept)
                words += [text[word] for word, _ in kept]
                positions += [start + position for _, position in kept]
                tags += [labels[word] if labels else "" for word, _ in kept]
            counts["cut_texts"] += sum(len(part) for part in parts) > sum(size for _, size in places)
            counts["texts"] += 1
            columns["id"].append(row["id"])
            columns["language"].append(row["language"])
            columns["pieces"].append(joined.ids)
            columns["words"].append(words)
            columns["positions"].append(positions)
            columns["labels"].append(tags)
            columns["label"].append(row.get("label", ""))
            columns["second"].append(places[1][0] if len(places) > 1 else 0)
        tables.append(pa.table(columns, schema=TOKENS))
    return pa.concat_tables(tables), counts


def _joiner(tokenizer: Tokenizer, maximum: int) -> Tokenizer:
    """What cuts the pieces of one or two texts and puts special pieces around them, as this tokenizer would."""
    joiner = Tokenizer(models.WordLevel())  # its own model is never asked
    joiner.post_processor = tokenizer.post_processor
    joiner.enable_truncation(maximum, strategy="longest_first")
    return joiner


def _places(joined: Encoding) -> tuple[tuple[int, int], tuple[int, int]]:
    """First piece and number of pieces of the first and of the second text; (0, 0) for one that has none."""
    second = [position for position, text in enumerate(joined.sequence_ids) if text == 1]
    inside = [position for position, word in enumerate(joined.word_ids) if word is not None]
    size = len(inside) - len(second)
    return (inside[0] if size else 0, size), (second[0] if second else 0, len(second))


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
    rows = (row for batch in table.to_batches(CHUNK) for row in batch.to_pylist())
    tokens, counts = tokenise(load_tokenizer(encoder), rows, settings, nominal)
    if not counts["texts"]:
        raise DataError(
            f"{corpus}: none of {table.num_rows} texts is free of unknown pieces under {encoder.name}: "
            "choose an encoder that covers the language, or set tokens.drop_unknown to false"
        )
    corpora.write(tokens, output, TOKENS, counts)
    return counts
