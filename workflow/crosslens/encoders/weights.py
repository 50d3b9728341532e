"""Weights of an encoder: read from safetensors under today's names, trimmed to the pieces that its tokenizer keeps."""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from crosslens.encoders.folder import LANGUAGE_MODEL, SAVE_AGAIN, WEIGHTS
from crosslens.runs.errors import DataError
from crosslens.runs.quantities import readable

OTHERS = ("pytorch_model*.bin", "pytorch_model.bin.index.json", "model-*.safetensors", "model.safetensors.index.json")
"""Names of other sets of weights, which transformers writes and loads."""
LARGEST = 65504.0  # of float16; weights beyond come of damage, and their squares are not far from the end of float32
HOLES = 0.1  # share of a file
WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
OLD_GAMMA, OLD_BETA = (r"LayerNorm\.gamma$", "LayerNorm.weight"), (r"LayerNorm\.beta$", "LayerNorm.bias")

State = dict[str, torch.Tensor]


def read(path: Path) -> State:
    """Read a file of weights, without heads, in float32 and today's names.

    Raises DataError where there is none, or another set beside it, where it is full of holes, or a weight is no number or beyond
    any that an encoder learns.
    """
    if not path.is_file():
        raise DataError(
            f"{path.parent}: expected an encoder saved by transformers with safetensors weights, found no {WEIGHTS}: load and "
            "save it again with save_pretrained"
        )
    others = sorted(other.name for pattern in OTHERS for other in path.parent.glob(pattern))
    if others:
        raise DataError(
            f"{path.parent}: expected one set of weights, found {others[0]} beside {path.name}: if both are of the checkpoint of "
            f"config.json, remove {others[0]}, else save that checkpoint again with save_pretrained in a folder of its own"
        )
    stored, size = _count_stored_bytes(path), path.stat().st_size
    if size - stored > HOLES * size:
        raise DataError(
            f"{path}: expected {readable(size)} of weights, found {readable(stored)} and holes (a sparse file, such as of a "
            "download that has not ended): fetch or convert the weights again"
        )
    state = load(path)
    prefix = next((name.removesuffix(WORD_EMBEDDINGS) for name in state if name.endswith(WORD_EMBEDDINGS)), "")
    odd = [name for name, value in state.items() if not name.endswith("position_ids") and not _is_sound(value)]
    if odd:
        raise DataError(
            f"{path}: expected numbers from {-LARGEST:.0f} to {LARGEST:.0f} as weights, found others in {odd[0]}: fetch or "
            "convert the weights again"
        )
    return {
        re.sub(*OLD_BETA, re.sub(*OLD_GAMMA, name.removeprefix(prefix))): value.float()
        for name, value in state.items()
        if name.startswith(prefix) and not name.endswith("position_ids")  # a constant that old checkpoints hold
    }


def _is_sound(value: torch.Tensor) -> bool:
    if not value.is_floating_point() or not value.numel():
        return value.is_floating_point()
    low, high = torch.aminmax(value.float())  # NaN where there is one
    return bool(low >= -LARGEST) and bool(high <= LARGEST)


def _count_stored_bytes(path: Path) -> int:
    """Bytes of a file without its holes, or of the whole file where the file system tells of none."""
    end = stored = 0
    with open(path, "rb") as stream:
        while True:
            try:
                start = os.lseek(stream.fileno(), end, os.SEEK_DATA)
            except OSError as error:
                return stored if error.errno == errno.ENXIO else path.stat().st_size  # the former: there is no more data
            end = os.lseek(stream.fileno(), start, os.SEEK_HOLE)
            stored += end - start


def load(path: Path) -> State:
    """Tensors of a safetensors file, as they are. Raises DataError where it is damaged."""
    with _whole(path):
        found: State = load_file(path)
        return found


def shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors of a safetensors file; none is read. Raises DataError where it is damaged."""
    with _whole(path), safe_open(path, "pt") as stored:
        return {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, ValueError, KeyError, OverflowError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: expected whole weights in safetensors, found: {reason}: fetch or convert them again") from None


HEADS = (
    {f"cls.predictions.{name}": name for name in ("transform.dense.weight", "transform.dense.bias", "transform.LayerNorm.weight",
                                                  "transform.LayerNorm.bias", "bias")},
    {"lm_head.dense.weight": "transform.dense.weight", "lm_head.dense.bias": "transform.dense.bias",
     "lm_head.layer_norm.weight": "transform.LayerNorm.weight", "lm_head.layer_norm.bias": "transform.LayerNorm.bias",
     "lm_head.bias": "bias"},
)  # fmt: skip
"""Names of a masked language model's head in files of BERT and XLM-R -> those of crosslens.training.heads.language_model."""


def read_head(path: Path) -> State | None:
    """The head of a masked language model in a file of weights, in float32; None where it has none, whole and with tied decoder.

    A decoder is tied where the file has none of its own, or one that equals the word embeddings. An encoder's folder that was
    built here has the head in a file of its own.
    """
    own = path.with_name(LANGUAGE_MODEL)
    if own.is_file():
        return load(own)
    with _whole(path), safe_open(path, "pt") as stored:
        names = {re.sub(*OLD_BETA, re.sub(*OLD_GAMMA, name)): name for name in stored.keys()}
        for head in HEADS:
            if head.keys() <= names.keys():
                prefix = next(iter(head)).split(".")[0]
                decoder = next((name for name in names if name.startswith(prefix) and name.endswith("decoder.weight")), None)
                embeddings = next((name for name in names if name.endswith(WORD_EMBEDDINGS)), None)
                if decoder and not (embeddings and torch.equal(*(stored.get_tensor(names[x]) for x in (decoder, embeddings)))):
                    return None
                return {ours: stored.get_tensor(names[theirs]).float() for theirs, ours in head.items()}
    return None


def write(state: State, path: Path) -> None:
    """Write weights as transformers does."""
    save_file({name: value.contiguous() for name, value in state.items()}, path, {"format": "pt"})


def trimmed(state: State, kept: Sequence[int], whole: int | None = None, name: str = WORD_EMBEDDINGS) -> State:
    """The weights with the rows of the kept pieces alone in the tensor `name`.

    whole: pieces before trimming, where that is known. Raises DataError where the tensor has not as many rows, or a piece none.
    """
    rows = len(state.get(name, ()))
    if max(kept) >= rows or whole not in (None, rows):
        raise DataError(
            f"{WEIGHTS}: expected {name} with a row for each of {whole or max(kept) + 1} pieces, found {rows}: {SAVE_AGAIN}"
        )
    return state | {name: state[name][list(kept)].clone()}
