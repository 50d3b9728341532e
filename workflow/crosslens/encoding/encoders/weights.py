"""Weights of an encoder: read from safetensors, with current names, and trimmed to the subwords of its tokenizer."""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from crosslens.encoding.encoders.folder import LANGUAGE_MODEL, SAVE_AGAIN, WEIGHTS, json_object, message
from crosslens.jobs.errors import DataError
from crosslens.jobs.quantities import readable

PYTORCH, INDEX = "pytorch_model.bin", ".index.json"
SETS = ("*.safetensors", "*.safetensors" + INDEX, "*model*.bin", "*model*.bin" + INDEX)
"""Patterns of PyTorch's files of weights, whole or in parts, and of indices of parts; other frameworks' files do not matter."""
LARGEST = 65504.0  # of float16; larger weights are due to damage, and their squares may come close to the limit of float32
HOLES = 0.1  # largest share of a file that may be missing from the disk
WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
PREFIX = re.compile(r"((?:.*\.)?)(?:embeddings\.(?:word|tok)_embeddings|embed_tokens|embeddings)\.weight")
"""Name of the word embeddings in most encoders, ModernBERT, ported decoders and XLM; group 1 is the prefix of all names."""
OLD_GAMMA, OLD_BETA = (r"LayerNorm\.gamma$", "LayerNorm.weight"), (r"LayerNorm\.beta$", "LayerNorm.bias")

State = dict[str, torch.Tensor]


def read(path: Path) -> State:
    """Weights of a file, without heads, in float32 and with current names.

    Raises DataError if the file is missing or sparse, if there is another set of weights next to it, or if a weight is not
    finite or larger than any that an encoder learns.
    """
    if not path.is_file():
        remedy = "convert it by make convert ENCODER=FOLDER OUT=NEW"
        raise DataError(f"{path.parent}: expected an encoder with safetensors weights, found no {WEIGHTS}: {remedy}")
    files(path.parent)
    size_on_disk, size = _count_stored_bytes(path), path.stat().st_size
    if size - size_on_disk > HOLES * size:
        raise DataError(
            f"{path}: expected {readable(size)} of weights, found {readable(size_on_disk)} and holes (a sparse file, such as of "
            "a download that has not ended): fetch or convert the weights again"
        )
    state = load(path)
    prefix = next((match[1] for match in map(PREFIX.fullmatch, state) if match), "")
    odd = [name for name, value in state.items() if not name.endswith("position_ids") and not _is_sound(value)]
    if odd:
        raise DataError(
            f"{path}: expected numbers from {-LARGEST:.0f} to {LARGEST:.0f} as weights, found others in {odd[0]}: fetch or "
            "convert the weights again"
        )
    return {
        re.sub(*OLD_BETA, re.sub(*OLD_GAMMA, name.removeprefix(prefix))): value.float()
        for name, value in state.items()
        if name.startswith(prefix) and not name.endswith("position_ids")  # a constant in old checkpoints
    }


def files(folder: Path) -> list[Path]:
    """Files of a folder's weights: model.safetensors, pytorch_model.bin, or the parts listed in the index of either.

    Raises DataError if there are none, if a part is missing, or if the folder has any other file of weights.
    """
    there = sorted({file.name for pattern in SETS for file in folder.glob(pattern)} - {LANGUAGE_MODEL})
    whole = next((name for name in (WEIGHTS, WEIGHTS + INDEX, PYTORCH, PYTORCH + INDEX) if name in there), None)
    if whole is None:
        fault = f"{there[0]} without an index" if there else "neither"
        raise DataError(f"{folder}: expected {WEIGHTS} or {PYTORCH}, found {fault}: fetch the weights first")
    index = json_object(folder / whole).get("weight_map") if whole.endswith(INDEX) else {"": whole}
    parts = sorted(set(map(str, index.values()))) if isinstance(index, dict) else []
    if not {*parts} <= {*there} or not parts:
        part = f"a part of weights {min({*parts} - {*there}, default='')!r:.80}, as {whole} says"
        raise DataError(f"{folder}: expected {part}, found no such file: fetch the weights again")
    if extra := sorted({*there} - {whole, *parts}):
        raise DataError(
            f"{folder}: expected one set of weights, found {extra[0]} beside {whole}: if both are of the checkpoint of "
            f"config.json, remove {extra[0]}, else save that checkpoint again with save_pretrained in a folder of its own"
        )
    return [folder / part for part in parts]


