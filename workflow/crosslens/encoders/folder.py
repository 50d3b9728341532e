"""A Hugging Face encoder in memory, read from and written to a folder: configuration, weights, tokenizer."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from crosslens.errors import DataError

WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
OLD_GAMMA, OLD_BETA = (r"LayerNorm\.gamma$", "LayerNorm.weight"), (r"LayerNorm\.beta$", "LayerNorm.bias")
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True)
class EncoderFiles:
    """What the four files of an encoder's folder hold."""

    config: dict[str, Any]
    state: dict[str, torch.Tensor]
    tokenizer: dict[str, Any]  # tokenizer.json
    tokenizer_config: dict[str, Any]

    def fast_tokenizer(self) -> Tokenizer:
        """The tokenizer, without truncation or padding."""
        return Tokenizer.from_str(json.dumps(self.tokenizer | {"truncation": None, "padding": None}))


def read(folder: Path) -> EncoderFiles:
    """Read an encoder, without heads, in float32 and today's names. Raises DataError for a missing file."""
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise DataError(
            f"{folder}: expected an encoder saved by transformers with safetensors weights and a fast tokenizer, found no "
            f"{', '.join(missing)}: load and save it again with save_pretrained"
        )
    state = load_file(folder / "model.safetensors")
    prefix = next((name.removesuffix(WORD_EMBEDDINGS) for name in state if name.endswith(WORD_EMBEDDINGS)), "")
    state = {
        re.sub(*OLD_BETA, re.sub(*OLD_GAMMA, name.removeprefix(prefix))): value.float()
        for name, value in state.items()
        if name.startswith(prefix) and not name.endswith("position_ids")  # a constant that old checkpoints hold
    }
    config, tokenizer, tokenizer_config = (
        json.loads((folder / name).read_text("utf-8")) for name in ("config.json", "tokenizer.json", "tokenizer_config.json")
    )
    return EncoderFiles(config, state, tokenizer, tokenizer_config)


def write(files: EncoderFiles, folder: Path) -> None:
    """Write the four files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in files.state.items()}, folder / "model.safetensors", {"format": "pt"})
    for name, value in (
        ("config.json", files.config),
        ("tokenizer.json", files.tokenizer),
        ("tokenizer_config.json", files.tokenizer_config),
    ):
        (folder / name).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
