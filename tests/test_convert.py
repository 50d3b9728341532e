"""Conversion of encoders without safetensors or tokenizer.json."""

import io
import json
import os
import re
import shutil
from pathlib import Path

import pytest
import torch
from conftest import build_encoder, refused, sentence_rows
from crosslens.config.encoders import FolderEncoder
from crosslens.encoding.encoders.convert import BYTES, convert, main
from crosslens.encoding.encoders.folder import read
from crosslens.encoding.encoders.load import load_encoder
from crosslens.jobs.files import sha256
from safetensors.torch import load_file, save_file
from study import edit
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast, Gemma3TextConfig, Gemma3TextModel

SUBWORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"Hausein", "##s", "ein", "##es"]
WEIGHTS = "pytorch_model.bin"
SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}


def old(folder: Path) -> BertForMaskedLM:
    """A BERT as of 2019: vocab.txt and pytorch_model.bin, in which the decoder shares the memory of the embeddings."""
    folder.mkdir()
    model = BertForMaskedLM(BertConfig(vocab_size=len(SUBWORDS), **SHAPE))
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "config.json").write_text(json.dumps(model.config.to_dict()))
    (folder / "vocab.txt").write_text("\n".join(SUBWORDS) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    return model.eval()


def test_an_old_checkpoint_becomes_an_encoder_with_the_same_states(tmp_path, capsys):
    model = old(tmp_path / "old")
    main([str(tmp_path / "old"), str(tmp_path / "new")])
    digests = {file.name: sha256(file) for file in (tmp_path / "new").iterdir()}
    lines = capsys.readouterr().out.splitlines()
    assert lines[:-1] == [f"{digests[name]}  {tmp_path}/new/{name}" for name in sorted(digests)]
    assert convert(tmp_path / "old", tmp_path / "again") == digests  # byte for byte
    built = build_encoder(FolderEncoder(source="folder", path=str(tmp_path / "new")), [], tmp_path / "built")
    theirs = BertTokenizerFast(vocab={subword: number for number, subword in enumerate(SUBWORDS)}, do_lower_case=False)
    assert read(built).fast_tokenizer().encode("ein Haus").ids == theirs("ein Haus").input_ids
    subwords = torch.tensor([theirs("ein Haus").input_ids])
    with torch.inference_mode():
        assert torch.equal(load_encoder(built)(subwords).last_hidden_state, model.bert(subwords).last_hidden_state)


def in_parts(encoder: Path, folder: Path, kind: str) -> dict[str, torch.Tensor]:
    """Weights in two parts with an index, as transformers saves large ones, beside configuration and tokenizer; the weights."""
    state, index = torch.load(io.BytesIO(saved(encoder)), weights_only=True), {}
    folder.mkdir()
    names = sorted(state)
    for number, part in enumerate((names[:5], names[5:]), start=1):
        tensors, file = {name: state[name] for name in part}, kind.replace(".", f"-0000{number}-of-00002.")
        (torch.save if kind.endswith("bin") else save_file)(tensors, folder / file)
        index |= dict.fromkeys(part, file)
    (folder / f"{kind}.index.json").write_text(json.dumps({"weight_map": index}))
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_bytes((encoder / name).read_bytes())
    return state


@pytest.mark.parametrize("kind", ["pytorch_model.bin", "model.safetensors"])
def test_parts_of_weights_are_put_together_and_a_tokenizer_is_kept(kind, encoder_folder, tmp_path):
    """And files beside it, so that what they contradict is seen when the new folder is tried."""
    state, beside = in_parts(encoder_folder, tmp_path / "parts", kind), {"added_tokens.json", "sentence_bert_config.json"}
    for name in beside:
        (tmp_path / "parts" / name).write_text('{"x": 7}')
    digests = convert(tmp_path / "parts", tmp_path / "new")
    assert digests["tokenizer.json"] == sha256(encoder_folder / "tokenizer.json") and beside < digests.keys()
    loaded = load_encoder(tmp_path / "new").state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in state.items())


MERGE = "merge it into its base first"
STRAY = {  # a file beside the weights -> how the refusal names it
    "model_quantized.safetensors": "expected one set of weights, found {}",
    "pytorch_model_ema.bin": "expected one set of weights, found {}",
    "another_model.bin.index.json": "expected one set of weights, found {}",
    "adapter_config.json": "expected an encoder without an adapter, found {}: " + MERGE,
    "adapter_model.bin": "expected an encoder without an adapter, found {}: " + MERGE,
}
IGNORED = ["tf_model.h5", "flax_model.msgpack", "training_args.bin", "optimizer.bin", "rust_model.ot", "model.onnx"]


def jobs(folder: Path, kind: str, output: Path) -> Path:
    """The folder converted; or, of whole safetensors weights, built as it is."""
    if kind == "build":
        return build_encoder(FolderEncoder(source="folder", path=str(folder)), [], output)
    convert(folder, output)
    return output


