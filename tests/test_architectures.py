"""Encoders of the architectures in docs/new-encoder.md, tiny and untrained, with tokenizers of their classes, up to states."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import vocabularies
from conftest import alone, build_encoder, refused, sentence_rows
from crosslens.config.encoders import FolderEncoder
from crosslens.config.tokenisations import Tokenisation
from crosslens.config.units import Units
from crosslens.corpora import schema
from crosslens.encoding.batches import collate
from crosslens.encoding.encoders.folder import mask_subword
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.layers import embeddings, transformer_layers
from crosslens.encoding.means import Variant, language_means
from crosslens.encoding.texts import load, load_subwords
from crosslens.encoding.tokens.tokenise import load_tokenizer, write_tokens
from crosslens.encoding.unit_states import unit_states
from crosslens.jobs.errors import DataError
from tokenizers import Tokenizer, processors
from transformers import (
    CONFIG_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoModel,
    AutoModelForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

SENTENCES = [row for language in ("de", "en") for row in sentence_rows(language, "train", 12)]
BERT, ROBERTA = ("<s> $A </s>", "<s> $A </s> $B:1 </s>:1"), ("<s> $A </s>", "<s> $A </s> </s> $B </s>")
SHAPE = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 48}
SUBWORDS = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
GROUPS = {"num_key_value_heads": 1, "head_dim": 16}
UNIGRAM = partial(vocabularies.metaspace, scheme="always", at_spaces=True)


class Architecture(NamedTuple):
    """An encoder as its makers publish it: keys of config.json, tokenizer, special subwords around a text and a pair."""

    keys: dict[str, Any]
    tokenizer: Callable[[list[str]], Tokenizer]
    template: tuple[str, str] = BERT
    prenorm: bool = False
    pad: str = "<pad>"


ARCHITECTURES = {
    "bert": Architecture(SHAPE, vocabularies.wordpiece),
    "distilbert": Architecture({"dim": 32, "n_layers": 3, "n_heads": 2, "hidden_dim": 48}, vocabularies.wordpiece),
    "xlm-roberta": Architecture(SHAPE | SUBWORDS, UNIGRAM, ROBERTA),
    "xlm-roberta-xl": Architecture(SHAPE | SUBWORDS, UNIGRAM, ROBERTA, prenorm=True),
    "modernbert": Architecture(
        SHAPE | SUBWORDS | {"cls_token_id": 1, "sep_token_id": 1, "local_attention": 8}, vocabularies.gemma, prenorm=True
    ),
    "eurobert": Architecture(
        SHAPE | GROUPS | {"pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 1, "mask_token_id": 3},
        vocabularies.byte_level, ("<s> $A", "<s> $A <s> $B"), prenorm=True, pad="</s>",
    ),
    "deberta-v2": Architecture(
        SHAPE | {"relative_attention": True, "position_buckets": 16, "pos_att_type": "p2c|c2p", "share_att_key": True,
                 "norm_rel_ebd": "layer_norm", "position_biased_input": False, "type_vocab_size": 0, "conv_kernel_size": 3},
        partial(vocabularies.metaspace, scheme="always"),
    ),
    "rembert": Architecture(
        SHAPE | SUBWORDS | {"input_embedding_size": 16, "output_embedding_size": 48},
        partial(vocabularies.metaspace, scheme="always", split=False),
    ),
    "xmod": Architecture(
        SHAPE | SUBWORDS | {"languages": ["en_XX", "de_DE"], "default_language": "en_XX", "adapter_reduction_factor": 2},
        UNIGRAM, ROBERTA,
    ),
    "gemma3_text": Architecture(
        SHAPE | SUBWORDS | GROUPS | {"use_bidirectional_attention": True, "sliding_window": 8},
        vocabularies.gemma, ("<s> $A </s>", "<s> $A </s> <s> $B </s>"), prenorm=True,
    ),
    "gte": Architecture(SHAPE | SUBWORDS, UNIGRAM, ROBERTA),
    "jina_embeddings_v3": Architecture(SHAPE | SUBWORDS, UNIGRAM, ROBERTA),
    "nomic_bert": Architecture(SHAPE | SUBWORDS, UNIGRAM, ROBERTA),
    "xlm": Architecture(
        {"emb_dim": 32, "n_layers": 3, "n_heads": 2, "pad_index": 0}, vocabularies.end_of_word_bpe,
        ("</s> $A </s>", "</s> $A </s> $B </s>"),
    ),
    "albert": Architecture(SHAPE | {"embedding_size": 16}, partial(vocabularies.metaspace, scheme="always")),
}  # fmt: skip


def published(name: str, architecture: Architecture, folder: Path) -> PreTrainedModel:
    """Save an encoder as its makers do, with the head of a masked language model where there is one; return the encoder."""
    tokenizer = architecture.tokenizer([row["text"] for row in SENTENCES])
    subwords = [(subword, tokenizer.token_to_id(subword)) for subword in ("<s>", "</s>")]
    text, pair = architecture.template
    tokenizer.post_processor = processors.TemplateProcessing(single=text, pair=pair, special_tokens=subwords)
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": architecture.pad}
    names |= {"cls_token": "</s>" if name == "xlm" else "<s>", "sep_token": "</s>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    size = tokenizer.get_vocab_size()
    keys = architecture.keys | {"model_type": name, "vocab_size": size} | ({"n_words": size} if name == "xlm" else {})
    config = CONFIG_MAPPING[name].from_dict(keys)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        kind = AutoModelForMaskedLM if type(config) in MODEL_FOR_MASKED_LM_MAPPING else AutoModel
        model = kind.from_config(config).eval()
    model.save_pretrained(folder)
    content = json.loads((folder / "config.json").read_text()) | keys  # Gemma's class halves a window each time that it is made
    code = {"auto_map": {"AutoModel": "modeling_eurobert.EuroBertModel"}} if name == "eurobert" else {}  # which is not run
    (folder / "config.json").write_text(json.dumps(content | code))
    return model.base_model if kind is AutoModelForMaskedLM else model


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_from_the_folder_of_its_makers_to_states(name, tmp_path):
    architecture = ARCHITECTURES[name]
    theirs = published(name, architecture, tmp_path / "whole")
    settings = FolderEncoder(source="folder", path=str(tmp_path / "whole"))
    built = build_encoder(settings, [], tmp_path / "built")
    assert json.loads((built / "source.json").read_text())["prenorm"] == architecture.prenorm
    schema.write(SENTENCES, tmp_path / "corpus", schema.SENTENCES, {})
    counts = write_tokens(
        load_tokenizer(built), tmp_path / "corpus", tmp_path / "tokens", Tokenisation(drop_unknown=False), "train"
    )
    assert (counts["texts"], counts["cut_texts"]) == (len(SENTENCES), 0)

    encoder, texts = load_encoder(built), load([tmp_path / "tokens"], [], ["de", "en"])
    assert len(texts.positions) == sum(len(row["forms"]) for row in SENTENCES)
    with torch.inference_mode():
        batch = collate(texts, np.arange(len(texts)), int(encoder.config.pad_token_id or 0))
        states = unit_states(encoder, batch, Units(), range(4))
        for text in range(len(texts)):  # one by one, in transformers' own encoder
            rows = slice(texts.word_offsets[text], texts.word_offsets[text + 1])
            for layer, of_layer in enumerate(alone(theirs, texts, text)):
                expected = of_layer[texts.positions[rows]]
                assert torch.allclose(states[f"layer_{layer}"][rows], expected, rtol=1e-4, atol=1e-5), layer
    every = Variant("tokens", specials=False)
    means = language_means(encoder, {"de": load_subwords([tmp_path / "tokens"]).take(np.arange(12))}, (every,))[every]["de"]
    assert means.shape == (4, 32) and np.isfinite(means).all()
    with pytest.raises(DataError, match="expected a tokenizer with a mask, found none: use the encoder of a masked"):
        mask_subword(built)


TRIMMED = {  # with the vocabularies that can be trimmed
    "xlm-roberta": UNIGRAM, "modernbert": UNIGRAM, "gte": partial(vocabularies.metaspace, scheme="never"),
    "rembert": partial(vocabularies.metaspace, scheme="always", split=False), "distilbert": vocabularies.wordpiece,
}  # fmt: skip


@pytest.mark.parametrize("name", TRIMMED)
def test_trimming_changes_no_state(name, tmp_path):
    published(name, ARCHITECTURES[name]._replace(tokenizer=TRIMMED[name]), tmp_path / "whole")
    schema.write(SENTENCES[:8], tmp_path / "corpus", schema.SENTENCES, {})
    states, sizes = [], []
    for corpora in ([], ["corpus"]):
        settings = FolderEncoder(source="folder", path=str(tmp_path / "whole"), corpora=corpora)
        built = build_encoder(settings, [tmp_path / "corpus"] if corpora else [], tmp_path / f"built{len(corpora)}")
        write_tokens(load_tokenizer(built), tmp_path / "corpus", tmp_path / f"tokens{len(corpora)}", Tokenisation(), "train")
        encoder, texts = load_encoder(built), load([tmp_path / f"tokens{len(corpora)}"], [], ["de", "en"])
        with torch.inference_mode():
            states.append(unit_states(encoder, collate(texts, np.arange(8), int(encoder.config.pad_token_id or 0)), Units()))
        sizes.append(encoder.config.vocab_size)
    assert sizes[1] < sizes[0] and torch.allclose(states[0]["layer_3"], states[1]["layer_3"], atol=1e-6)


SCATTERED = ("xlm", "albert")  # whose layers are not one list


def test_blocks_that_cannot_be_changed_are_refused_in_one_line(tmp_path):
    """The layers of XLM are in four lists; those of all others are in one list, and embeddings in one module."""
    for name, architecture in ARCHITECTURES.items():
        config = CONFIG_MAPPING[name].from_dict(architecture.keys | {"model_type": name, "vocab_size": 90, "n_words": 90})
        encoder = AutoModel.from_config(config)
        if name in SCATTERED:
            with refused("expected one list of 3 layers, to change some of them, found"):
                transformer_layers(encoder)
        else:
            assert len(transformer_layers(encoder)) == 3 and embeddings(encoder).get_parameter  # a module


def test_the_list_of_the_documentation_is_of_these():
    text = Path(__file__).parents[1].joinpath("docs/new-encoder.md").read_text("utf-8")
    page = text.split("## By architecture")[1].split("## ")[0].split("- **")[1:]
    post, pre, scattered = (set(re.findall("`(.+?)`", item)) for item in page)
    assert post == {name for name, architecture in ARCHITECTURES.items() if not architecture.prenorm}
    assert pre == {name for name, architecture in ARCHITECTURES.items() if architecture.prenorm} and scattered == {*SCATTERED}


REFUSED = {  # text, pair -> what is refused
    "nothing before a text": (
        "$A </s>",
        "$A </s> $B </s>",
        "expected a post_processor that puts a special subword before a text",
    ),
    "no special subwords": ("$A", "$A $B", "expected a post_processor that puts a special subword before a text, found none"),
    "nothing between": (
        "<s> $A",
        "<s> $A $B",
        "expected a post_processor that puts a special subword between the texts of a pair",
    ),
    "another pair": ("<s> $A </s>", "<s> $A </s> $B", "expected the same special subwords around a text and a pair, found other"),
    "words without marks": (*BERT, "expected words that have the same subwords one by one and in a text, found other subwords"),
}


@pytest.mark.parametrize("how", REFUSED)
def test_tokenizers_that_no_recipe_can_use_are_refused_in_one_line(how, tmp_path):
    text, pair, message = REFUSED[how]
    unmarked = partial(vocabularies.metaspace, scheme="first", at_spaces=True)
    kind = unmarked if how == "words without marks" else vocabularies.wordpiece
    published("bert", Architecture(SHAPE, kind, (text, pair)), tmp_path / "whole")
    with refused(rf"whole/tokenizer\.json: {message}"):
        build_encoder(FolderEncoder(source="folder", path=str(tmp_path / "whole")), [], tmp_path / "built")
    assert not (tmp_path / "built").exists()


def test_an_encoder_of_characters_is_refused_in_one_line(tmp_path):
    """CANINE has no tokenizer.json; with another's its hidden states are of two lengths."""
    published("bert", ARCHITECTURES["bert"], tmp_path / "whole")
    keys = SHAPE | {"model_type": "canine", "local_transformer_stride": 8, "max_position_embeddings": 512}
    AutoModel.from_config(CONFIG_MAPPING["canine"].from_dict(keys)).save_pretrained(tmp_path / "whole")
    with refused("expected a whole number as vocab_size"):
        build_encoder(FolderEncoder(source="folder", path=str(tmp_path / "whole")), [], tmp_path / "built")
    assert not (tmp_path / "built").exists()
