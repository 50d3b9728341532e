"""A complete training run, from input files to result files."""

import csv
import logging
import os
import platform
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from crosslens.config.heads import LANGUAGE, TASK, LanguageModelHead, ParserHead
from crosslens.config.recipes import Data, Recipe, Static
from crosslens.encoding import subspaces
from crosslens.encoding.encoders.folder import SOURCE, WEIGHTS, mask_subword
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.final_states import FinalStates
from crosslens.encoding.packing import first_texts, windows_of
from crosslens.encoding.relations import relations_of
from crosslens.encoding.texts import Texts, load, load_subwords
from crosslens.jobs import parquet
from crosslens.jobs.call import command
from crosslens.jobs.checksums import checksummed, digest, verified
from crosslens.jobs.errors import DataError
from crosslens.jobs.machine import machine, versions
from crosslens.jobs.records import read_json, write_json
from crosslens.jobs.training_folders import CHECKPOINT
from crosslens.numerics.streams import stream
from crosslens.training import checkpoint, parallel, static_embeddings
from crosslens.training.features import Features
from crosslens.training.lock import alone
from crosslens.training.loop import Loop
from crosslens.training.model import EncoderWithHeads, Trained, save

FileKey = tuple[str, str, str]  # corpus, language, split

PREDICTIONS = pa.schema(
    [
        ("head", pa.string()),
        ("corpus", pa.string()),
        ("split", pa.string()),
        ("language", pa.string()),
        ("id", pa.string()),
        ("gold", pa.list_(pa.int16())),  # classes of the labelled words, numbered as in the recipe; -100: no label
        ("predicted", pa.list_(pa.int16())),
        ("cut", pa.bool_()),  # whether subwords of the text were cut away
        ("cut_words", pa.int32()),  # number of labelled words that were cut away
    ]
)


def with_relations(recipe: Recipe, files: Mapping[FileKey, Path]) -> Recipe:
    """Return the recipe with the labels of its parsers; parsers with subtypes take them from their training data."""
    heads = dict(recipe.heads)
    for name, head in heads.items():
        if isinstance(head, ParserHead) and head.subtypes:
            training_files = [files[key] for data in recipe.taught(name) for key in data.files()]
            heads[name] = head.model_copy(update={"labels": relations_of(training_files)})
    return recipe.model_copy(update={"heads": heads})


def load_data(recipe: Recipe, files: Mapping[FileKey, Path], seed: int) -> dict[Data, Texts]:
    """Return the texts of each Data of a recipe. seed: seed of the random sample from a Data with `capped_by`."""
    labels = recipe.labels(TASK), recipe.labels(LANGUAGE)
    parsers = [head for head in recipe.heads.values() if isinstance(head, ParserHead)]
    led = recipe.units.state == "words" or any(parser.root != "vector" for parser in parsers)
    options: dict[str, Any] = {"unit": recipe.units.unit, "trees": bool(parsers), "led": led}
    options["subtypes"] = any(parser.subtypes for parser in parsers)
    options["every_subword"] = recipe.units.unit == "word" and any(
        head.mix and head.mix.reads == "subwords" for head in recipe.heads.values()
    )

    def read(data: Data) -> Texts:
        paths = [files[key] for key in data.files()]
        texts = load_subwords(paths) if recipe.reads_running_text() else load(paths, *labels, **options)
        texts = capped(texts, data, seed) if data.capped_by else texts
        texts = first_texts(texts, data.texts)
        return windows_of(texts, data.window, data.within) if recipe.reads_running_text() else texts

    return {data: read(data) for data in recipe.data()}


def by_language(texts: Texts) -> str:
    """Return the number of subwords of each language and their share, such as "ar 1,203 (10.2 %)"."""
    names, numbers = np.unique(texts.languages, return_inverse=True)
    sums = np.bincount(numbers, texts.lengths)
    shares = 100 * sums / sums.sum()
    return ", ".join(f"{name} {n:,.0f} ({share:.1f} %)" for name, n, share in zip(names, sums, shares, strict=True))


