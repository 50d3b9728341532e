"""An encoder of the configuration without its weights: configuration and tokenizer, its vocabulary trimmed or learnt."""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pyarrow.parquet as pq
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from crosslens.config.encoders import Encoder, HubEncoder, PackagedEncoder, RandomEncoder
from crosslens.corpora.words import text_words
from crosslens.encoders import packaged
from crosslens.encoders.folder import Description, read, write
from crosslens.encoders.trim import trim
from crosslens.files import written

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def describe(settings: Encoder, corpora: Sequence[Path], folder: Path, log: logging.Logger, hub: Path | None = None) -> None:
    """Write config.json, tokenizer.json, tokenizer_config.json and, of a trimmed vocabulary, kept.json into `folder`.

    corpora: texts to which the vocabulary is trimmed, or from which it is learnt. hub: folder with the files of an encoder of the
    hub.
    """
    with written(folder) as temporary:
        description = _described(settings, corpora, hub)
        if corpora and not isinstance(settings, RandomEncoder):
            before = description.config["vocab_size"]
            description = trim(description, _texts(corpora))
            log.info("vocabulary trimmed from %d to %d subwords; subwords and embeddings of the texts are unchanged",
                     before, description.config["vocab_size"])  # fmt: skip
        write(description, temporary)


def _texts(corpora: Sequence[Path]) -> Iterator[list[str]]:
    for path in corpora:
        for row in pq.read_table(path).to_pylist():
            yield list(chain.from_iterable(text_words(row)[0]))


def _described(settings: Encoder, corpora: Sequence[Path], hub: Path | None) -> Description:
    if isinstance(settings, RandomEncoder):
        return _random(settings, corpora)
    if isinstance(settings, PackagedEncoder):
        return packaged.description(packaged.weights_file(settings))
    if isinstance(settings, HubEncoder):
        assert hub is not None
        return read(hub)
    return read(Path(settings.path))


def _random(settings: RandomEncoder, corpora: Sequence[Path]) -> Description:
    """An untrained BERT, with a WordPiece vocabulary of the corpora's characters and their most frequent words.

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
    config = {
        "model_type": "bert", "architectures": ["BertModel"], "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": settings.hidden, "num_hidden_layers": settings.layers, "num_attention_heads": settings.heads,
        "intermediate_size": 4 * settings.hidden, "pad_token_id": ids["[PAD]"],
    }  # fmt: skip
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
             "pad_token": "[PAD]", "mask_token": "[MASK]"}  # fmt: skip
    return Description(config, json.loads(tokenizer.to_str()), names)
