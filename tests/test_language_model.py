"""Heads of masked language models in encoders' folders and training runs, against transformers' own models."""

import logging
from pathlib import Path

import numpy as np
import pytest
import torch
from crosslens.config.encoders import FolderEncoder
from crosslens.config.heads import TASK, LanguageModelHead
from crosslens.encoding.encoders import folder as folders
from crosslens.encoding.encoders.build import build
from crosslens.encoding.encoders.folder import LANGUAGE_MODEL
from crosslens.encoding.encoders.trim import trim
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from crosslens.training.heads import fast_argmax
from crosslens.training.heads.language_model import LanguageModel
from crosslens.training.model import EncoderWithHeads, save
from crosslens.training.trained import load_language_model
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM, XLMRobertaConfig, XLMRobertaForMaskedLM

MODELS = {"bert": (BertConfig, BertForMaskedLM), "xlm-roberta": (XLMRobertaConfig, XLMRobertaForMaskedLM)}
LOG = logging.getLogger("crosslens.tests")


def saved(kind: str, like: Path, folder: Path, **options) -> torch.nn.Module:
    """A random masked language model in a folder, with the tokenizer of another encoder."""
    description = folders.read(like)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, **options}
    config, model = MODELS[kind]
    torch.manual_seed(0)
    made = model(config(vocab_size=description.config["vocab_size"], pad_token_id=0, **shape)).eval()
    for value in made.parameters():
        value.data.add_(0.3 * torch.randn(value.shape))
    made.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((like / name).read_bytes())
    return made


def built(source: Path, folder: Path, words: list[list[str]] | None = None) -> Path:
    description = folders.read(source)
    tokenizer = folder / "tokenizer"
    folders.write(trim(description, words) if words else description, tokenizer)
    write_checksums(tokenizer)
    build(FolderEncoder(source="folder", path=str(source)), tokenizer, folder / "encoder", LOG)
    return folder / "encoder"


