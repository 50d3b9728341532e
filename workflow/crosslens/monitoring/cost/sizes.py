"""How much text there is: counted where it is tokenised, or read; otherwise estimated from the configuration."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from crosslens.config.corpora import OfficialCorpus, ParagraphCorpus
from crosslens.config.whole import Config
from crosslens.corpora.splits import apportion
from crosslens.recipes import Data
from crosslens.storage import parquet
from crosslens.storage.bounded import read_json

TEXTS = {
    # Texts a language, train, dev and test, of whole distributions, as their documents or a paper's appendix print them.
    "xnli": (392_702, 2_490, 5_010), "panx": (20_000, 10_000, 6_000), "wikiann": (20_000, 10_000, 10_000),
    "conll2002": (12_000, 2_400, 3_400), "conll2003": (14_041, 3_250, 3_453), "conll2003_german": (12_152, 2_867, 3_005),
    "msra": (46_364, 0, 4_365), "mldoc": (1_000, 1_000, 4_000), "sib-200": (701, 99, 204), "wili": (500, 0, 500),
    "wiki_lang_id": (3_500, 500, 500),
    "pud": (0, 0, 1_000),
    # Of treebanks: means over the languages of UD (tanti2021, appendix A: 21,006; 66,062 of 29 languages; 95,065 of 33).
    "treebank": (21_000, 2_300, 2_900), "pairs": (392_702, 2_490, 5_010), "entities": (14_000, 3_000, 3_500),
    "documents": (1_000, 1_000, 4_000), "dictionary": (5_000, 0, 1_500),
}  # fmt: skip
"""By corpus, else by source, else by kind of corpus."""
PIECES = {
    "treebank": 30, "pairs": 42, "entities": 20, "documents": 130, "paragraphs": 110, "dictionary": 4, "typology": 0,
    "sib-200": 32,  # its texts are sentences
}  # fmt: skip
"""Subwords a text of mBERT's vocabulary, special ones included, by source, else by kind of corpus."""
Entry = TypeVar("Entry")
SENTENCES, SENTENCE = 2.5, 32  # of a paragraph; subwords of one
PAGE = 10  # paragraphs of a page
WORDS = 0.6  # words a subword
PHRASEBOOK = 0.5  # length of its sentences
TRIMMED = {True: 5_000, False: 50_000}  # subwords that texts of the phrasebook, and real ones, leave of a vocabulary
BERT = (12, 768, 3072, 119_547)
SHAPES = {
    "google-bert/bert-base-multilingual-cased": BERT,
    "FacebookAI/xlm-roberta-base": (12, 768, 3072, 250_002),
    "intfloat/multilingual-e5-small": (12, 384, 1536, 250_037),
}
PLACES = {"train": 0, "validation": 1, "dev": 1, "test": 2}


@dataclass(frozen=True)
class Shape:
    """Shape of an encoder."""

    layers: int
    hidden: int
    inner: int
    vocabulary: int

    @property
    def parameters(self) -> int:
        """Number of parameters of the blocks, the word embeddings and the positions."""
        return self.layers * (4 * self.hidden**2 + 2 * self.hidden * self.inner) + (self.vocabulary + 512) * self.hidden

    def products(self, length: float) -> float:
        """FLOPs of a piece on its way through all blocks, in a text of a length: products with weights, then attention."""
        return self.layers * (8 * self.hidden**2 + 4 * self.hidden * self.inner + 4 * self.hidden * length)


@dataclass(frozen=True)
class Size:
    """Size of some texts. counted: whether all of it is counted, not estimated."""

    texts: float = 0
    pieces: float = 0
    words: float = 0
    counted: bool = True

    @property
    def length(self) -> float:
        """Mean length in pieces."""
        return self.pieces / self.texts if self.texts else 1.0

    def times(self, factor: float) -> "Size":
        """Size of a share of the texts, or of several times all."""
        return Size(self.texts * factor, self.pieces * factor, self.words * factor, self.counted)

    @classmethod
    def total(cls, parts: Iterable["Size"]) -> "Size":
        """Sum of sizes."""
        sizes = list(parts)
        sums = {name: sum(getattr(part, name) for part in sizes) for name in ("texts", "pieces", "words")}
        return cls(**sums, counted=all(part.counted for part in sizes))


