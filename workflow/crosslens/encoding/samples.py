"""Sampled words on disk: CORPUS/LANG.parquet, one row per word or text, in the order of splits and tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from crosslens.config.samples import Samples, Sampling
from crosslens.encoding.parallel_texts import unmeasurable
from crosslens.encoding.sampling import sample_words
from crosslens.encoding.texts import load
from crosslens.jobs import parquet
from crosslens.jobs.checksums import checksummed, verified

SCHEMA = pa.schema(
    [
        ("id", pa.string()),  # of the text
        ("word", pa.string()),  # the word form, or the text
        ("label", pa.string()),  # of the task; '' without a label
        ("language", pa.string()),
        ("split", pa.string()),
        ("sample", pa.bool_()),  # in the figure's sample
        ("random", pa.bool_()),  # among the evenly sampled words
        ("row", pa.int64()),  # number of the word among the labelled words of the split's token file
    ]
)


@dataclass(frozen=True)
class SampledWords:
    """n sampled words, or whole texts."""

    texts: np.ndarray  # (n,) id of the text
    words: np.ndarray  # (n,) the word form, or the text
    labels: np.ndarray  # (n,) the task's label; '' without one
    languages: np.ndarray  # (n,)
    splits: np.ndarray  # (n,)
    sample: np.ndarray  # (n,) bool: in the figure's sample
    random: np.ndarray  # (n,) bool: among the evenly sampled words

    @classmethod
    def of(cls, table: pa.Table, **fields: np.ndarray) -> Self:
        """Words from the columns of SCHEMA. fields: values of the fields that a subclass adds."""
        columns = {name: np.array(table[name].to_pylist()) for name in SCHEMA.names if name != "row"}
        # Texts of two languages may have the same id.
        pairs = zip(columns["language"], columns.pop("id"), strict=True)
        texts = np.array([f"{language}/{text}" for language, text in pairs])
        plural = {f"{name}s": columns.pop(name) for name in ("word", "label", "language", "split")}
        return cls(texts=texts, **plural, **columns, **fields)

    def take(self, chosen: np.ndarray) -> Self:
        """The chosen words, by index or mask."""
        return type(self)(**{name: getattr(self, name)[chosen] for name in self.__dataclass_fields__})

    def has_labels(self) -> bool:
        """Whether any word has a label of the task."""
        return bool((self.labels != "").any())

    def sampled(self) -> Self:
        """The figure's sample, without unlabelled words if the corpus has labels."""
        return self.take(self.sample & (self.labels != "") if self.has_labels() else self.sample)


def write(settings: Samples, tokens: Mapping[str, Path], folder: Path) -> None:
    """Sample words and write them to folder/CORPUS/LANG.parquet. tokens: corpus -> its folder of token files.

    Languages of parallel texts that cannot be measured get no file. Raises DataError if nothing is left to measure.
    """
    with checksummed(folder) as temporary:
        for corpus, sampling in settings.corpora.items():
            left_out = unmeasurable(tokens[corpus], sampling.languages, sampling.pivot) if sampling.pivot else {}
            for language in (language for language in sampling.languages if language not in left_out):
                files = [(split, tokens[corpus] / f"{language}.{split}.parquet") for split in sampling.splits()]
                parts = [_sampled(settings, sampling, language, split, file) for split, file in files]
                parquet.write(pa.concat_tables(parts), temporary / corpus / f"{language}.parquet")


def _sampled(settings: Samples, sampling: Sampling, language: str, split: str, tokens: Path) -> pa.Table:
    texts = load([tokens], settings.labels, (), settings.unit)
    rows, sample, random = sample_words(texts, language, split, sampling)
    labels = texts.labels["task"][rows]
    columns = {
        "id": [texts.ids[i] for i in texts.word_offsets.searchsorted(rows, side="right") - 1],
        "word": [texts.words[i] for i in rows],
        "label": [settings.labels[label] if label >= 0 else "" for label in labels],
        "language": [language] * len(rows),
        "split": [split] * len(rows),
        "sample": sample,
        "random": random,
        "row": rows,
    }
    return pa.table(columns, schema=SCHEMA)


def read(folder: Path) -> SampledWords:
    """Sampled words of all languages of a corpus, language by language. folder: folder of the corpus."""
    return SampledWords.of(
        pa.concat_tables([parquet.read(path, schema=SCHEMA) for path in sorted(verified(folder).glob("*.parquet"))])
    )
