"""From words to pieces, and the piece of a word that carries its label."""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from tokenizers import Encoding, Tokenizer, models, normalizers

from crosslens.config.tokens import Tokens
from crosslens.corpora import schema as corpora
from crosslens.corpora.splits import validation
from crosslens.corpora.words import text_words
from crosslens.errors import DataError
from crosslens.tokens.schema import TOKENS
from crosslens.tokens.windows import windows

BARE_MARKS = ("▁", "Ġ")  # what Unigram and byte-level vocabularies leave of the space before a word of an unspaced script
CUT = -1  # head of a word whose head was cut away, or has no piece
CHUNK = 2000  # texts encoded together
LOOKED_AT = 510  # pieces of a text among which unknown ones are looked for: tokeniser_mbert.py:83-99 cuts at 512 with 2 special


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
            last_word, open_word = word, piece in BARE_MARKS
        elif open_word and labelled_piece == "first_visible":
            found[-1] = (word, position)
            open_word = piece in BARE_MARKS
        elif labelled_piece == "word_starts" and not piece.startswith("##"):
            found.append((word, position))
    return found


def tokenise(
    tokenizer: Tokenizer, rows: Iterable[dict[str, Any]], settings: Tokens, limit: int | None = None
) -> tuple[pa.Table, dict[str, int]]:
    """Tokenise rows of a corpus until `limit` texts are kept; a pair is one text, its two parts one after the other.

    A text is cut to the maximum, a pair at the end of its longer part, piece by piece (tokenizers' longest_first); or a text
    becomes windows, a row each.
    Returns the TOKENS table and counts: texts kept, texts dropped for an unknown piece (see `is_known`), texts and words cut
    by the maximum, words without a piece.
    """
    if settings.labelled_piece == "word_starts" and not isinstance(tokenizer.model, models.WordPiece):
        raise DataError(
            f"tokens.labelled_piece: word_starts needs a WordPiece vocabulary, this one is {type(tokenizer.model).__name__}: "
            "choose first or first_visible"
        )
    joiner = _joiner(tokenizer)
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
            if settings.drop_unknown and not is_known(tokenizer, parts):
                counts["unknown"] += 1
                continue
            labelled = [labelled_pieces(part, settings.labelled_piece) for part in parts]
            fed = _fed(joiner, parts, settings)
            counts["texts"] += 1
            counts["words_without_piece"] += sum(map(len, texts)) - sum(len({word for word, _ in found}) for found in labelled)
            cut = sum(map(len, parts)) > sum(high - low for each in fed for low, high, _ in each.spans)
            cut_words = sum(map(len, labelled))
            counts["cut_texts"] += cut
            for number, each in enumerate(fed, start=1):
                kept = [
                    (text[word], position + shift, labels[word] if labels else "", word)
                    for text, found, (low, high, shift) in zip(texts, labelled, each.spans, strict=True)
                    for word, position in found
                    if low <= position < high
                ]
                cut_words -= len(kept)
                heads, relations = _arcs(row, [word for *_, word in kept])
                columns["id"].append(row["id"] if number == 1 else f"{row['id']}#{number}")
                columns["language"].append(row["language"])
                columns["pieces"].append(each.ids)
                columns["words"].append([form for form, *_ in kept])
                columns["positions"].append([position for _, position, *_ in kept])
                columns["labels"].append([label for _, _, label, _ in kept])
                columns["heads"].append(heads)
                columns["relations"].append(relations)
                columns["label"].append(row.get("label", ""))
                columns["second"].append(each.second)
                columns["cut"].append(cut)
            counts["cut_words"] += cut_words
            columns["cut_words"] += [cut_words, *[0] * (len(fed) - 1)]
        tables.append(pa.table(columns, schema=TOKENS))
    return pa.concat_tables(tables), counts


def _arcs(row: dict[str, Any], words: list[int]) -> tuple[list[int], list[str]]:
    """Heads and relations of labelled words, by index among the row's words: heads counted among them, CUT where one is gone."""
    if not row.get("heads"):
        return [], []
    places = {word: place for place, word in reversed(list(enumerate(words, start=1)))} | {-1: 0}
    return [places.get(row["heads"][word] - 1, CUT) for word in words], [row["relations"][word] for word in words]


class _Fed(NamedTuple):
    """What is fed of a text, or of a window of it.

    spans: of each part, its pieces low to high whose words are labelled, and how far these are moved in ids. second: first
    place of a pair's second part.
    """

    ids: list[int]
    spans: list[tuple[int, int, int]]
    second: int


def _fed(joiner: Tokenizer, parts: list[Encoding], settings: Tokens) -> list[_Fed]:
    """A text or pair with special pieces, cut to the maximum; or the windows of a text."""
    part, second = parts[0], parts[1] if len(parts) > 1 else None
    if second is None and settings.windows is not None and len(part) > settings.maximum - joiner.num_special_tokens_to_add(False):
        joiner.no_truncation()
        whole = joiner.post_process(part)
        start = _places(whole)[0][0]
        before, after = whole.ids[:start], whole.ids[start + len(part) :]
        sizes = [len(list(group)) for _, group in groupby(part.word_ids)]
        firsts = [0, *accumulate(sizes)]
        return [
            _Fed(before + part.ids[low:high] + after, [(firsts[first], high, start - low)], 0)
            for first, _, low, high in windows(sizes, settings.maximum - len(before) - len(after), settings.windows)
        ]
    joiner.enable_truncation(settings.maximum, strategy="longest_first")
    joined = joiner.post_process(part, second)
    places = _places(joined)[: len(parts)]
    return [_Fed(joined.ids, [(0, size, start) for start, size in places], places[1][0] if len(parts) > 1 else 0)]