@pytest.mark.parametrize("kind", ["pytorch_model.bin", "model.safetensors", "build"])
@pytest.mark.fault("Files of weights or adapters beside those of an encoder", "refused")
def test_other_files_of_weights_are_refused_by_name(kind, encoder_folder, tmp_path):
    """Ones in the place of all weights, which would be read with or instead of those that are meant."""
    folder = tmp_path / "parts"
    if kind == "build":
        shutil.copytree(encoder_folder, folder)
        state = load_file(folder / "model.safetensors")
    else:
        state = in_parts(encoder_folder, folder, kind)
    for name, fault in STRAY.items():
        ones = {name: torch.ones_like(value) for name, value in state.items()}
        (torch.save if name.endswith("bin") else save_file)(ones, folder / name)
        with refused(f"parts: {fault.format(re.escape(name))}"):
            jobs(folder, kind, tmp_path / "new")
        assert not (tmp_path / "new").exists()
        (folder / name).unlink()
    for name in IGNORED:
        (folder / name).write_bytes(b"no weights of PyTorch")
    loaded = load_encoder(jobs(folder, kind, tmp_path / "new")).state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in state.items())


SECOND = "pytorch_model-00002-of-00002.bin"
INDEX = "pytorch_model.bin.index.json"


def part_elsewhere(folder: Path) -> None:
    (folder / SECOND).rename(folder.parent / "outside.bin")
    edit(folder / INDEX, (SECOND, "../outside.bin"))


INDICES = {  # what is wrong with an index of parts -> how the refusal names it
    "a part is missing": (lambda folder: (folder / SECOND).unlink(), f"a part of weights '{SECOND}', as {INDEX} says"),
    "a part elsewhere": (part_elsewhere, "a part of weights '../outside.bin'"),
    "no index": (lambda folder: (folder / INDEX).unlink(),
                 "expected model.safetensors or pytorch_model.bin, found pytorch_model-00001-of-00002.bin without an index"),
    "no map": (lambda folder: (folder / INDEX).write_text("{}"), f"a part of weights '', as {INDEX} says"),
    "a list": (lambda folder: (folder / INDEX).write_text("[]"), "expected an object of JSON"),
    "whole weights too": (lambda folder: (folder / WEIGHTS).write_bytes((folder / SECOND).read_bytes()),
                          "expected one set of weights, found pytorch_model-00001-of-00002.bin beside pytorch_model.bin"),
}  # fmt: skip


