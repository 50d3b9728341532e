"""Hidden states of sentences, and the states and records that a study has stored."""

from collections.abc import Sequence
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from torch import nn

from crosslens.encoding import stored_states
from crosslens.encoding.encoders import load, weights
from crosslens.encoding.encoders.folder import KEPT, PARTS, WEIGHTS, positions
from crosslens.encoding.encoders.special import special_subwords
from crosslens.encoding.extract import text_means
from crosslens.encoding.texts import Edges, Texts
from crosslens.encoding.tokens.tokenise import load_tokenizer
from crosslens.jobs import parquet
from crosslens.jobs.errors import DataError, short


class Encoder(NamedTuple):
    """An encoder and its tokenizer."""

    tokenizer: Tokenizer
    model: nn.Module


def load_encoder(folder: str | Path) -> Encoder:
    """Load an encoder that save_pretrained wrote, without its head, onto the GPU if there is one.

    Raises DataError if its files do not fit each other, or if its vocabulary is trimmed to a study's texts.
    """
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise DataError(f"{folder}: expected a folder with an encoder, as save_pretrained writes it, found none: download it")
    if (path / KEPT).exists():
        raise DataError(f"{folder}: expected an encoder with its whole vocabulary, found {KEPT}: name the one that was trimmed")
    tokenizer = load_tokenizer(path, whole_text=True)
    with TemporaryDirectory(prefix="crosslens-") as temporary:
        copyfile(path / PARTS["config"], Path(temporary, PARTS["config"]))
        weights.write(weights.read(path / WEIGHTS), Path(temporary, WEIGHTS))
        return Encoder(tokenizer, load.load_encoder(Path(temporary), origin=str(folder)).to(load.default_device()))


def encode(encoder: Encoder, sentences: Sequence[str]) -> np.ndarray:
    """Return the mean hidden state of each of n sentences at each layer, (layers + 1, n, d) float32; layer 0: embedding output.

    Special subwords are left out of the mean. encoder: as returned by `load_encoder`. Raises DataError for a sentence without
    subwords, or with too many.
    """
    if isinstance(sentences, str) or not len(sentences) or not all(isinstance(sentence, str) for sentence in sentences):
        raise DataError(f"sentences: expected a list of strings, found {short(sentences)}; pass one")
    tokenizer, model = encoder
    subwords = [encoding.ids for encoding in tokenizer.encode_batch(list(sentences))]
    edges, longest, n = Edges(*map(len, special_subwords(tokenizer))), positions(vars(model.config)), len(subwords)
    for number, ids in enumerate(subwords):
        if not edges.around < len(ids) <= (longest or len(ids)):
            most = f" to {longest}" if longest else " or more"
            raise DataError(f"sentences[{number}]: expected {edges.around + 1}{most} subwords, found {len(ids)}; change the text")
    texts = Texts(
        [""] * n, [""] * n, np.concatenate(subwords).astype(np.int32), np.cumsum([0, *map(len, subwords)]), np.zeros(n, np.int64),
        np.arange(n + 1), [], {}, np.zeros(n, np.int64), np.zeros(n, bool), np.zeros(n, np.int64), edges=edges,
    )  # fmt: skip
    return np.stack([*text_means(model, texts).values()])


def read_states(folder: str | Path, layer: int | None = None) -> stored_states.States:
    """Read a study's stored states of one corpus, in all languages.

    folder: states/RECIPE/seedN/CORPUS in the results folder. layer: None for the states that heads read.
    """
    if not any(Path(folder).glob("*.parquet")):
        raise DataError(f"{folder}: expected a corpus's folder of states, found no .parquet; name states/RECIPE/seedN/CORPUS")
    if layer is not None and layer not in (layers := stored_states.layers(Path(folder))):
        raise DataError(f"{folder}: expected a stored layer, {', '.join(map(str, layers))}, found {layer}; choose one of these")
    return stored_states.read(folder, layer)


def read_records(file: str | Path) -> pd.DataFrame:
    """Read tidy records, one row per value, from a file in measures/ or scores/."""
    if not Path(file).is_file():
        raise DataError(f"{file}: expected a .parquet file of a study's measures or scores, found none")
    records: pd.DataFrame = parquet.read(file).to_pandas()
    return records
