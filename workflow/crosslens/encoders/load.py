"""An encoder of a folder as a model, with exactly the weights that its configuration describes."""

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import nn
from transformers import AutoConfig, AutoModel
from transformers.utils import logging as transformers_logging

from crosslens.errors import DataError

NAMED = 4  # weights that an error names


def load_encoder(
    folder: Path, *, pooler: bool = False, dtype: torch.dtype = torch.float32, origin: str | None = None
) -> nn.Module:
    """An encoder of a folder, safetensors only, no remote code, with its pooler on request; in eval mode.

    origin: what errors name in the place of the folder. Raises DataError where the folder has not all weights of the model or has
    others: transformers would draw or drop them. A pooler that is not asked for may be there or not.
    """
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise DataError(f"{weights}: expected safetensors weights, found no such file: convert the encoder first")
    transformers_logging.disable_progress_bar()  # of a second's work; a run shows the progress of its jobs
    options = {"add_pooling_layer": pooler} if AutoConfig.from_pretrained(folder).model_type in ("bert", "xlm-roberta") else {}
    model, found = AutoModel.from_pretrained(
        folder, dtype=dtype, use_safetensors=True, trust_remote_code=False, local_files_only=True, output_loading_info=True,
        ignore_mismatched_sizes=True, **options,
    )  # fmt: skip
    faults = {
        "missing": found["missing_keys"],
        "unexpected": found["unexpected_keys"],
        "of another shape": {name for name, *_ in found["mismatched_keys"]},
    }
    if not pooler:
        faults = {kind: {name for name in names if not name.startswith("pooler.")} for kind, names in faults.items()}
    elif any(name.startswith("pooler.") for name in faults["missing"]):
        raise DataError(
            f"{weights}: expected a pooler, which `state: pooler` needs, found none: set `state: hidden` or use another encoder"
        )
    mismatches = "; ".join(f"{kind}: {_some(names)}" for kind, names in faults.items() if names)
    if mismatches:
        raise DataError(
            f"{origin or folder}: expected the weights that config.json describes in model.safetensors, found {mismatches}: use "
            "the two files of the same checkpoint"
        )
    encoder: nn.Module = model
    return encoder.eval()


def _some(names: Iterable[str]) -> str:
    """The first names, and how many more."""
    first, rest = sorted(names)[:NAMED], sorted(names)[NAMED:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")
