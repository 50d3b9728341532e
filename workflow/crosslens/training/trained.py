"""Loading of trained models: masked language models and classifiers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import safe_open
from torch import nn

from crosslens.config.heads import TASK, Head
from crosslens.config.units import Units
from crosslens.encoding.encoders.folder import LANGUAGE_MODEL
from crosslens.encoding.encoders.load import default_device, load_encoder
from crosslens.encoding.encoders.weights import load
from crosslens.jobs.checksums import verified
from crosslens.jobs.errors import DataError
from crosslens.training.heads.language_model import LanguageModel
from crosslens.training.model import EncoderWithHeads


def load_language_model(folder: Path, weights: Sequence[Path]) -> tuple[nn.Module, LanguageModel]:
    """Return an encoder and its language model's head, in eval mode.

    weights: files of training runs. The head comes from the last of them that has one, or else from the encoder's folder.
    Raises DataError if there is none.
    """
    encoder = load_encoder(folder, weights)
    head = LanguageModel.of(encoder)
    states = (_head(path, TASK) for path in reversed(weights))
    state = next((tensors for tensors in states if "bias" in tensors), None)
    if state is None:
        path = folder / LANGUAGE_MODEL
        if not path.is_file():
            raise DataError(
                f"{path}: expected the head of a masked language model, found none: name an encoder that comes with one (mBERT, "
                "XLM-R), or one that is pretrained here"
            )
        state = load(verified(path))
    head.load_state_dict(state)
    return encoder.to(default_device()), head.to(default_device()).eval()


def load_classifier(folder: Path, weights: Sequence[Path], heads: Mapping[str, Head], units: Units) -> EncoderWithHeads:
    """Return a trained encoder with its heads, in eval mode. weights: files of training runs; the last one has the heads."""
    model = EncoderWithHeads(load_encoder(folder, weights, pooler=units.state == "pooler"), heads, units)
    for name in heads:
        model.head(name).load_state_dict(_head(weights[-1], name))
    return model.to(default_device()).eval()


def _head(path: Path, name: str) -> dict[str, torch.Tensor]:
    """Return the weights of a head in the file of a training run."""
    prefix = f"heads.{name}."
    with safe_open(verified(path), "pt") as tensors:
        return {key.removeprefix(prefix): tensors.get_tensor(key) for key in tensors.keys() if key.startswith(prefix)}
