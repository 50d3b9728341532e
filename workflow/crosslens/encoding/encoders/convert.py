"""Conversion of a published encoder without safetensors or without tokenizer.json into a folder that the workflow reads.

`make convert ENCODER=FOLDER OUT=NEW`: python -m crosslens.encoding.encoders.convert FOLDER NEW

Weights are copied unchanged; only tensors are read from PyTorch's files, never other objects. If tokenizer.json is missing,
transformers makes it; SentencePiece models need the packages sentencepiece and protobuf for this. No code of the folder runs.
FOLDER may also be a GGUF file. Its weights are dequantised, which needs the packages gguf and accelerate.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer

from crosslens.encoding.encoders import folder as folders
from crosslens.encoding.encoders.folder import ADDED, BYTES, PARTS, SENTENCES, SPECIALS, WEIGHTS, json_object, message
from crosslens.encoding.encoders.weights import files
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import sha256, written

COPIED = (*PARTS.values(), SPECIALS, ADDED, SENTENCES)
GGUF = ".gguf"
OF_THE_FILE = ("quantization_config", "_model_name_or_path")  # keys that describe the GGUF file, not the encoder


def convert(encoder: Path, output: Path) -> dict[str, str]:
    """Convert a folder, or a GGUF file, and return the SHA-256 of each file of the new folder by name.

    Raises DataError if the new folder exists, or if weights or tokenizer cannot be read or converted.
    """
    if output.exists():
        raise DataError(f"{output}: expected no such folder, found one: name another, or remove it")
    with written(output) as temporary:
        temporary.mkdir(parents=True)
        folders.refuse_adapter(encoder)
        if encoder.suffix == GGUF and encoder.is_file():
            state = _from_gguf(encoder, temporary)
        elif (encoder / PARTS["config"]).is_file():
            for name in filter(lambda name: (encoder / name).is_file(), COPIED):
                shutil.copyfile(encoder / name, temporary / name)
            if not (temporary / PARTS["tokenizer"]).is_file():
                _write_tokenizer(encoder, temporary)
            elif not (temporary / PARTS["tokenizer_config"]).is_file():
                (temporary / PARTS["tokenizer_config"]).write_text("{}\n")
            state = _weights(encoder)
        else:
            raise DataError(
                f"{encoder}: expected a file {GGUF}, or the folder of an encoder, found no {PARTS['config']}: name another"
            )
        save_file(state, temporary / WEIGHTS, {"format": "pt"})
        folders.read(temporary)
        digests = {file.name: sha256(file) for file in sorted(temporary.iterdir())}
    return digests


def _from_gguf(file: Path, output: Path) -> dict[str, torch.Tensor]:
    """Write configuration and tokenizer of a GGUF file; return its weights in float32, named as in transformers' encoders."""
    options: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True, "trust_remote_code": False}
    try:
        model, report = AutoModel.from_pretrained(file.parent, dtype=torch.float32, output_loading_info=True, **options)
        if missing := sorted(report["missing_keys"]):  # transformers would initialise them
            raise ValueError(f"no weights {missing[0]}")
        AutoTokenizer.from_pretrained(file.parent, **options).save_pretrained(output)
    except Exception as error:  # transformers checks little beforehand
        reason = f"{type(error).__name__}: {message(error)}"
        raise DataError(
            f"{file}: expected weights and a vocabulary that transformers can read, found {reason}: first pip install gguf "
            "accelerate"
        ) from None
    config = {name: value for name, value in model.config.to_dict().items() if name not in OF_THE_FILE}
    (output / PARTS["config"]).write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    state: dict[str, torch.Tensor] = model.state_dict()
    return state


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    """All tensors of a folder's weights, each in its own memory."""
    state: dict[str, torch.Tensor] = {}
    for file in files(folder):
        try:
            tensors = load_file(file) if file.suffix == ".safetensors" else torch.load(file, "cpu", weights_only=True)
        except Exception as error:  # raised by either library
            reason = message(error)
            raise DataError(f"{file}: expected tensors and nothing else, found {reason}: fetch the file again") from None
        if not isinstance(tensors, dict) or not all(isinstance(value, torch.Tensor) for value in tensors.values()):
            raise DataError(f"{file}: expected tensors by name, found other objects: use the weights that transformers saved")
        state |= tensors
    return {name: value.clone(memory_format=torch.contiguous_format) for name, value in state.items()}  # some share memory


def _write_tokenizer(folder: Path, output: Path) -> None:
    """Write the files of a fast tokenizer, made by transformers."""
    try:
        AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False).save_pretrained(output)
        content = json_object(output / PARTS["tokenizer"])  # some tokenizers have no fast form
    except Exception as error:  # transformers checks little beforehand
        reason = f"{type(error).__name__}: {message(error)}"
        raise DataError(
            f"{folder}: expected a tokenizer that transformers can make fast, found {reason}: "
            "of a SentencePiece model, first pip install sentencepiece protobuf"
        ) from None
    vocabulary = content["model"]["vocab"]
    subwords = {subword for subword, _ in vocabulary} if isinstance(vocabulary, list) else vocabulary.keys()
    if subwords >= {*BYTES}:  # transformers does not set byte_fallback
        content["model"]["byte_fallback"] = True
        (output / PARTS["tokenizer"]).write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", "utf-8")
    names = json_object(output / PARTS["tokenizer_config"]) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    (output / PARTS["tokenizer_config"]).write_text(json.dumps(names, indent=2) + "\n")


def main(arguments: Sequence[str]) -> None:
    """Convert a folder and print the digests of the files of the new one."""
    try:
        if len(arguments) != 2 or not all(arguments):
            words = " ".join(arguments).strip() or "none"
            raise DataError(f"expected a folder or a {GGUF} file and a new folder, ENCODER=FOLDER OUT=NEW, found {words}")
        digests = convert(*map(Path, arguments))
    except DataError as error:
        sys.exit(f"convert: {error}")
    print(*(f"{digest}  {arguments[1]}/{name}" for name, digest in digests.items()), sep="\n")
    print(f"Converted. To try it: make try {shlex.quote(f'ENCODER={arguments[1]}')}")


if __name__ == "__main__":
    main(sys.argv[1:])
