"""Damaged and hostile folders of encoders: one line each through what the workflow calls, nothing silent, no code of theirs run.

The calls are those of the jobs: the description and the tokenizer (crosslens.encoding.encoders.describe), the weights
(crosslens.encoding.encoders.build), the tokens, and the states, on a folder as it is and on one whose vocabulary is trimmed.
"""

import json
import logging
import math
import os
import pickle
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from crosslens.config.encoders import FolderEncoder
from crosslens.encoding.encoders.build import build
from crosslens.encoding.encoders.describe import describe
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.tokens.tokenise import load_tokenizer
from crosslens.jobs.errors import DataError
from safetensors.torch import load_file, save_file


@pytest.fixture
def _tokenizers_are_tried_here() -> None:
    """Tokenizers are tried in a process that ends: some of these never would."""


Damage = Callable[[Path], object]


def edited(name: str, change: Callable[[dict[str, Any]], object]) -> Damage:
    """A file of JSON with something else in it."""

    def damage(folder: Path) -> None:
        content = json.loads((folder / name).read_text("utf-8"))
        change(content)
        (folder / name).write_text(json.dumps(content), "utf-8")

    return damage


def config(**values: Any) -> Damage:
    return edited("config.json", lambda content: content.update(values))


def without(name: str) -> Damage:
    return edited("config.json", lambda content: content.pop(name))


def tokenizer(change: Callable[[dict[str, Any]], object]) -> Damage:
    return edited("tokenizer.json", change)


def named(**values: Any) -> Damage:
    return edited("tokenizer_config.json", lambda content: content.update(values))


def content(name: str, of: Callable[[bytes], bytes]) -> Damage:
    return lambda folder: (folder / name).write_bytes(of((folder / name).read_bytes()))


def weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Damage:
    def damage(folder: Path) -> None:
        state = load_file(folder / "model.safetensors")
        change(state)
        save_file(state, folder / "model.safetensors", {"format": "pt"})

    return damage


def removed(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def header(of: dict[str, Any] | bytes, size: int | None = None) -> Damage:
    """Another header of the weights, that announces another size of itself."""

    def damage(folder: Path) -> None:
        written = of if isinstance(of, bytes) else json.dumps(of).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(written) if size is None else size) + written)

    return damage


def subword(number: int) -> Damage:
    return tokenizer(lambda content: content["model"]["vocab"].update(die=number))


WORDS = "embeddings.word_embeddings.weight"
TENSOR = {"dtype": "F32", "shape": [600, 32], "data_offsets": [0, 76800]}
GROWING = [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}] * 20  # 10^20 characters of one
FIRST, LAST = ({"SpecialToken": {"id": subword, "type_id": 0}} for subword in ("[CLS]", "[SEP]"))
TEXT = {"Sequence": {"id": "A", "type_id": 0}}


def normalised(*rules: dict[str, Any]) -> Damage:
    return tokenizer(lambda content: content.update(normalizer={"type": "Sequence", "normalizers": list(rules)}))


def split(pattern: str) -> Damage:
    rule = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return tokenizer(lambda content: content.update(pre_tokenizer=rule))


def template(*single: dict[str, Any]) -> Damage:
    return tokenizer(lambda content: content["post_processor"].update(single=list(single)))


def beside(name: str, content: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(content)


def twice(name: str, key: bytes, value: bytes) -> Damage:
    return content(name, lambda whole: whole.replace(b"{", b'{"' + key + b'": ' + value + b", ", 1))


def sparse(folder: Path) -> None:
    """Weights of 1.3 GB that agree with config.json, of which the header alone is written."""
    config(vocab_size=10**7)(folder)
    state, end, tensors = load_file(folder / "model.safetensors"), 0, {}
    for name, value in state.items():
        shape = [10**7, value.shape[1]] if name == WORDS else list(value.shape)
        tensors[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end := end + 4 * math.prod(shape)]}
    header(tensors)(folder)
    os.truncate(folder / "model.safetensors", (folder / "model.safetensors").stat().st_size + end)


def preallocated(folder: Path) -> None:
    """A download that has room on disk for all and the first half of the weights."""
    content("model.safetensors", lambda whole: whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2))(folder)
    state = load_file(folder / "model.safetensors")
    assert not any(value.any() for name, value in state.items() if name.startswith("encoder.layer.1"))


