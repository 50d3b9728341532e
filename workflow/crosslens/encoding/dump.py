"""Extraction of hidden states from files of drawn words to files of states."""

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import torch
from torch import nn

from crosslens.config.draws import Draws
from crosslens.config.units import Units
from crosslens.encoders.load import default_device, load_encoder
from crosslens.encoding import leftovers
from crosslens.encoding import stored as states_files
from crosslens.encoding.drawn import SCHEMA
from crosslens.encoding.extract import extract, text_means
from crosslens.encoding.texts import Texts, load
from crosslens.runs.machine import machine
from crosslens.runs.progress import Progress
from crosslens.storage import parquet
from crosslens.storage.seals import sealed, verified

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def run(
    encoder: Path,
    weights: Sequence[Path],
    words: Path,
    tokens: Mapping[str, Path],
    output: Path,
    *,
    draws: Draws,
    layers: Sequence[int],
    units: Units,
    precision: str,
    dtype: str,
    threads: int,
    log: logging.Logger,
) -> None:
    """Write output/CORPUS/LANG.parquet for each corpus of `draws`; the encoder is loaded once, where it must encode anything.

    States that the training has left (crosslens.encoding.leftovers) are not computed again.

    weights: model files of trainings, see load_encoder. words: folder of drawn words, CORPUS/LANG.parquet. tokens: corpus -> its
    folder of tokens, from which they were drawn. layers: layers beside the one that heads read, for draws that do not have all.
    precision: of the forward pass; dtype: of the stored states, float16 or float32.
    """
    torch.set_num_threads(threads)
    verified(encoder)
    weights = [verified(path) for path in weights]

    @cache
    def loaded() -> nn.Module:
        model = load_encoder(encoder, weights, pooler=units.state == "pooler", dtype=DTYPES[precision])
        return model.to(default_device())

    def of_words(texts: Texts, tokens: Path, rows: np.ndarray, all_layers: bool) -> dict[str, np.ndarray]:
        if weights and precision == "float32" and not layers and not all_layers:
            for name, states in leftovers.read(encoder, weights[-1], units, tokens, len(texts.positions)).items():
                return {name: states[rows]}
        model = loaded()
        every = range(int(model.config.num_hidden_layers) + 1)  # type: ignore[union-attr, arg-type]
        return extract(model, texts, rows, every if all_layers else layers, units)

    files = [(corpus, language) for corpus, draw in draws.corpora.items() for language in draw.languages]
    with sealed(output) as temporary:
        for corpus, language in Progress(len(files), f"states for {output}: languages", log).over(files):
            table, parts = parquet.read(words / corpus / f"{language}.parquet", schema=SCHEMA), []
            for split in draws.corpora[corpus].splits():
                file = tokens[corpus] / f"{language}.{split}.parquet"
                texts = load([file], (), (), draws.unit)
                rows = table.filter(pc.equal(table["split"], split))["row"].to_numpy()
                if draws.corpora[corpus].means:
                    parts.append(text_means(loaded(), texts))
                else:
                    parts.append(of_words(texts, file, rows, draws.corpora[corpus].all_layers))
            states = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            path = temporary / corpus / f"{language}.parquet"
            states_files.write(table.drop_columns("row"), states, path, dtype, machine(threads, precision))