def _is_sound(value: torch.Tensor) -> bool:
    if not value.is_floating_point() or not value.numel():
        return value.is_floating_point()
    low, high = torch.aminmax(value.float())  # NaN if any value is
    return bool(low >= -LARGEST) and bool(high <= LARGEST)


def _count_stored_bytes(path: Path) -> int:
    """Number of bytes of a file without its holes, or of the whole file if the file system does not report holes."""
    end = total = 0
    with open(path, "rb") as stream:
        while True:
            try:
                start = os.lseek(stream.fileno(), end, os.SEEK_DATA)
            except OSError as error:
                return total if error.errno == errno.ENXIO else path.stat().st_size  # ENXIO: no more data
            end = os.lseek(stream.fileno(), start, os.SEEK_HOLE)
            total += end - start


def load(path: Path) -> State:
    """Tensors of a safetensors file, unchanged. Raises DataError if it is damaged."""
    with _whole(path):
        state: State = load_file(path)
        return state


def shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors of a safetensors file, without reading them. Raises DataError if it is damaged."""
    with _whole(path), safe_open(path, "pt") as tensors:
        return {name: tuple(tensors.get_slice(name).get_shape()) for name in tensors.keys()}


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, ValueError, KeyError, OverflowError, RuntimeError) as error:
        reason = message(error)
        raise DataError(f"{path}: expected whole weights in safetensors, found: {reason}: fetch or convert them again") from None


HEADS = (
    {f"cls.predictions.{name}": name for name in ("transform.dense.weight", "transform.dense.bias", "transform.LayerNorm.weight",
                                                  "transform.LayerNorm.bias", "bias")},
    {"lm_head.dense.weight": "transform.dense.weight", "lm_head.dense.bias": "transform.dense.bias",
     "lm_head.layer_norm.weight": "transform.LayerNorm.weight", "lm_head.layer_norm.bias": "transform.LayerNorm.bias",
     "lm_head.bias": "bias"},
)  # fmt: skip
"""Name of a weight of the masked language model's head in BERT's and XLM-R's files -> name in training.heads.language_model."""


def read_head(path: Path) -> State | None:
    """The head of a masked language model from a file of weights, in float32; None if it is incomplete or its decoder not tied.

    A decoder is tied if the file has none, or one that equals the word embeddings. A folder built by crosslens has the head in
    a separate file.
    """
    file = path.with_name(LANGUAGE_MODEL)
    if file.is_file():
        return load(file)
    with _whole(path), safe_open(path, "pt") as tensors:
        names = {re.sub(*OLD_BETA, re.sub(*OLD_GAMMA, name)): name for name in tensors.keys()}
        for head in HEADS:
            if head.keys() <= names.keys():
                prefix = next(iter(head)).split(".")[0]
                decoder = next((name for name in names if name.startswith(prefix) and name.endswith("decoder.weight")), None)
                embeddings = next((name for name in names if name.endswith(WORD_EMBEDDINGS)), None)
                if decoder and not (embeddings and torch.equal(*(tensors.get_tensor(names[x]) for x in (decoder, embeddings)))):
                    return None
                return {name: tensors.get_tensor(names[old_name]).float() for old_name, name in head.items()}
    return None


def write(state: State, path: Path) -> None:
    """Write weights in the format of transformers."""
    save_file({name: value.contiguous() for name, value in state.items()}, path, {"format": "pt"})


def trimmed(state: State, subwords: Sequence[int], whole: int | None = None, name: str | None = None) -> State:
    """The weights, with only the rows of the given subwords in the tensor `name`; None: the word embeddings.

    subwords: numbers in the whole vocabulary. whole: size of that vocabulary; None: unknown. Raises DataError if the tensor has
    another number of rows, or no row for a subword.
    """
    name = name or next(filter(PREFIX.fullmatch, state), WORD_EMBEDDINGS)
    rows = len(state.get(name, ()))
    if max(subwords) >= rows or whole not in (None, rows):
        raise DataError(
            f"{WEIGHTS}: expected {name} with a row for each of {whole or max(subwords) + 1} subwords, found {rows}: {SAVE_AGAIN}"
        )
    return state | {name: state[name][list(subwords)].clone()}
