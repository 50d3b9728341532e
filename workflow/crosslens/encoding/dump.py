"""Extraction of hidden states of sampled words, from the files that list the words to files of states."""

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import torch
from torch import nn

from crosslens.config.samples import Samples
from crosslens.config.units import Units
from crosslens.encoding import stored_states as states_files
from crosslens.encoding.encoders.folder import WEIGHTS
from crosslens.encoding.encoders.load import default_device, load_encoder
from crosslens.encoding.extract import extract, text_means
from crosslens.encoding.final_states import FinalStates
from crosslens.encoding.samples import SCHEMA
from crosslens.encoding.texts import load
from crosslens.jobs import parquet
from crosslens.jobs.checksums import checksummed, verified
from crosslens.jobs.machine import machine
from crosslens.jobs.progress import Progress

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def run(
    encoder: Path,
    weights: Sequence[Path],
    words: Path,
    tokens: Mapping[str, Path],
    output: Path,
    *,
    samples: Samples,
    layers: Sequence[int],
    units: Units,
    precision: str,
    dtype: str,
    threads: int,
    log: logging.Logger,
) -> None:
    """Write output/CORPUS/LANG.parquet for each corpus of `samples`.

    The encoder is loaded once, and only if states must be computed. States that a training run has left are used instead if
    they suffice, and deleted at the end.

    weights: model files of training runs, see `load_encoder`. words: folder of sampled words, CORPUS/LANG.parquet. tokens:
    corpus -> folder of the token files from which the words were sampled. layers: layers to store besides the states that heads
    read; corpora with `all_layers` or `means` store all layers. precision: of the forward pass, a key of DTYPES. dtype: of the
    stored states, float16 or float32.
    """
    torch.set_num_threads(threads)
    verified(encoder), verified(words)
    weights = [verified(path) for path in weights]

    @cache
    def model() -> nn.Module:
        return load_encoder(encoder, weights, pooler=units.state == "pooler", dtype=DTYPES[precision]).to(default_device())

    sampled_units = units.model_copy(update={"unit": samples.unit})
    final_states = FinalStates([encoder / WEIGHTS, *weights], sampled_units, machine(threads, precision))
    files = [(corpus, language) for corpus, sampling in samples.corpora.items() for language in sampling.languages]
    files = [file for file in files if (words / "{}/{}.parquet".format(*file)).exists()]  # unmeasurable ones have none
    with checksummed(output) as temporary:
        for corpus, language in Progress(len(files), f"states for {output}: languages", log).over(files):
            table, parts = parquet.read(words / corpus / f"{language}.parquet", schema=SCHEMA), []
            sampling = samples.corpora[corpus]
            for split in sampling.splits():
                file = tokens[corpus] / f"{language}.{split}.parquet"
                texts = load([file], (), (), samples.unit)
                rows = table.filter(pc.equal(table["split"], split))["row"].to_numpy()
                all_states = {} if layers or sampling.all_layers or sampling.means else final_states.read(file)
                if all_states:
                    parts.append({name: states[rows] for name, states in all_states.items()})
                elif sampling.means:
                    parts.append(text_means(model(), texts))
                else:
                    top = int(model().config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
                    parts.append(extract(model(), texts, rows, range(top + 1) if sampling.all_layers else layers, units))
            states = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            path = temporary / corpus / f"{language}.parquet"
            states_files.write(table.drop_columns("row"), states, path, dtype, machine(threads, precision))
    final_states.discard()