def capped(texts: Texts, data: Data, seed: int) -> Texts:
    """Return a random sample with the same number of texts for each language.

    This number is that of the texts in the language `capped_by`, divided by the number of languages. A language with fewer
    texts is taken whole, as in the released code, where random_split accepts a negative second length.
    Source: liang2021's mixed sources (run_tag_LDAR_miltisource.py, lines 657-664).
    """
    languages = np.array(texts.languages)
    share = int((languages == data.capped_by).sum()) // len(data.languages)
    chosen = []
    for language in data.languages:
        generator = np.random.default_rng(stream(seed, "cap", data.split, language))
        chosen.append(np.sort(generator.permutation(np.flatnonzero(languages == language))[:share]))
    return texts.take(np.concatenate(chosen))


def predictions_table(recipe: Recipe, texts: Mapping[Data, Texts], trained: Trained) -> pa.Table:
    """Return the gold and predicted classes of each score, one row per text; heads of words are rows of a head named ARC."""
    parts = [PREDICTIONS.empty_table()]
    for score, predicted in zip(recipe.scores, trained.predictions, strict=True):
        scored, n = texts[score.data], len(texts[score.data])
        rows = scored.scored()
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


def states_by_file(texts: Mapping[Data, Texts], files: Mapping[FileKey, Path], trained: Trained) -> dict[Path, np.ndarray]:
    """Return labelled units' states under the final weights, (n, d) float32, for each token file that was encoded whole."""
    states_by_path = {}
    for data, states in trained.states.items():
        is_whole = data == Data(corpus=data.corpus, split=data.split, languages=data.languages)
        if is_whole and texts[data].targets is None:  # else there are more units than are sampled from
            languages = np.array(texts[data].languages)
            for key in data.files():
                rows = texts[data].word_rows(np.flatnonzero(languages == key[1]))
                states_by_path[files[key]] = states[torch.from_numpy(rows)].numpy()
    return states_by_path


