"""Tokenisation of words into subwords, and choice of the subword that carries a word's label."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from logging import Logger
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Encoding, Tokenizer, models, normalizers

from crosslens.config.tokenisations import Tokenisation, to_keep_unknown
from crosslens.corpora import schema as corpora
from crosslens.corpora.splits import validation
from crosslens.encoding.encoders.folder import read
from crosslens.encoding.encoders.special import special_subwords
from crosslens.encoding.encoders.word_marks import MARKS
from crosslens.encoding.tokens.schema import SPECIAL, TOKENS
from crosslens.encoding.tokens.sentences import splitter
from crosslens.encoding.tokens.texts import CHUNK, KnownTexts, Text, numbered
from crosslens.encoding.tokens.windows import windows
from crosslens.jobs import parquet
from crosslens.jobs.checksums import checksummed, verified
from crosslens.jobs.errors import DataError

CUT = -1  # head of a word whose head was cut off, or has no subword
# The columns of TOKENS; the place of the row's text in the corpus; whether the row is the first window of its text; the number
# of words of the text without a subword (0 in further windows).
PLACED = pa.schema(
    [*TOKENS, pa.field("place", pa.int32()), pa.field("first", pa.bool_()), pa.field("words_without_subword", pa.int32())]
)


def tokenise(
    tokenizer: Tokenizer,
    rows: Iterable[dict[str, Any]],
    settings: Tokenisation,
    limit: int | None = None,
    punkt: Path | None = None,
) -> tuple[pa.Table, dict[str, int]]:
    """Tokenise rows of a corpus until texts of `limit` rows are kept, and return the TOKENS table and counts.

    A pair is one text, its two parts one after the other. A text is cut to the maximum; from a pair, subwords are removed one
    by one at the end of the longer part (longest_first of tokenizers). With windows, a text is instead divided into several
    rows.
    limit: None: all rows. punkt: archive of the models that find sentences, if the tokenisation needs them.
    The counts are texts kept, texts dropped for an unknown subword (see `KnownTexts`), texts and words cut by the maximum, and
    words without a subword. Raises DataError for word_starts without a WordPiece vocabulary.
    """
    texts = _known(tokenizer, rows, settings, punkt, limit)
    table = _placed(texts, tokenizer, settings)
    return table.select(TOKENS.names), _counts(table, texts.dropped)


def altering(tokenizer: Tokenizer, settings: Tokenisation) -> Tokenizer:
    """The tokenizer; if the tokenisation says so, a copy that removes marks or lower-cases before its own normaliser.

    Source: transformers' BasicTokenizer for uncased models (tokenization_bert.py, _run_strip_accents: NFD, then characters of
    category Mn are removed).
    """
    if not settings.alters():
        return tokenizer
    before = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=False, strip_accents=settings.strip_accents, lowercase=settings.lower_case
    )
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.encode_special_tokens = tokenizer.encode_special_tokens
    copy.normalizer = normalizers.Sequence([before, *([copy.normalizer] if copy.normalizer else [])])
    return copy


def labelled_subwords(encoding: Encoding, labelled_subword: str) -> list[tuple[int, int]]:
    """(word, position) of each labelled subword of one text, in order of position.

    labelled_subword: setting of the tokenisation. A word whose characters the tokenizer drops has no subword, and so no entry.
    """
    labelled: list[tuple[int, int]] = []
    last_word, open_word = -1, False
    for position, (word, subword) in enumerate(zip(encoding.word_ids, encoding.tokens, strict=True)):
        if word is None:
            continue
        if word != last_word:
            labelled.append((word, position))
            last_word, open_word = word, subword in MARKS
        elif open_word and labelled_subword == "first_visible":
            labelled[-1] = (word, position)
            open_word = subword in MARKS
        elif labelled_subword == "every" or (labelled_subword == "word_starts" and not subword.startswith("##")):
            labelled.append((word, position))
    return labelled


def _known(
    tokenizer: Tokenizer, rows: Iterable[dict[str, Any]], settings: Tokenisation, punkt: Path | None, limit: int | None = None
) -> KnownTexts:
    split = splitter(settings.sentences, punkt) if settings.sentences else None
    room = settings.maximum - tokenizer.num_special_tokens_to_add(False) if settings.unknown_words else None
    altered, flags = altering(tokenizer, settings), {"each_sentence": settings.each_sentence, "whole": settings.whole_text}
    return KnownTexts(altered, rows, settings.drop_unknown, split, limit=limit, room=room, **flags)


def _placed(texts: Iterable[Text], tokenizer: Tokenizer, settings: Tokenisation) -> pa.Table:
    """The PLACED table of texts, built in chunks so that few encodings are in memory at a time."""
    if settings.labelled_subword == "word_starts" and not isinstance(tokenizer.model, models.WordPiece):
        raise DataError(
            f"tokens.labelled_subword: expected a WordPiece vocabulary for word_starts, found {type(tokenizer.model).__name__}: "
            "set first or first_visible"
        )
    joiner = _joiner(tokenizer)
    tables = [PLACED.empty_table()]
    for _, chunk in groupby(texts, lambda text: text.place // CHUNK):
        tables.append(pa.Table.from_pylist([row for text in chunk for row in _rows(text, joiner, settings)], PLACED))
    return pa.concat_tables(tables)


def _counts(table: pa.Table, unknown: int) -> dict[str, int]:
    """The counts of `tokenise` from a PLACED table. unknown: number of texts left out of it for an unknown subword."""
    return {
        "texts": pc.sum(table["first"], min_count=0).as_py(),
        "unknown": unknown,
        "cut_texts": pc.sum(pc.and_(table["first"], table["cut"]), min_count=0).as_py(),
        "cut_words": pc.sum(table["cut_words"], min_count=0).as_py(),
        "words_without_subword": pc.sum(table["words_without_subword"], min_count=0).as_py(),
    }


def _rows(text: Text, joiner: Tokenizer, settings: Tokenisation) -> Iterator[dict[str, Any]]:
    """The PLACED row of a text, or the rows of its windows."""
    labelled = [
        (part, word, position)
        for part, encoding in enumerate(text.parts)
        for word, position in labelled_subwords(encoding, settings.labelled_subword)
    ]
    inputs = _inputs(joiner, text.parts, settings)
    words_by_window = [
        [(part, word, position + spans[part].shift) for part, word, position in labelled if position in spans[part].subwords]
        for spans in (encoder_input.spans for encoder_input in inputs)
    ]
    cut = sum(map(len, text.parts)) > sum(len(span.subwords) for encoder_input in inputs for span in encoder_input.spans)
    cut_words = len(labelled) - sum(map(len, words_by_window))
    words_without_subword = sum(map(len, text.words)) - len({(part, word) for part, word, _ in labelled})
    for number, (encoder_input, words) in enumerate(zip(inputs, words_by_window, strict=True)):
        heads, relations = _arcs(text.row, [word for _, word, _ in words])
        yield {
            "id": numbered(text.row, number),
            "language": text.row["language"],
            "page": text.row.get("page", ""),
            "subwords": encoder_input.subwords,
            "words": [text.words[part][word] for part, word, _ in words],
            "positions": [position for _, _, position in words],
            "labels": [text.labels[word] if text.labels else "" for _, word, _ in words],
            "heads": heads,
            "relations": relations,
            "label": text.row.get("label", ""),
            "second": encoder_input.second,
            "cut": cut,
            "cut_words": 0 if number else cut_words,
            "place": text.place,
            "first": not number,
            "words_without_subword": 0 if number else words_without_subword,
        }


def _arcs(row: dict[str, Any], words: list[int]) -> tuple[list[int], list[str]]:
    """Heads of labelled words, numbered among these from 1, and their relations; the head is CUT if it is missing.

    words: index of each labelled word among the row's words.
    """
    if not row.get("heads"):
        return [], []
    places = {word: place for place, word in reversed(list(enumerate(words, start=1)))} | {-1: 0}
    return [places.get(row["heads"][word] - 1, CUT) for word in words], [row["relations"][word] for word in words]


class NoTextLeftError(DataError):
    """Every text of a corpus file has an unknown subword and is dropped."""


class _Span(NamedTuple):
    """Subwords of a text whose words are labelled in an input, and the shift from places in the text to those in the input."""

    subwords: range
    shift: int


class _Input(NamedTuple):
    """Input of an encoder: a text, a pair, or a window of a text."""

    subwords: list[int]  # with special ones
    spans: list[_Span]  # of the text, or of each text of a pair
    second: int  # place of the first subword of a pair's second text; 0 without one


def _inputs(joiner: Tokenizer, parts: list[Encoding], settings: Tokenisation) -> list[_Input]:
    """A text or pair with special subwords, cut to the maximum; or the windows of a text."""
    part, second = parts[0], parts[1] if len(parts) > 1 else None
    if second is None and part.ids and (settings.windows is not None or settings.whole_words or settings.words):
        joiner.no_truncation()
        whole = joiner.post_process(part)
        start = _extents(whole)[0][0]
        before, after = whole.ids[:start], whole.ids[start + len(part) :]
        room = settings.maximum - len(before) - len(after)
        return [
            _Input(before + part.ids[low:high] + after, [_Span(range(first, high), start - low)], 0)
            for first, low, high in _extracts(part.word_ids, room, settings)
        ]
    joiner.enable_truncation(settings.maximum, strategy="longest_first")
    joined = joiner.post_process(part, second)
    extents = _extents(joined)
    return [_Input(joined.ids, [_Span(range(size), start) for start, size in extents], second=extents[1][0])]


def _extracts(words: Sequence[Any], room: int, settings: Tokenisation) -> list[tuple[int, int, int]]:
    """First labelled subword, first subword and end of the part of a text that is kept, or of each of its windows.

    words: word of each subword. room: largest number of subwords, without special ones.
    """
    if settings.windows is not None:
        sizes = [len(list(group)) for _, group in groupby(words)]
        firsts = [0, *accumulate(sizes)]
        return [(firsts[word], low, high) for word, _, low, high in windows(sizes, room, settings.windows)]
    end = len(words) if settings.words is None else bisect_left(words, settings.words)
    if end > room:
        end = bisect_left(words, words[room]) if settings.whole_words else room
    return [(0, 0, end)]


def _joiner(tokenizer: Tokenizer) -> Tokenizer:
    """A tokenizer that only truncates one or two texts and adds special subwords, in the way of `tokenizer`."""
    joiner = Tokenizer(models.WordLevel())  # its own model is never used
    joiner.post_processor = tokenizer.post_processor
    return joiner


def _extents(joined: Encoding) -> tuple[tuple[int, int], tuple[int, int]]:
    """First place and number of subwords of the first and of the second text; (0, 0) for a text without subwords."""
    second = [position for position, text in enumerate(joined.sequence_ids) if text == 1]
    inside = [position for position, word in enumerate(joined.word_ids) if word is not None]
    size = len(inside) - len(second)
    return (inside[0] if size else 0, size), (second[0] if second else 0, len(second))


def load_tokenizer(folder: Path, whole_text: bool = False) -> Tokenizer:
    """The tokenizer of an encoder's folder, for words given one by one or, with `whole_text`, for whole texts.

    Raises DataError if it is damaged.
    """
    description = read(folder)
    return description.fast_tokenizer() if whole_text else description.word_tokenizer()


def write_corpus_tokens(
    folder: Path, files: Mapping[tuple[str, str], Path], output: Path, settings: Tokenisation, shared: Mapping[str, Any], log:
    Logger, name: str, punkt: Path | None = None,
) -> None:  # fmt: skip
    """Tokenise the files of a corpus into LANGUAGE.SPLIT.parquet below `output`.

    folder: of the encoder's tokenizer. files: (language, split) -> corpus file. shared: `languages`, whose validation is a
    share of train, and the settings of its sampling (share, by, seed of `write_train`). name: of the tokenisation. punkt:
    archive of models, see `tokenise`. Raises DataError, with all languages in which no text is left.
    """
    lacking = []
    sampling = {key: value for key, value in shared.items() if key != "languages"}
    tokenizer = load_tokenizer(verified(folder), settings.whole_text)  # once: a large vocabulary takes a second
    with checksummed(output) as temporary:
        for (language, split), corpus in files.items():
            outputs = {part: temporary / f"{language}.{part}.parquet" for part in (split, "validation")}
            try:
                if split == "train" and language in shared["languages"]:
                    counts_by_split = write_train(
                        tokenizer, corpus, outputs, settings, language=language, punkt=punkt, **sampling
                    )
                else:
                    counts_by_split = {split: write_tokens(tokenizer, corpus, outputs[split], settings, split, punkt)}
            except NoTextLeftError:
                lacking.append(language)
                continue
            for part, counts in counts_by_split.items():
                log.info("%s.%s: %s", language, part, ", ".join(f"{kind} {count}" for kind, count in counts.items()))
        if lacking:
            raise DataError(
                f"{corpus.parent}: expected texts without unknown subwords, found none in {', '.join(dict.fromkeys(lacking))}: "
                f"choose an encoder that covers these languages; or, {to_keep_unknown(name, 'your overlay')}"
            )


def write_tokens(
    tokenizer: Tokenizer, corpus: Path, output: Path, settings: Tokenisation, split: str, punkt: Path | None = None
) -> dict[str, int]:
    """Tokenise a file of a corpus, up to its nominal number of texts, and return the counts of `tokenise`.

    Raises DataError if no text remains.
    """
    table, nominal = corpora.read(corpus), parquet.metadata(corpus).get("nominal", {}).get(split)
    tokens, counts = tokenise(tokenizer, _corpus_rows(table), settings.of(split), nominal, punkt)
    _check_left(counts["texts"], table, corpus)
    write(tokens, output, counts, tokenizer)
    return counts


def write_train(
    tokenizer: Tokenizer, corpus: Path, outputs: Mapping[str, Path], settings: Tokenisation, *,
    language: str, share: float, by: str, seed: int, punkt: Path | None = None,
) -> dict[str, dict[str, int]]:  # fmt: skip
    """Tokenise train and split off validation, after texts with unknown subwords are dropped (tanti2021's code).

    outputs: files of train and validation, in which the texts keep their order. share, seed: see `validation`. by: unit that is
    sampled, "text" or the values of a column, such as premises. Returns the counts of `tokenise` by split; texts with unknown
    subwords count under train. Raises DataError if no text remains, or none for validation.
    """
    table = corpora.read(corpus)
    texts = _known(tokenizer, _corpus_rows(table), settings, punkt)
    tokens = _placed(texts, tokenizer, settings.of("train"))
    places = pc.unique(tokens["place"])
    _check_left(len(places), table, corpus)
    groups = places if by == "text" else table[by].take(places)
    validation_groups = validation(groups.to_pylist(), share, seed, language)
    if not validation_groups:
        raise DataError(
            f"{corpus}: expected at least one text for validation, found none in a share of {share:g} of {len(places)} texts; "
            "increase validation_share"
        )
    is_sampled = pc.is_in(tokens["place"], places.take(pa.array(sorted(validation_groups))))
    counts = {}
    for split, chosen, unknown in (("train", pc.invert(is_sampled), texts.dropped), ("validation", is_sampled, 0)):
        # Equal chunks, so that the pages of the file do not depend on which texts are sampled.
        part = pa.Table.from_batches(tokens.filter(chosen).combine_chunks().to_batches(CHUNK))
        counts[split] = _counts(part, unknown)
        write(part.select(TOKENS.names), outputs[split], counts[split], tokenizer)
    return counts


def write(tokens: pa.Table, output: Path, counts: Mapping[str, int], tokenizer: Tokenizer) -> None:
    """Write a TOKENS table with its counts and the numbers of special subwords before, between and after texts."""
    corpora.write(tokens, output, TOKENS, {**counts, SPECIAL: [len(subwords) for subwords in special_subwords(tokenizer)]})


def _corpus_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    return (row for batch in table.to_batches(CHUNK) for row in batch.to_pylist())


def _check_left(texts: int, table: pa.Table, corpus: Path) -> None:
    if not texts:
        raise NoTextLeftError(f"{corpus}: expected texts without unknown subwords, found none of {table.num_rows}")