def _joiner(tokenizer: Tokenizer) -> Tokenizer:
    """What cuts the pieces of one or two texts and puts special pieces around them, as this tokenizer would."""
    joiner = Tokenizer(models.WordLevel())  # its own model is never asked
    joiner.post_processor = tokenizer.post_processor
    return joiner


def _places(joined: Encoding) -> tuple[tuple[int, int], tuple[int, int]]:
    """First piece and number of pieces of the first and of the second text; (0, 0) for one that has none."""
    second = [position for position, text in enumerate(joined.sequence_ids) if text == 1]
    inside = [position for position, word in enumerate(joined.word_ids) if word is not None]
    size = len(inside) - len(second)
    return (inside[0] if size else 0, size), (second[0] if second else 0, len(second))


def is_known(tokenizer: Tokenizer, parts: Iterable[Encoding]) -> bool:
    """If no text has an unknown piece among its first LOOKED_AT, wherever it is cut later; a pair's texts each by itself."""
    unknown = next((found for name in ("[UNK]", "<unk>") if (found := tokenizer.token_to_id(name)) is not None), None)
    return all(unknown not in part.ids[:LOOKED_AT] for part in parts)


def load_tokenizer(folder: Path) -> Tokenizer:
    """The fast tokenizer of an encoder's folder, without truncation or padding.

    A byte-level one tells the beginning of a word by the space before it: words that come one by one get one, as
    transformers asks for with add_prefix_space.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise DataError(f"{path}: missing; expected a fast tokenizer: save the encoder's tokenizer with transformers again")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if "ByteLevel" in repr(tokenizer.pre_tokenizer):
        others = [tokenizer.normalizer] if tokenizer.normalizer else []
        tokenizer.normalizer = normalizers.Sequence([*others, normalizers.Prepend(" ")])
    return tokenizer


def write_tokens(encoder: Path, corpus: Path, output: Path, settings: Tokens, split: str) -> dict[str, int]:
    """Tokenise one file of a corpus: of candidates in random order as many as are asked for.

    Returns the counts of `tokenise`. Raises DataError when no text is left.
    """
    table, nominal = corpora.read(corpus), corpora.metadata(corpus).get("nominal", {}).get(split)
    tokens, counts = tokenise(load_tokenizer(encoder), _rows(table), settings, nominal)
    _check_left(counts["texts"], table, encoder, corpus)
    corpora.write(tokens, output, TOKENS, counts)
    return counts


def write_train(
    encoder: Path, corpus: Path, outputs: Mapping[str, Path], settings: Tokens, *, language: str, share: float, by: str, seed: int
) -> dict[str, dict[str, int]]:
    """Tokenise train and split validation off, after the texts with unknown pieces left (tanti2021's code).

    outputs: of train and validation; the texts keep their order. share, seed: see `validation`; by: what is drawn, texts or
    the values of a column, premises. Returns the counts of `tokenise` by split; texts with unknown pieces count under train.
    """
    table, tokenizer = corpora.read(corpus), load_tokenizer(encoder)
    places = list(_known(tokenizer, table) if settings.drop_unknown else range(len(table)))
    _check_left(len(places), table, encoder, corpus)
    known = table.take(places)
    chosen = validation(places if by == "text" else known[by].to_pylist(), share, seed, language)
    kept = {"train": [i for i in range(len(known)) if i not in chosen], "validation": sorted(chosen)}
    if not chosen:
        raise DataError(f"{corpus}: a validation share of {share:g} of {len(known)} texts has none; raise validation_share")
    tokens, counts = {}, {}
    for split, those in kept.items():
        tokens[split], counts[split] = tokenise(tokenizer, _rows(known.take(those)), settings)
    counts["train"]["unknown"] += len(table) - len(known)
    for split, output in outputs.items():
        corpora.write(tokens[split], output, TOKENS, counts[split])
    return counts


def _known(tokenizer: Tokenizer, table: pa.Table) -> Iterator[int]:
    """The places of the texts without unknown pieces."""
    rows = enumerate(_rows(table))
    while chunk := list(islice(rows, CHUNK)):
        split = [text_words(row)[0] for _, row in chunk]
        flat = [words for parts in split for words in parts]
        encodings = iter(tokenizer.encode_batch(flat, is_pretokenized=True, add_special_tokens=False))
        for (place, _), texts in zip(chunk, split, strict=True):
            if is_known(tokenizer, list(islice(encodings, len(texts)))):
                yield place


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    return (row for batch in table.to_batches(CHUNK) for row in batch.to_pylist())


def _check_left(texts: int, table: pa.Table, encoder: Path, corpus: Path) -> None:
    if not texts:
        raise DataError(
            f"{corpus}: none of {table.num_rows} texts is free of unknown pieces under {encoder.name}: "
            "choose an encoder that covers the language, or set tokens.drop_unknown to false"
        )
