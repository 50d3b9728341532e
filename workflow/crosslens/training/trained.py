"""What trainings left, as models again: masked language models and classifiers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import safe_open
from torch import nn

from crosslens.config.heads import TASK, Head
from crosslens.config.units import Units
from crosslens.encoders.folder import LANGUAGE_MODEL
from crosslens.encoders.load import load_encoder
from crosslens.encoders.weights import load
from crosslens.runs.errors import DataError
from crosslens.storage.seals import verified
from crosslens.training.heads.language_model import LanguageModel
from crosslens.training.model import EncoderWithHeads


def device() -> torch.device:
    """Where measures run an encoder."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def load_language_model(folder: Path, weights: Sequence[Path]) -> tuple[nn.Module, LanguageModel]:
    """An encoder and its head, of the last training that left one, or with which the encoder came; in eval mode.

    Raises DataError where there is none.
    """
    encoder = load_encoder(folder, weights)
    head = LanguageModel.of(encoder)
    own = next((state for path in reversed(weights) if "bias" in (state := _head(path, TASK))), None)
    if own is None:
        path = folder / LANGUAGE_MODEL
        if not path.is_file():
            raise DataError(
                f"{path}: expected the head of a masked language model, found none: name an encoder that comes with one (mBERT, "
                "XLM-R), or one that is pretrained here"
            )
        own = load(verified(path))
    head.load_state_dict(own)
    return encoder.to(device()), head.to(device()).eval()


def load_classifier(folder: Path, weights: Sequence[Path], heads: Mapping[str, Head], units: Units) -> EncoderWithHeads:
    """A trained encoder with its heads, in eval mode."""
    model = EncoderWithHeads(load_encoder(folder, weights, pooler=units.state == "pooler"), heads, units)
    for name in heads:
        model.head(name).load_state_dict(_head(weights[-1], name))
    return model.to(device()).eval()


def _head(path: Path, name: str) -> dict[str, torch.Tensor]:
    """Weights of a head in the file of a training."""
    prefix = f"heads.{name}."
    with safe_open(verified(path), "pt") as stored:
        return {key.removeprefix(prefix): stored.get_tensor(key) for key in stored.keys() if key.startswith(prefix)}