DAMAGES: dict[str, Damage] = {
    "a subword beyond the embeddings": subword(10**6),
    "fewer embeddings than subwords": weights(lambda state: state.update({WORDS: state[WORDS][:-9].clone()})),
    "vocab_size of another encoder": config(vocab_size=119547),
    "an end of another number": tokenizer(lambda content: content["post_processor"]["special_tokens"]["[SEP]"].update(ids=[9])),
    "no unknown subword": tokenizer(lambda content: content["model"].update(unk_token="<unknown>")),
    "padding of another number": config(pad_token_id=3, model_type="xlm-roberta"),  # from which positions are counted
    "half a tokenizer": content("tokenizer.json", lambda whole: whole[: len(whole) // 2]),
    "a tokenizer that is a web page": content("tokenizer.json", lambda _: b"<html>Sign in</html>"),
    "no tokenizer": removed("tokenizer.json"),
    "half a config.json": content("config.json", lambda whole: whole[: len(whole) // 2]),
    "config.json of brackets": content("config.json", lambda _: b"[" * 10**5),
    "no model_type": without("model_type"),
    "an unknown model_type": config(model_type="mystery"),
    "a model_type of another kind": config(model_type="vit"),
    "sizes in words": config(hidden_size="thirty-two"),
    "a thousand million blocks": config(num_hidden_layers=10**9),
    "more blocks": config(num_hidden_layers=3),
    "another width": config(intermediate_size=64),
    "fewer positions": config(max_position_embeddings=100),
    "weights that are quantised": config(quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True}),
    "half of the weights": content("model.safetensors", lambda whole: whole[: len(whole) // 2]),
    "a header larger than the file": header(b"", 10**18),
    "a tensor of 2^62 numbers": header({WORDS: TENSOR | {"shape": [2**31, 2**31]}}),
    "weights that are pointers of git": content(
        "model.safetensors", lambda _: b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    ),
    "weights that are no numbers": weights(lambda state: state[WORDS].fill_(float("nan"))),
    "no embeddings": weights(lambda state: state.pop(WORDS)),
    "no weights": removed("model.safetensors"),
    "a folder as weights": lambda folder: (removed("model.safetensors")(folder), (folder / "model.safetensors").mkdir()),
    "a layer norm without a number": config(layer_norm_eps=float("nan")),
    "weights of 1e38": weights(lambda state: [value.fill_(1e38) for value in state.values()]),
    "a file with holes": sparse,
    "half a file with room for all": preallocated,
    "a set of weights of PyTorch": beside("pytorch_model.bin", b"PK"),
    "a key twice in config.json": twice("config.json", b"hidden_size", b"32"),
    "a subword twice in tokenizer.json": content(
        "tokenizer.json", lambda whole: whole.replace(b'"[SEP]": 3', b'"[SEP]": 9, "[SEP]": 3')
    ),
    "texts without ends": template(TEXT),
    "ends the other way round": template(LAST, TEXT, FIRST),
    "subwords that are kept, of another vocabulary": beside("kept.json", b"[1, 2, 3]"),
    "relative positions": config(position_embedding_type="relative_key"),
    "a key of a typing error": config(layer_norm_epsilon=1e-5),
    "a million million labels": config(num_labels=10**12),
    "a normaliser without end": normalised(*GROWING),
    "a normaliser of a rare character without end": normalised(
        {"type": "Replace", "pattern": {"Regex": r"\x{1F99C}"}, "content": "a"}, *GROWING
    ),
    "a pattern that takes forever": split("(a+)+b"),
}


def jobs(folder: Path, built: Path, corpus: Path, trimmed: bool) -> None:
    """What the workflow does with a folder: describes it, builds it, tokenises, encodes."""
    settings = FolderEncoder(source="folder", path=str(folder), corpora=["sentences"] if trimmed else [])
    tokenizer, log = built.with_name(f"{built.name} tokenizer"), logging.getLogger("crosslens.tests")
    describe(settings, [corpus] if trimmed else [], tokenizer, log)
    build(settings, tokenizer, built, log)
    ids = load_tokenizer(built).encode("das ist ein Haus").ids
    states = load_encoder(built)(input_ids=torch.tensor([ids])).last_hidden_state
    assert torch.isfinite(states).all(), "silent"


def line_of(call: Callable[[], object], says: str = "found") -> str:
    """The one line of what must fail."""
    with pytest.raises(DataError) as error:
        call()
    message = str(error.value)
    assert message.isprintable() and len(message) < 1000, message
    assert says in message, message
    return message


@pytest.mark.parametrize("trimmed", [False, True], ids=["whole", "trimmed"])
def test_damaged_folders(tmp_path, encoder_folder, corpora, often, tally, trimmed) -> None:
    counted = tally(f"An encoder's folder is damaged{', its vocabulary to be trimmed' * trimmed}")
    corpus = corpora / "sentences" / "de.test.parquet"
    whole = tmp_path / "whole"
    shutil.copytree(encoder_folder, whole)
    jobs(whole, tmp_path / "built whole", corpus, trimmed)
    for name, damage in list(DAMAGES.items())[:: often(1, 8)]:
        folder, built = tmp_path / name, tmp_path / f"built {name}"
        shutil.copytree(encoder_folder, folder)
        damage(folder)
        try:
            message = line_of(lambda folder=folder, built=built: jobs(folder, built, corpus, trimmed))
            assert not built.exists()
        except BaseException as failure:
            failure.add_note(f"damage: {name}")
            raise
        counted.refused += 1
        counted.seen = counted.seen or message.replace(str(tmp_path), "ENCODERS")


# Code

WITNESS = """
import json, os, sys
from pathlib import Path
Path({witness!r}).write_text("ran")
"""


def test_no_code_of_a_folder_runs(tmp_path, encoder_folder) -> None:
    """Nor is anything of the hub asked for: a folder with every way of naming code, in a process without a network."""
    folder, witness = tmp_path / "hostile", tmp_path / "witness"
    shutil.copytree(encoder_folder, folder)

    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.system, (f"touch {witness}",)

    for name in ("modeling_x", "configuration_x", "tokenization_x", "__init__", "setup", "conftest", "torch", "sitecustomize"):
        (folder / f"{name}.py").write_text(WITNESS.format(witness=str(witness)))
    for name in ("rust_model.ot", "model.pt", "training_args.bin", "optimizer.pt"):
        (folder / name).write_bytes(pickle.dumps(Hostile()))
    code = {"AutoConfig": "configuration_x.X", "AutoModel": "modeling_x.X", "AutoTokenizer": ["tokenization_x.X", None]}
    config(
        auto_map=code, trust_remote_code=True, custom_pipelines={"x": {"impl": "modeling_x.X"}}, architectures=["X"],
        _attn_implementation="somebody/kernels:X", attn_implementation="somebody/kernels", _name_or_path="somebody/model",
        task_specific_params={"auto_map": code},
    )(folder)  # fmt: skip
    named(auto_map=code, chat_template="{{ cycler.__init__.__globals__.os.system('touch " + str(witness) + "') }}",
          tokenizer_class="X")(folder)  # fmt: skip
    (folder / "chat_template.jinja").write_text("{{ 7 * 7 }}")
    call = f"""
import socket, sys
def refuse(*_): raise AssertionError("the network was asked")
socket.getaddrinfo = socket.create_connection = socket.socket.connect = refuse
import logging, torch
from pathlib import Path
from crosslens.config.encoders import FolderEncoder
from crosslens.encoding.encoders.build import build
from crosslens.encoding.encoders.describe import describe
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.tokens.tokenise import load_tokenizer
settings, log = FolderEncoder(source="folder", path={str(folder)!r}), logging.getLogger()
describe(settings, [], Path("tokenizer"), log)
build(settings, Path("tokenizer"), Path("built"), log)
for folder in (Path({str(folder)!r}), Path("built")):
    ids = load_tokenizer(folder).encode("das ist ein Haus").ids
    print(load_encoder(folder)(input_ids=torch.tensor([ids])).last_hidden_state.abs().sum().item())
"""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "workflow"), "HF_HOME": str(tmp_path / "hf")}
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not witness.exists()
    ids = load_tokenizer(encoder_folder).encode("das ist ein Haus").ids
    expected = load_encoder(encoder_folder)(input_ids=torch.tensor([ids])).last_hidden_state.abs().sum().item()
    assert [float(line) for line in done.stdout.split()] == pytest.approx([expected] * 2)
    assert not {"auto_map", "_attn_implementation"} & json.loads((tmp_path / "built" / "config.json").read_text()).keys()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Hostile()))
    settings, log = FolderEncoder(source="folder", path=str(folder)), logging.getLogger("crosslens.tests")
    line_of(lambda: build(settings, tmp_path / "tokenizer", tmp_path / "built again", log), "pytorch_model.bin")
    (folder / "pytorch_model.bin").unlink()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "somebody/model", "peft_type": "LORA"}')
    line_of(lambda: describe(settings, [], tmp_path / "tokenizer again", log), "adapter_config.json")
    (folder / "adapter_config.json").unlink()
    config(text_config={"auto_map": code})(folder)
    line_of(lambda: load_encoder(folder), "text_config")
    assert not witness.exists()