def write_history(history: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows with different columns as CSV, without pandas, which takes long to import."""
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
    version: Sequence[str] = (),
    threads: int,
    log: logging.Logger,
    artefact: Path | None = None,
    pretrained: Path | None = None,
    features: Features | None = None,
    target: Path | None = None,
    leaves_states: bool = False,
) -> None:
    """Train a recipe with one seed; write predictions, history, weights if the recipe keeps them, and last a record to a folder.

    tokens: corpus -> folder of its tokens. version: everything else that decides the results, such as a fingerprint of the
    code; a checkpoint of another version is not resumed. artefact: file of the recipe's subspaces. pretrained: file of weights
    to start from. features: cache of states, shared with other training runs. target: file that the command in the record
    names; None: the record itself. leaves_states: whether to write the final states for the job that stores states of sampled
    words (crosslens.encoding.final_states).

    If several processes share a training run (crosslens.training.parallel), the first one writes. The caller removes the
    checkpoint once the results are safe.
    """
    started = time.monotonic()
    torch.set_num_threads(threads)
    source = read_json(verified(encoder) / SOURCE)
    if source["settings"].get("causal") and recipe.units.reads_first_subword():
        raise DataError(
            f"{recipe.name}: expected an encoder that attends to the whole text, since a text's first subword stands for it, "
            "found a decoder (`causal: true`): ask for tasks on words"
        )
    files = {key: tokens[key[0]] / f"{key[1]}.{key[2]}.parquet" for key in recipe.files()}
    recipe = with_relations(recipe, files)
    texts = load_data(recipe, files, seed)
    for data, part in texts.items():
        log.info("%s %s: %d texts, %d subwords, %d labelled words, %d languages",
                 data.corpus, data.split, len(part), len(part.subwords), len(part.positions), len(data.languages))  # fmt: skip
        if recipe.reads_running_text():
            log.info("%s %s: subwords by language: %s", data.corpus, data.split, by_language(part))
    starts = load_encoder(encoder, [verified(pretrained)] if pretrained else [], pooler=recipe.units.state == "pooler")
    precision, paths = "float32", {}
    if getattr(starts.config, "rehearse", None):
        recipe = recipe.rehearsed()
    if recipe.static:
        data_texts = texts[recipe.static.data]
        key = checkpoint.digest([recipe.static.model_dump(mode="json"), seed, list(version)], [data_texts], starts.state_dict())
        checkpoint_file = checkpoint.CheckpointFile(folder / CHECKPOINT, key, log)
        trained = _static(recipe.static, data_texts, starts, seed=seed, log=log, checkpoint_file=checkpoint_file)
    else:
        masks = any(isinstance(head, LanguageModelHead) for head in recipe.heads.values())
        loop = Loop(
            recipe, texts, starts, seed=seed, log=log, version=version, checkpoints=folder / CHECKPOINT, shared=features,
            mask=mask_subword(encoder) if masks else None, subspaces=subspaces.read(artefact) if artefact else None,
        )  # fmt: skip
        trained, precision, paths = loop.run(), loop.precision, loop.paths
    if parallel.rank():
        return
    sources = [*files.values(), *filter(None, (artefact, pretrained))]
    parquet.write(predictions_table(recipe, texts, trained), folder / "predictions.parquet")
    with checksummed(folder / "history.csv") as temporary:
        write_history(trained.history, temporary)
    if recipe.keeps_weights:
        weights = folder / "model.safetensors"
        save(trained.model, weights, with_encoder=trained.encoder_changed)
        if leaves_states and trained.states:
            models = [encoder / WEIGHTS, *([pretrained] if pretrained else []), weights]
            column = "pooler" if recipe.units.state == "pooler" else f"layer_{trained.model.top}"
            FinalStates(models, recipe.units, machine(threads)).write(column, states_by_file(texts, files, trained))
    write_json(
        {
            "recipe": recipe.settings(),
            "seed": seed,
            "command": command(target or folder / "record.json"),
            "encoder": source,
            "host": platform.node(),
            **machine(threads, precision),
            **({"gpu_step": paths} if paths else {}),  # how the updates of each stage were computed
            "versions": versions(("torch", "transformers", "tokenizers", "numpy", "pyarrow")),
            "data_sha256": {os.fspath(path): digest(path) for path in sources},
            "content_sha256": {os.fspath(path): parquet.content(path) for path in sources if path.suffix == ".parquet"},
            "seconds": round(time.monotonic() - started, 1),
        },
        folder / "record.json",
    )


def _static(settings: Static, texts: Texts, encoder: nn.Module, **options: Any) -> Trained:
    """Train word embeddings and put them into an untrained encoder. options: arguments of `static_embeddings.train`."""
    weights: torch.Tensor = encoder.get_submodule("embeddings.word_embeddings").weight  # type: ignore[assignment]
    vectors, history = static_embeddings.train(settings.embeddings, texts, *weights.shape, **options)
    with torch.no_grad():
        weights.copy_(torch.from_numpy(vectors))
    return Trained(EncoderWithHeads(encoder, {}), True, history, [], {})


def train(
    recipe: Recipe,
    seed: int,
    encoder: Path,
    tokens: Mapping[str, Path],
    folder: Path,
    *,
    version: Sequence[str] = (),
    threads: int,
    log: logging.Logger,
    log_file: Path,
    artefact: Path | None = None,
    pretrained: Path | None = None,
    processes: int | None = None,
    leaves_states: bool = False,
) -> None:
    """Train a recipe as `run` does, in several processes if there are GPUs for the parts of a batch.

    log_file: log file to which these processes append. processes: their number; None: as many as `parallel.processes` returns.
    leaves_states: applies to a single process only. The other parameters are those of `run`. Raises DataError while another
    process carries out the same training run.
    """
    number = parallel.processes(recipe.parts) if processes is None else processes
    with alone(folder / ".running", folder, f"{recipe.name} seed {seed}"):
        paths: dict[str, Any] = {"artefact": artefact, "pretrained": pretrained}
        if number == 1:
            run(
                recipe, seed, encoder, tokens, folder, version=version, threads=threads, log=log, leaves_states=leaves_states,
                **paths,
            )  # fmt: skip
        else:
            log.info("%d processes share the %d parts of a batch", number, recipe.parts)
            arguments = {
                "recipe": recipe.settings(), "seed": seed, "encoder": os.fspath(encoder), "folder": os.fspath(folder),
                "tokens": {corpus: os.fspath(path) for corpus, path in tokens.items()}, "threads": threads,
                "version": list(version), "log": os.fspath(log_file),
                **{name: path and os.fspath(path) for name, path in paths.items()},
            }  # fmt: skip
            parallel.launch(arguments, number)