@pytest.mark.parametrize("kind", MODELS)
@torch.inference_mode()
def test_logits_are_those_of_transformers(kind, encoder_folder, tmp_path):
    model = saved(kind, encoder_folder, tmp_path / "hub")
    encoder, head = load_language_model(built(tmp_path / "hub", tmp_path), [])
    ids = torch.from_numpy(np.random.default_rng(0).integers(5, 300, (3, 9)))
    expected = model(input_ids=ids).logits
    states = encoder(input_ids=ids).last_hidden_state
    torch.testing.assert_close(head(states), expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(head.subwords(states.reshape(-1, 16)), expected.argmax(-1).reshape(-1))


@pytest.mark.parametrize("kind", MODELS)
@torch.inference_mode()
def test_a_trimmed_vocabulary_keeps_its_logits(kind, encoder_folder, tmp_path):
    model = saved(kind, encoder_folder, tmp_path / "hub")
    vocabulary = list(folders.read(encoder_folder).tokenizer["model"]["vocab"])
    folder = built(tmp_path / "hub", tmp_path, [[word for word in vocabulary if word.isalpha()][100:140]])
    kept = torch.tensor(folders.read(tmp_path / "tokenizer").kept)
    assert len(kept) < len(vocabulary)
    encoder, head = load_language_model(folder, [])
    ids = torch.arange(len(kept))[None, :40]
    found = head(encoder(input_ids=ids).last_hidden_state)
    torch.testing.assert_close(found, model(input_ids=kept[ids]).logits[:, :, kept], rtol=1e-5, atol=1e-5)
    again = built(folder, tmp_path / "again")  # a folder that was built here
    torch.testing.assert_close(load_language_model(again, [])[1](torch.ones(1, 16)), head(torch.ones(1, 16)))


def test_names_of_old_checkpoints(encoder_folder, tmp_path):
    saved("bert", encoder_folder, tmp_path / "hub")
    path = tmp_path / "hub" / "model.safetensors"
    expected = load_file(built(tmp_path / "hub", tmp_path / "today") / LANGUAGE_MODEL)
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    save_file({name.replace(new, old[new]) if (new := ".".join(name.split(".")[-2:])) in old else name: value
               for name, value in load_file(path).items()}, path)  # fmt: skip
    found = load_file(built(tmp_path / "hub", tmp_path / "old") / LANGUAGE_MODEL)
    assert found.keys() == expected.keys() and all(torch.equal(found[name], value) for name, value in expected.items())


def test_a_head_that_is_not_tied_or_whole_is_none(encoder_folder, tmp_path):
    saved("bert", encoder_folder, tmp_path / "hub")
    path = tmp_path / "hub" / "model.safetensors"
    stored = load_file(path)
    embeddings = stored["bert.embeddings.word_embeddings.weight"]
    for decoder, has in ((embeddings.clone(), True), (embeddings + 0.1, False)):
        save_file(stored | {"cls.predictions.decoder.weight": decoder}, path)
        folder = built(tmp_path / "hub", tmp_path / str(has))
        assert (folder / LANGUAGE_MODEL).is_file() == has
    with pytest.raises(DataError, match=r"encoder/language_model.safetensors: expected the head"):
        load_language_model(folder, [])
    del stored["cls.predictions.transform.dense.bias"]
    save_file(stored, path)
    assert not (built(tmp_path / "hub", tmp_path / "part") / LANGUAGE_MODEL).exists()


@torch.inference_mode()
def test_the_head_of_a_training_comes_before_that_of_the_folder(encoder_folder, tmp_path, bench):
    saved("bert", encoder_folder, tmp_path / "hub")
    folder = built(tmp_path / "hub", tmp_path)
    encoder, released = load_language_model(folder, [])
    model = EncoderWithHeads(encoder, {TASK: LanguageModelHead()})
    model.initialise_heads([TASK], 3)
    model.encoder.get_submodule("embeddings.word_embeddings").weight.mul_(2)
    save(model, tmp_path / "trained.safetensors", with_encoder=True)
    trained, head = load_language_model(folder, [tmp_path / "trained.safetensors"])
    states = torch.randn(4, 16)
    torch.testing.assert_close(head(states), model.head(TASK)(states))
    assert not torch.allclose(head.transform.dense.weight, released.transform.dense.weight)
    assert not torch.equal(trained.get_parameter("embeddings.word_embeddings.weight"),
                           load_language_model(folder, [])[0].get_parameter("embeddings.word_embeddings.weight"))  # fmt: skip


@pytest.mark.parametrize("spread", [0.01, 0.3, 5.0])
@torch.inference_mode()
def test_rounded_logits_name_the_same_subwords(spread, monkeypatch):
    """From nearly even logits, of which more than MANY may be the first, to those that stand apart; the bias counts."""
    monkeypatch.setattr(fast_argmax, "resolve_precision", lambda *_: "bfloat16")
    torch.manual_seed(0)
    embeddings = torch.nn.Embedding(1111, 48)
    embeddings.weight.mul_(spread)
    embeddings.weight[7] *= 30
    head = LanguageModel(embeddings)
    for name, value in head.named_parameters():
        if "transform" in name:
            value.copy_(torch.randn(value.shape))
    head.bias.copy_(0.1 * torch.randn(1111))
    states = torch.randn(300, 48)
    quick = fast_argmax.FastArgmax(head)
    exact = head(states)
    found, expected = quick.subwords(states), exact.argmax(-1)
    apart = exact.topk(2).values.diff(dim=1).abs()[:, 0] > 1e-4 * exact.abs().amax(1)
    assert torch.equal(found[apart], expected[apart]) and apart.float().mean() > 0.9
    assert quick.quick and expected.unique().numel() > 3
    monkeypatch.setattr(fast_argmax, "LOGITS", 10 * 1111)  # a few states at a time
    assert torch.equal(fast_argmax.FastArgmax(head).subwords(states), found)
    assert quick.subwords(states[:0]).shape == (0,)
    assert 0 <= int(quick.subwords(torch.full((1, 48), torch.nan))) < 1111