@pytest.mark.parametrize("how", INDICES)
def test_an_index_names_the_parts(how, encoder_folder, tmp_path):
    spoil, message = INDICES[how]
    in_parts(encoder_folder, tmp_path / "parts", "pytorch_model.bin")
    spoil(tmp_path / "parts")
    with refused(f"parts.*: .*{re.escape(message)}"):
        convert(tmp_path / "parts", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def saved(folder: Path) -> bytes:
    """The weights of an encoder as PyTorch saves them."""
    stream = io.BytesIO()
    torch.save(load_encoder(folder).state_dict(), stream)
    return stream.getvalue()


class Harmful:
    def __reduce__(self):
        return os.mkdir, (f"{os.environ['HARM']}",)


def without_tokenizer(folder: Path) -> None:
    (folder / "vocab.txt").unlink()
    (folder / "config.json").write_text(json.dumps({"model_type": "xlm", "vocab_size": 4}))


FEW_SUBWORDS = json.dumps({"model_type": "bert", "vocab_size": 4})
DAMAGED = r"old/pytorch_model\.bin: expected tensors and nothing else, found .*: fetch the file again"
FAULTS = {  # what is wrong -> how the refusal names it
    "code": (lambda old: torch.save({"a": Harmful()}, old / WEIGHTS), DAMAGED),
    "objects": (lambda old: torch.save({"model": {"a": torch.zeros(1)}}, old / WEIGHTS),
                r"old/pytorch_model\.bin: expected tensors by name, found other objects"),
    "damage": (lambda old: (old / WEIGHTS).write_bytes((old / WEIGHTS).read_bytes()[:300]), DAMAGED),
    "no weights": (lambda old: (old / WEIGHTS).unlink(),
                   r"old: expected model\.safetensors or pytorch_model\.bin, found neither"),
    "no configuration": (lambda old: (old / "config.json").unlink(),
                         r"old: expected a file \.gguf, or the folder of an encoder, found no config\.json"),
    "no tokenizer": (without_tokenizer, r"old: expected a tokenizer that transformers can make fast, found .*"),
    "another encoder": (lambda old: (old / "config.json").write_text(FEW_SUBWORDS),
                        r"tokenizer\.json: expected subwords below 4, the vocab_size of config\.json"),
    "there already": (lambda old: (old.parent / "new").mkdir(),
                      r"new: expected no such folder, found one: name another, or remove it"),
}  # fmt: skip


def assert_refused(arguments: list[str], message: str, folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    with pytest.raises(SystemExit, match=f"^convert: .*{message}") as error:
        main(arguments)
    assert "\n" not in str(error.value) and {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize("how", FAULTS)
def test_what_cannot_be_converted_is_one_line_and_leaves_nothing(how, tmp_path, monkeypatch):
    spoil, message = FAULTS[how]
    old(tmp_path / "old")
    monkeypatch.setenv("HARM", str(tmp_path / "harm"))
    spoil(tmp_path / "old")
    assert_refused([str(tmp_path / "old"), str(tmp_path / "new")], message, tmp_path)


def test_what_is_no_encoder_and_no_gguf_is_one_line_and_leaves_nothing(tmp_path):
    for arguments in (["a"], ["", ""]):
        assert_refused(arguments, "expected a folder or a .gguf file and a new folder, ENCODER=FOLDER OUT=NEW", tmp_path)
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(60))
    message = r"model\.gguf: expected weights and a vocabulary.*pip install gguf"
    assert_refused([str(tmp_path / "model.gguf"), str(tmp_path / "new")], message, tmp_path)


def test_a_sentencepiece_model_keeps_its_subwords_for_bytes(tmp_path):
    """The model is like mDeBERTa's, whose byte fallback transformers forgets."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="needs sentencepiece and protobuf, for conversions alone")
    pytest.importorskip("google.protobuf", reason="needs sentencepiece and protobuf, for conversions alone")
    old(tmp_path / "old")
    model, texts = io.BytesIO(), [row["text"] for row in sentence_rows("de", "train", 200)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=600, byte_fallback=True, hard_vocab_limit=False, pad_id=0,
        bos_id=-1, eos_id=-1, unk_id=3, control_symbols=["[CLS]", "[SEP]"], pad_piece="[PAD]", unk_piece="[UNK]", minloglevel=2,
    )  # fmt: skip
    (tmp_path / "old/vocab.txt").unlink()
    (tmp_path / "old/spm.model").write_bytes(model.getvalue())
    (tmp_path / "old/tokenizer_config.json").write_text("{}")
    (tmp_path / "old/config.json").write_text(json.dumps({"model_type": "deberta-v2", "vocab_size": 1000}))
    convert(tmp_path / "old", tmp_path / "new")
    tokens = read(tmp_path / "new").fast_tokenizer().encode("日", add_special_tokens=False).tokens
    assert tokens[-3:] == ["<0xE6>", "<0x97>", "<0xA5>"] and {*tokens[-3:]} < {*BYTES}


def write_gguf(model: Gemma3TextModel, subwords: list[str], file: Path) -> None:
    """Write a decoder as llama.cpp converts it: its own names, and norms whose weights have one added to them."""
    gguf = pytest.importorskip("gguf", reason="needs gguf and accelerate, for conversions alone")
    pytest.importorskip("accelerate", reason="needs gguf and accelerate, for conversions alone")
    config, writer = model.config, gguf.GGUFWriter(file, "gemma3")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_sliding_window(config.sliding_window)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(subwords)
    writer.add_token_scores([-float(number) for number in range(len(subwords))])
    kinds = gguf.TokenType
    writer.add_token_types([kinds.CONTROL] * 3 + [kinds.UNKNOWN] + [kinds.NORMAL] * (len(subwords) - 4))
    for add, number in zip((writer.add_pad_token_id, writer.add_eos_token_id, writer.add_bos_token_id, writer.add_unk_token_id),
                           range(4), strict=True):  # fmt: skip
        add(number)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GEMMA3, config.num_hidden_layers)
    for name, value in model.state_dict().items():
        stem, _, ending = name.rpartition(".")
        writer.add_tensor(f"{names.get_name(f'model.{stem}')}.{ending}", (value + ("norm" in name)).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_decoder_in_a_gguf_file_becomes_an_encoder_with_the_same_states(tmp_path):
    subwords = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *"Hausein", "au", "ei", "ein", "▁H", "aus", "▁Haus"]
    sizes = {"num_key_value_heads": 1, "head_dim": 32, "sliding_window": 64, "max_position_embeddings": 64}
    config = Gemma3TextConfig(vocab_size=len(subwords), **SHAPE, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Gemma3TextModel(config).eval()
        for name, value in model.named_parameters():
            value.data += 0.1 * ("norm" in name) * torch.randn_like(value)
    write_gguf(model, subwords, tmp_path / "model.gguf")
    main([str(tmp_path / "model.gguf"), str(tmp_path / "new")])
    settings = FolderEncoder(source="folder", path=str(tmp_path / "new"), causal=True)
    built = build_encoder(settings, [], tmp_path / "built")
    assert read(built).fast_tokenizer().encode("ein Haus").tokens == ["<bos>", "ein", "▁Haus"]
    numbers = torch.tensor([[2, subwords.index("ein"), subwords.index("▁Haus")]])
    with torch.inference_mode():
        states = (encoder(numbers).last_hidden_state for encoder in (load_encoder(built), model))
        assert torch.allclose(*states, atol=1e-6)
