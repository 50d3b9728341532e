"""Hidden states of sentences, and the states and records that a study has stored."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from torch import nn

from crosslens.config.encoders import FolderEncoder
from crosslens.encoding import stored_states
from crosslens.encoding.encoders import load
from crosslens.encoding.encoders.build import build
from crosslens.encoding.encoders.describe import describe
from crosslens.encoding.encoders.folder import positions
from crosslens.encoding.encoders.special import special_subwords
from crosslens.encoding.extract import text_means
from crosslens.encoding.texts import Edges, Texts
from crosslens.encoding.tokens.tokenise import load_tokenizer
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError, short


@dataclass(frozen=True)
class Encoder:
    """An encoder and its tokenizer. longest: subwords of a text at most; None: config.json states no limit."""

    tokenizer: Tokenizer
    model: nn.Module
    longest: int | None


def load_encoder(folder: str | Path) -> Encoder:
    """Load an encoder that save_pretrained wrote, or one of a study's folder `encoders`, onto the GPU if there is one.

    It is tried as those of a study are (docs/new-encoder.md). Raises DataError where that fails, or where its vocabulary is
    trimmed to the texts of a study.
    """
    path, log = Path(folder).expanduser(), logging.getLogger("crosslens")
    if not path.is_dir():
        raise DataError(f"{folder}: expected a folder with an encoder, as save_pretrained writes it, found none: download it")
    settings = FolderEncoder(source="folder", path=str(path))
    with TemporaryDirectory(prefix="crosslens-") as temporary:
        tokenizer, whole = Path(temporary, "tokenizer"), Path(temporary, "encoder")
        describe(settings, [], tokenizer, log)
        build(settings, tokenizer, whole, log)
        subwords, model = load_tokenizer(whole, whole_text=True), load.load_encoder(whole, origin=str(folder))
    return Encoder(subwords, model.to(load.default_device()), positions(vars(model.config)))


def encode(encoder: Encoder | str | Path, sentences: Sequence[str]) -> np.ndarray:
    """Return the mean hidden states of n sentences without special subwords, (layers + 1, n, d) float32.

    encoder: as `load_encoder` returns it, or its folder. Layer 0 is the embedding output. Raises DataError for a sentence that
    has no subword, or more than the encoder has positions for: sentences are not cut.
    """
    if isinstance(sentences, str) or not len(sentences) or not all(isinstance(sentence, str) for sentence in sentences):
        raise DataError(f"sentences: expected a list of strings, found {short(sentences)}")
    encoder = encoder if isinstance(encoder, Encoder) else load_encoder(encoder)
    subwords = [encoding.ids for encoding in encoder.tokenizer.encode_batch(list(sentences))]
    edges, n = Edges(*map(len, special_subwords(encoder.tokenizer))), len(subwords)
    for number, (sentence, ids) in enumerate(zip(sentences, subwords, strict=True)):
        if len(ids) <= edges.around:
            raise DataError(f"sentences[{number}]: expected text with subwords, found {sentence!r:.40}: leave it out")
        if encoder.longest and len(ids) > encoder.longest:
            raise DataError(f"sentences[{number}]: expected at most {encoder.longest} subwords, found {len(ids)}: divide it")
    texts = Texts(
        [""] * n, [""] * n, np.concatenate(subwords).astype(np.int32), np.cumsum([0, *map(len, subwords)]), np.zeros(n, np.int64),
        np.arange(n + 1), [], {}, np.zeros(n, np.int64), np.zeros(n, bool), np.zeros(n, np.int64), edges=edges,
    )  # fmt: skip
    return np.stack([*text_means(encoder.model, texts).values()])


def read_states(folder: str | Path, layer: int | None = None) -> stored_states.States:
    """Read the states that a study stored of a corpus's words or sentences, states/RECIPE/seedN/CORPUS, of all languages.

    layer: None for the states that heads read. Raises DataError where there are none, or where a file has changed since it was
    written.
    """
    if not any(Path(folder).glob("*.parquet")):
        raise DataError(f"{folder}: expected a corpus's folder of states, states/RECIPE/seedN/CORPUS, found no .parquet files")
    layers = stored_states.layers(Path(folder))
    if layer is not None and layer not in layers:
        raise DataError(f"{folder}: expected a stored layer, {', '.join(map(str, layers))}, found {layer}")
    return stored_states.read(folder, layer)


def read_records(file: str | Path, *files: str | Path) -> pd.DataFrame:
    """Read tidy records, a row for each number: measures/KIND/RECIPE.parquet or its seedN.parquet, or scores/PAPER.parquet."""
    for path in (file, *files):
        if not Path(path).is_file():
            raise DataError(f"{path}: expected a .parquet file of a study's measures or scores, found none")
    records: pd.DataFrame = pd.concat([parquet.read(path).to_pandas() for path in (file, *files)], ignore_index=True)
    return records
