"""A training from files to files."""

import csv
import json
import logging
import os
import platform
import socket
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from crosslens.encoders.load import load_encoder
from crosslens.encoding.texts import Texts, load
from crosslens.files import sha256, written
from crosslens.logs import command, versions
from crosslens.recipes import LANGUAGE, TASK, Data, ParserHead, Recipe
from crosslens.records import write_json
from crosslens.streams import stream
from crosslens.subspaces import files as subspaces
from crosslens.training.features import Features
from crosslens.training.loop import Loop
from crosslens.training.model import Trained, save

FileKey = tuple[str, str, str]  # corpus, language, split

PREDICTIONS = pa.schema(
    [
        ("head", pa.string()),
        ("corpus", pa.string()),
        ("split", pa.string()),
        ("language", pa.string()),
        ("id", pa.string()),
        ("gold", pa.list_(pa.int16())),  # classes of the labelled words, numbered as in the recipe; -100 has no label
        ("predicted", pa.list_(pa.int16())),
        ("cut", pa.bool_()),  # as in the tokens
        ("cut_words", pa.int32()),
    ]
)


def load_data(recipe: Recipe, files: Mapping[FileKey, Path], seed: int) -> dict[Data, Texts]:
    """Texts of every Data of a recipe; seed: of those drawn where a Data is capped."""
    labels = recipe.labels(TASK), recipe.labels(LANGUAGE)
    parsers = [head for head in recipe.heads.values() if isinstance(head, ParserHead)]
    led = recipe.units.state == "words" or any(parser.root != "vector" for parser in parsers)
    options: dict[str, Any] = {"unit": recipe.units.unit, "trees": bool(parsers), "led": led}
    loaded = {data: load([files[key] for key in data.files()], *labels, **options) for data in recipe.data()}
    return {data: capped(texts, data, seed) if data.capped_by else texts for data, texts in loaded.items()}


def capped(texts: Texts, data: Data, seed: int) -> Texts:
    """Of each language at most as many texts as `capped_by` has divided by the number of languages, drawn at random.

    liang2021's mixed sources (run_tag_LDAR_miltisource.py, lines 657-664): a shorter source enters whole, since random_split
    takes a negative second length.
    """
    languages = np.array(texts.languages)
    share = int((languages == data.capped_by).sum()) // len(data.languages)
    chosen = []
    for language in data.languages:
        generator = np.random.default_rng(stream(seed, "cap", data.split, language))
        chosen.append(np.sort(generator.permutation(np.flatnonzero(languages == language))[:share]))
    return texts.take(np.concatenate(chosen))


def predictions_table(recipe: Recipe, texts: Mapping[Data, Texts], trained: Trained) -> pa.Table:
    """Gold and predicted classes of every score, a row a text; of a parser also heads, as if of a head named ARC."""
    parts = [PREDICTIONS.empty_table()]
    for score, predicted in zip(recipe.scores, trained.predictions, strict=True):
        scored, n = texts[score.data], len(texts[score.data])
        rows = scored.scored(recipe.units.unit)
        offsets = pa.array(np.searchsorted(rows, scored.word_offsets), pa.int32())
        for kind, classes in predicted.items():
            name = score.head if kind == recipe.heads[score.head].learns else kind
            columns = [
                *(pa.array([value] * n) for value in (name, score.data.corpus, score.data.split)),
                pa.array(scored.languages),
                pa.array(scored.ids),
                *(
                    pa.ListArray.from_arrays(offsets, pa.array(values[rows], pa.int16()))
                    for values in (scored.labels[kind], classes)
                ),
                pa.array(scored.cut),
                pa.array(scored.cut_words, pa.int32()),
            ]
            parts.append(pa.Table.from_arrays(columns, schema=PREDICTIONS))
    return pa.concat_tables(parts)


def write_history(history: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows that need not have the same columns as CSV. Without pandas, which each training would wait for."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(chain.from_iterable(history))), lineterminator="\n")
        writer.writeheader()
        writer.writerows(history)


def run(
    recipe: Recipe,
    seed: int,
    encoder: Path,
    tokens: Mapping[str, Path],
    folder: Path,
    *,
    threads: int,
    log: logging.Logger,
    artefact: Path | None = None,
    features: Features | None = None,
    made: Path | None = None,
) -> None:
    """Train a recipe with one seed; write predictions, the epochs' history, weights that it keeps, and last a record to a folder.

    tokens: corpus -> its folder of tokens. artefact: what the recipe's artefact is, subspaces. features: see Loop. made: what the
    command in the record names; None: the record.
    """
    started = time.monotonic()
    torch.set_num_threads(threads)
    files = {key: tokens[key[0]] / f"{key[1]}.{key[2]}.parquet" for key in recipe.files()}
    texts = load_data(recipe, files, seed)
    for data, part in texts.items():
        log.info("%s %s: %d texts, %d subwords, %d labelled words, %d languages",
                 data.corpus, data.split, len(part), len(part.pieces), len(part.positions), len(data.languages))  # fmt: skip
    loop = Loop(
        recipe, texts, load_encoder(encoder, pooler=recipe.units.state == "pooler"), seed=seed, log=log, shared=features,
        subspaces=subspaces.read(artefact) if artefact else None, checkpoints=folder / "checkpoint.safetensors",
    )  # fmt: skip
    trained = loop.run()
    with written(folder / "predictions.parquet") as temporary:
        pq.write_table(predictions_table(recipe, texts, trained), temporary)
    with written(folder / "history.csv") as temporary:
        write_history(trained.history, temporary)
    if recipe.keeps_weights:
        save(trained.model, folder / "model.safetensors", with_encoder=trained.encoder_changed)
    write_json(
        {
            "recipe": recipe.settings(),
            "seed": seed,
            "command": command(made or folder / "record.json"),
            "encoder": json.loads((encoder / "source.json").read_text("utf-8")),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or platform.machine(),
            "host": socket.gethostname(),
            "threads": threads,
            "precision": loop.precision,
            "versions": versions(("torch", "transformers", "tokenizers", "numpy", "pyarrow")),
            "data_sha256": {os.fspath(path): sha256(path) for path in [*files.values(), *([artefact] if artefact else [])]},
            "seconds": round(time.monotonic() - started, 1),
        },
        folder / "record.json",
    )
