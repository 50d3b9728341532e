"""Loading of an encoder from its folder, with exactly the weights that its configuration describes."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import nn
from transformers import CONFIG_MAPPING, AutoModel
from transformers import __version__ as transformers_version
from transformers.utils import logging as transformers_logging

from crosslens.encoding.encoders.embeddings import MODEL_TYPE, StaticEncoder
from crosslens.encoding.encoders.folder import NO_DECODER, SOURCE, WEIGHTS, message, read_config
from crosslens.encoding.encoders.keys import find_ignored_keys
from crosslens.encoding.encoders.weights import load, shapes
from crosslens.jobs import gpus
from crosslens.jobs.errors import DataError
from crosslens.jobs.quantities import shortened

Faults = Mapping[str, Iterable[str]]  # kind -> names of weights
NAMED = 4  # largest number of weights or keys that an error names
COUNTS = ("num_hidden_layers", "num_hidden_groups", "inner_group_num")  # keys with numbers of parts that have weights
SMALL = 10**7  # tolerance for the number of missing weights


def default_device() -> torch.device:
    """The device of encoders if no other is given: the first GPU that PyTorch sees, or else the CPU."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    gpus.check(gpu, f"torch {torch.__version__} (CUDA {torch.version.cuda or 'none'})")
    return torch.device("cuda" if gpu else "cpu")


def load_encoder(
    folder: Path,
    weights: Sequence[Path] = (),
    *,
    pooler: bool = False,
    dtype: torch.dtype = torch.float32,
    origin: str | None = None,
) -> nn.Module:
    """The encoder of a folder in eval mode, loaded from safetensors and without remote code.

    weights: model files of training runs; those that contain an encoder replace the folder's weights, in this order. pooler:
    whether to load the pooler; if not, the folder may have one or not. origin: name of the encoder in errors; None: the folder.
    Raises DataError if the folder lacks weights of the model or has others: transformers would initialise or ignore them. If
    the folder is of a rehearsal, config.rehearse is the number of updates and texts after which it ends.
    """
    file = folder / WEIGHTS
    if not file.is_file():
        raise DataError(f"{file}: expected safetensors weights, found no such file: convert the encoder first")
    config, origin = read_config(folder), origin or str(folder)
    static = config["model_type"] == MODEL_TYPE
    encoder, faults = _static(config, file, dtype) if static else _transformer(config, file, pooler, dtype, origin)
    if not pooler:
        faults = {kind: {name for name in names if not name.startswith("pooler.")} for kind, names in faults.items()}
    elif static or any(name.startswith("pooler.") for name in faults["missing"]):
        raise DataError(
            f"{file}: expected a pooler, which `state: pooler` needs, found none: set `state: hidden` or use another encoder"
        )
    mismatches = "; ".join(f"{kind}: {shortened(sorted(names), NAMED)}" for kind, names in faults.items() if names)
    if mismatches:
        raise DataError(
            f"{origin}: expected the weights that config.json describes in model.safetensors, found {mismatches}: use "
            "the two files of the same checkpoint"
        )
    for path in weights:
        with safe_open(path, "pt") as tensors:
            if (tensors.metadata() or {}).get("encoder") == "yes":
                names = [name for name in tensors.keys() if name.startswith("encoder.")]
                encoder.load_state_dict({name.removeprefix("encoder."): tensors.get_tensor(name).to(dtype) for name in names})
    if (source := folder / SOURCE).is_file() and (rehearse := json.loads(source.read_text("utf-8")).get("rehearse")):
        encoder.config.rehearse = rehearse  # type: ignore[union-attr]
    return encoder.eval()


def _transformer(settings: dict[str, Any], file: Path, pooler: bool, dtype: torch.dtype, origin: str) -> tuple[nn.Module, Faults]:
    """The transformer of a folder, and how its weights differ from those that its configuration describes."""
    transformers_logging.disable_progress_bar()  # loading takes a second; a run shows the progress of its jobs
    transformers_logging.set_verbosity_error()  # hides its report of weights that do not fit; they are refused below
    options = {"add_pooling_layer": pooler} if settings["model_type"] in ("bert", "xlm-roberta") else {}
    sizes = [math.prod(shape) for shape in shapes(file).values()]
    try:
        if settings["model_type"] not in CONFIG_MAPPING:
            raise ValueError(f"model_type {settings['model_type']!r:.40}, which transformers does not know")
        configuration = CONFIG_MAPPING[settings["model_type"]]
        if getattr(configuration, "is_encoder_decoder", False):  # the class's default: config.json may say otherwise
            raise DataError(f"{origin}: expected {NO_DECODER}")
        if keys := find_ignored_keys(settings, configuration):
            raise DataError(
                f"{origin}: expected keys in config.json that {settings['model_type']} has in transformers "
                f"{transformers_version}, found {shortened(sorted(keys), NAMED)}: correct the name, or remove what changes no "
                "hidden state"
            )
        counts = {key: settings.get(key) for name in COUNTS for key in (name, configuration.attribute_map.get(name, name))}
        for key, count in counts.items():
            if isinstance(count, int) and count > len(sizes):
                raise ValueError(f"{count} as {key} in config.json and {len(sizes)} weights")
        # Made from the settings, not from the folder, because entries that request code are removed from them.
        config = configuration.from_dict(settings)
        if (
            getattr(config, "attention_type", "") == "block_sparse"
        ):  # modeling_big_bird.py: full from the first short text on, of at most 704 subwords
            fault = "attention_type: block_sparse, which depends on the texts before: set original_full"
            raise DataError(f"{origin}: expected attention to the whole text, found {fault} in config.json")
        with torch.device("meta"):  # takes no memory, whatever config.json says
            described = sum(value.numel() for value in AutoModel.from_config(config, **options).state_dict().values())
        if described > 2 * sum(sizes) + SMALL:
            raise ValueError(f"{described} numbers in the weights that config.json describes, and {sum(sizes)} in {file.name}")
        model, report = AutoModel.from_pretrained(
            file.parent, config=config, dtype=dtype, use_safetensors=True, trust_remote_code=False, local_files_only=True,
            output_loading_info=True, ignore_mismatched_sizes=True, **options,
        )  # fmt: skip
    except DataError:
        raise
    except Exception as error:  # transformers checks little beforehand: any error of it is due to the folder
        reason = f"{type(error).__name__}: {message(error)}"
        raise DataError(
            f"{origin}: expected an encoder that transformers can load, found {reason}: use the files of one checkpoint"
        ) from error
    different = {name for name, *_ in report["mismatched_keys"]}
    return model, {"missing": report["missing_keys"], "unexpected": report["unexpected_keys"], "of another shape": different}


def _static(config: dict[str, Any], file: Path, dtype: torch.dtype) -> tuple[nn.Module, Faults]:
    """The static embeddings of a folder, and how its weights differ from those that its configuration describes."""
    if not config.get("hidden_size"):
        raise DataError(f"{file.parent}/config.json: expected hidden_size, found none: use the two files of the same checkpoint")
    with torch.device("meta"):
        encoder, state = StaticEncoder(config), load(file)
    expected = encoder.state_dict()
    different = {name for name in expected.keys() & state.keys() if expected[name].shape != state[name].shape}
    faults = {
        "missing": expected.keys() - state.keys(),
        "unexpected": state.keys() - expected.keys(),
        "of another shape": different,
    }
    if not any(faults.values()):
        encoder.load_state_dict(state, assign=True)
        encoder = encoder.to(dtype)
    return encoder, faults
