"""Extraction of hidden states from files of drawn words to files of states."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import torch

from crosslens.config.draws import Draws
from crosslens.config.units import Units
from crosslens.encoders.load import default_device, load_encoder
from crosslens.encoding import stored as states_files
from crosslens.encoding.drawn import SCHEMA
from crosslens.encoding.extract import extract, text_means
from crosslens.encoding.texts import load
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
    """Write output/CORPUS/LANG.parquet for each corpus of `draws`; the encoder is loaded once.

    weights: model files of trainings, see load_encoder. words: folder of drawn words, CORPUS/LANG.parquet. tokens: corpus -> its
    folder of tokens, from which they were drawn. layers: layers beside the one that heads read, for draws that do not have all.
    precision: of the forward pass; dtype: of the stored states, float16 or float32.
    """
    torch.set_num_threads(threads)
    verified(encoder)
    model = load_encoder(encoder, [*map(verified, weights)], pooler=units.state == "pooler", dtype=DTYPES[precision])
    model = model.to(default_device())
    every = range(int(model.config.num_hidden_layers) + 1)  # type: ignore[union-attr, arg-type]
    files = [(corpus, language) for corpus, draw in draws.corpora.items() for language in draw.languages]
    with sealed(output) as temporary:
        for corpus, language in Progress(len(files), f"states for {output}: languages", log).over(files):
            table, parts = parquet.read(words / corpus / f"{language}.parquet", schema=SCHEMA), []
            for split in draws.corpora[corpus].splits():
                texts = load([tokens[corpus] / f"{language}.{split}.parquet"], (), (), draws.unit)
                rows = table.filter(pc.equal(table["split"], split))["row"].to_numpy()
                if draws.corpora[corpus].means:
                    parts.append(text_means(model, texts))
                else:
                    chosen = every if draws.corpora[corpus].all_layers else layers
                    parts.append(extract(model, texts, rows, chosen, units))
            states = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            path = temporary / corpus / f"{language}.parquet"
            states_files.write(table.drop_columns("row"), states, path, dtype, machine(threads, precision))