class Sizes:
    """Sizes of the texts and encoders of a configuration."""

    def __init__(self, config: Config, root: Path = Path()) -> None:
        self.config, self.results = config, root / config.results
        self.of = cache(self._of)

    def tokens(self, encoder: str, reading: str, corpus: str, language: str, split: str) -> Size:
        """Size of a file of tokens."""
        shared = self.config.encoders[encoder].shares() or encoder
        return _tokens(self.results / f"tokens/{shared}/{reading}/{corpus}/{language}.{split}.parquet") or self._estimate(
            corpus, language, split, reading
        )

    def _of(self, data: Data, encoder: str, reading: str) -> Size:
        """Size of a Data of a recipe with an encoder and a reading."""
        parts = {language: self.tokens(encoder, reading, data.corpus, language, data.split) for language in data.languages}
        if data.capped_by:
            most = parts[data.capped_by].texts / len(parts)
            parts = {code: part.times(min(1.0, most / max(part.texts, 1))) for code, part in parts.items()}
        if data.texts:
            parts = {code: part.times(min(1.0, data.texts / max(part.texts, 1))) for code, part in parts.items()}
        whole = Size.total(parts.values())
        if not data.window:
            return whole
        running = whole.pieces - 2 * whole.texts
        stretches = whole.texts if data.within == "text" else whole.texts / (PAGE * SENTENCES)
        windows = max(stretches, running / (data.window - 2) + stretches / 2)  # the last one of a stretch is half full
        return Size(windows, running + 2 * windows, whole.words, whole.counted)

    def rows(self, corpus: str, language: str, split: str) -> tuple[float, bool]:
        """Texts of a corpus before they are tokenised, and whether they were counted."""
        configured, rows_by_split = self.config.corpora[corpus], self._rows(corpus, language)
        if split in rows_by_split:
            return rows_by_split[split], True
        if isinstance(configured, ParagraphCorpus):
            parts = apportion(configured.paragraphs, configured.shares)
            return next((number for part, number in parts.items() if part == split), 0), False
        if not isinstance(configured, OfficialCorpus):
            return 0.0, False
        shared = split == "validation" and not configured.files_of(language, "validation")
        counts = self._generated(configured.kind) if configured.source == "phrasebook" else self._entry(TEXTS, corpus)
        texts = float(counts[PLACES["train" if shared else split]])
        texts = rows_by_split.get("train", texts) if shared else texts
        if (limit := configured.limits.get("train" if shared else split)) is not None:  # type: ignore[call-overload]
            texts = min(texts, limit)
        return texts * (configured.validation_share if shared else 1.0), shared and "train" in rows_by_split

    def _entry(self, table: Mapping[str, Entry], corpus: str) -> Entry:
        """Entry of a corpus in TEXTS or PIECES."""
        configured = self.config.corpora[corpus]
        return next(table[name] for name in (corpus, configured.source, configured.kind) if name in table)

    def _generated(self, kind: str) -> tuple[int, int, int]:
        """Texts a language of the phrasebook: train, dev, test."""
        book = self.config.phrasebook
        if kind == "treebank":
            return book.train, book.dev, book.test
        if kind == "pairs":  # each premise has three hypotheses
            return 3 * book.inference_train, 3 * book.inference_dev, 3 * book.inference_test
        return 3 * book.records, book.records, book.records

    def _rows(self, corpus: str, language: str) -> dict[str, float]:
        folder = self.results / "corpora" / corpus
        return {path.name.split(".")[1]: _count(path) for path in sorted(folder.glob(f"{language}.*.parquet"))}

    def _estimate(self, corpus: str, language: str, split: str, reading: str) -> Size:
        texts, _ = self.rows(corpus, language, split)
        rule = self.config.readings[reading].of(split)
        factor = PHRASEBOOK if self.config.corpora[corpus].source == "phrasebook" else 1.0
        length, sentence = self._entry(PIECES, corpus) * factor, SENTENCE * factor
        if rule.each_sentence:
            texts, length = texts * max(1.0, min(SENTENCES, length / sentence)), min(length, sentence)
        elif rule.sentences:
            length = min(length, 2 * sentence)
        length = min(length, rule.maximum)
        return Size(texts, texts * length, texts * length * WORDS, False)

    def shape(self, encoder: str) -> Shape:
        """Shape of an encoder: as its folder says where there is one, else as configured or published."""
        configured = self.config.encoders[encoder]
        for folder in ("encoders", "tokenizers"):
            file = self.results / folder / encoder / "config.json"
            if file.is_file() and isinstance(settings := read_json(file), dict) and "hidden_size" in settings:
                names = ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size")
                return Shape(*(int(settings.get(name) or 0) for name in names))
        if configured.source == "random":
            vocabulary = self.shape(configured.tokenizer).vocabulary if configured.tokenizer else configured.vocabulary
            return Shape(configured.layers, configured.hidden, 4 * configured.hidden, vocabulary)
        layers, hidden, inner, vocabulary = SHAPES.get(getattr(configured, "id", ""), BERT)
        if configured.corpora:
            generated = all(self.config.corpora[corpus].source == "phrasebook" for corpus in configured.corpora)
            vocabulary = min(vocabulary, TRIMMED[generated])
        return Shape(layers, hidden, inner, vocabulary)


@cache
def _tokens(path: Path) -> Size | None:
    """Texts, pieces and labelled words of a file of tokens, from its footer alone; None where there is none."""
    if not path.is_file():
        return None
    footer = parquet.footer(path)
    counts = {"pieces": 0, "positions": 0}
    for group in range(footer.num_row_groups):
        for number in range(footer.num_columns):
            column = footer.row_group(group).column(number)
            if (name := column.path_in_schema.partition(".")[0]) in counts:
                counts[name] += column.num_values
    return Size(footer.num_rows, counts["pieces"], counts["positions"])


@cache
def _count(path: Path) -> int:
    return int(parquet.footer(path).num_rows)
