"""Hidden states from files to files."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from torch import nn

from crosslens.config.states import Draw
from crosslens.encoders.load import load_encoder
from crosslens.encoding.reading import Reading
from crosslens.encoding.texts import load
from crosslens.logs import Progress
from crosslens.states import files as states_files
from crosslens.states.draw import draw
from crosslens.states.extract import extract, text_means

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def run(
    encoder: Path,
    weights: Path,
    tokens: Mapping[str, Path],
    output: Path,
    *,
    languages: Mapping[str, Sequence[str]],
    labels: Sequence[str],
    draws: Mapping[str, Draw],
    layers: Sequence[int],
    reading: Reading,
    precision: str,
    stored: str,
    threads: int,
    log: logging.Logger,
) -> None:
    """Write output/CORPUS/LANG.parquet for each corpus of `draws`; the encoder is loaded once.

    tokens: corpus -> its folder of tokens. layers: beside what heads read. precision: of the forward pass; stored: float16 or
    float32.
    """
    torch.set_num_threads(threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = load_trained_encoder(encoder, weights, pooler=reading.state == "pooler", dtype=DTYPES[precision]).to(device)
    files = [(corpus, language) for corpus in draws for language in languages[corpus]]
    for corpus, language in Progress(len(files), f"states of {weights.parent}: languages", log).over(files):
        settings = draws[corpus]
        if settings.means:
            columns, states = _means(model, tokens[corpus], language, settings.sample_split)
        else:
            columns, states = _words(model, tokens[corpus], language, labels, settings, layers, reading)
        states_files.write(columns, states, output / corpus / f"{language}.parquet", stored)


def load_trained_encoder(folder: Path, weights: Path, *, pooler: bool = False, dtype: torch.dtype = torch.float32) -> nn.Module:
    """The encoder as a training left it: its folder's weights, replaced by those of the model file where it has any.

    Raises DataError where the folder's weights are not those of its configuration, or have no pooler that is asked for.
    """
    encoder = load_encoder(folder, pooler=pooler, dtype=dtype)
    with safe_open(weights, "pt") as stored:
        if (stored.metadata() or {}).get("encoder") == "yes":
            names = [name for name in stored.keys() if name.startswith("encoder.")]
            encoder.load_state_dict({name.removeprefix("encoder."): stored.get_tensor(name).to(dtype) for name in names})
    return encoder


def _means(model: nn.Module, tokens: Path, language: str, split: str) -> tuple[dict[str, list[object]], dict[str, np.ndarray]]:
    """All texts of a split of a language, and the means of their states: columns of the file, name -> (n, d)."""
    texts = load([tokens / f"{language}.{split}.parquet"], (), (), "text")
    n = len(texts)
    columns: dict[str, list[object]] = {"id": [*texts.ids], "word": [*texts.words], "label": [""] * n, "language": [language] * n}
    return columns | {"split": [split] * n, "sample": [True] * n, "random": [False] * n}, text_means(model, texts)


def _words(
    model: nn.Module, tokens: Path, language: str, labels: Sequence[str], settings: Draw,
    layers: Sequence[int], reading: Reading,
) -> tuple[dict[str, list[object]], dict[str, np.ndarray]]:  # fmt: skip
    """Drawn words of all splits of a language, and their states: columns of the file, name -> (n, d)."""
    columns: dict[str, list[object]] = {name: [] for name in ("id", "word", "label", "language", "split", "sample", "random")}
    parts = []
    for split in settings.splits():
        texts = load([tokens / f"{language}.{split}.parquet"], labels, [language], reading.unit)
        rows, sample, random = draw(texts, language, split, settings)
        parts.append(extract(model, texts, rows, layers, reading))
        columns["id"] += [texts.ids[i] for i in texts.word_offsets.searchsorted(rows, side="right") - 1]
        columns["word"] += [texts.words[i] for i in rows]
        columns["label"] += [labels[value] if value >= 0 else "" for value in texts.labels["task"][rows]]
        columns["language"] += [language] * len(rows)
        columns["split"] += [split] * len(rows)
        columns["sample"] += sample.tolist()
        columns["random"] += random.tolist()
    return columns, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
