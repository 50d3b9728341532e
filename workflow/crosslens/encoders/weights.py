"""Weights of an encoder: read from safetensors under today's names, trimmed to the pieces that its tokenizer keeps."""

import re
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from crosslens.encoders.folder import WEIGHTS
from crosslens.errors import DataError

WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
OLD_GAMMA, OLD_BETA = (r"LayerNorm\.gamma$", "LayerNorm.weight"), (r"LayerNorm\.beta$", "LayerNorm.bias")

State = dict[str, torch.Tensor]


def read(path: Path) -> State:
    """Read a file of weights, without heads, in float32 and today's names. Raises DataError where there is none."""
    if not path.is_file():
        raise DataError(
            f"{path.parent}: expected an encoder saved by transformers with safetensors weights, found no {WEIGHTS}: load and "
            "save it again with save_pretrained"
        )
    state = load_file(path)
    prefix = next((name.removesuffix(WORD_EMBEDDINGS) for name in state if name.endswith(WORD_EMBEDDINGS)), "")
    return {
        re.sub(*OLD_BETA, re.sub(*OLD_GAMMA, name.removeprefix(prefix))): value.float()
        for name, value in state.items()
        if name.startswith(prefix) and not name.endswith("position_ids")  # a constant that old checkpoints hold
    }


def write(state: State, path: Path) -> None:
    """Write weights as transformers does."""
    save_file({name: value.contiguous() for name, value in state.items()}, path, {"format": "pt"})


def trimmed(state: State, kept: Sequence[int]) -> State:
    """The weights with the embeddings of the kept pieces alone."""
    return state | {WORD_EMBEDDINGS: state[WORD_EMBEDDINGS][list(kept)].clone()}
