"""A configured encoder without its weights: its configuration, and its tokenizer, whose vocabulary may be trimmed or learnt."""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from crosslens.config.encoders import Encoder, HubEncoder, PackagedEncoder, RandomEncoder, VocabularyEncoder
from crosslens.corpora.words import text_words, words
from crosslens.encoding.encoders import packaged
from crosslens.encoding.encoders.folder import KEPT, Description, read, write
from crosslens.encoding.encoders.tokenizer_check import try_tokenizer
from crosslens.encoding.encoders.trim import trim
from crosslens.jobs import parquet
from crosslens.jobs.checksums import checksummed
from crosslens.jobs.errors import DataError

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def describe(
    settings: Encoder,
    corpora: Sequence[Path],
    folder: Path,
    log: logging.Logger,
    hub: Path | None = None,
    package: Mapping[str, str] | None = None,
) -> None:
    """Write config.json, tokenizer.json, tokenizer_config.json and, for a trimmed vocabulary, kept.json into `folder`.

    corpora: texts to which the vocabulary is trimmed, or from which it is learnt. hub: folder with the official files of an
    encoder from the hub or of a vocabulary, or with the tokenizer that a random encoder shares. package: version and digest of
    the package of a packaged encoder.
    """
    with checksummed(folder) as temporary:
        description = _described(settings, corpora, hub, package)
        if description.folder != Path():  # files that crosslens has not made
            try_tokenizer(description.folder)
        if corpora and not isinstance(settings, RandomEncoder):
            before = description.config["vocab_size"]
            description = trim(description, _texts(corpora))
            log.info("vocabulary trimmed from %d to %d subwords; subwords and embeddings of the texts are unchanged",
                     before, description.config["vocab_size"])  # fmt: skip
        write(description, temporary)


def _texts(corpora: Sequence[Path]) -> Iterator[list[str]]:
    for path in corpora:
        for row in parquet.read(path).to_pylist():
            yield list(chain.from_iterable(text_words(row)[0]))


def _described(settings: Encoder, corpora: Sequence[Path], hub: Path | None, package: Mapping[str, str] | None) -> Description:
    if isinstance(settings, RandomEncoder):
        return _random(settings, corpora) if hub is None else _shaped(settings, read(hub))
    if isinstance(settings, PackagedEncoder):
        assert package is not None
        return packaged.description(packaged.weights_file(settings, package))
    if isinstance(settings, HubEncoder):
        assert hub is not None
        return read(hub)
    if isinstance(settings, VocabularyEncoder):
        assert hub is not None
        return _vocabulary(hub / "vocab.txt")
    if (Path(settings.path) / KEPT).exists():
        raise DataError(
            f"{settings.path}: expected an encoder with its whole vocabulary, found {KEPT}, which crosslens writes beside a "
            f"trimmed tokenizer: name a folder below encoders, or remove {KEPT} if the tokenizer has a subword for each embedding"
        )
    return read(Path(settings.path))


def _random(settings: RandomEncoder, corpora: Sequence[Path]) -> Description:
    """An untrained BERT, with a WordPiece vocabulary of the corpora's characters and most frequent words.

    The WordPieceTrainer of tokenizers is not used, because ties make its vocabulary differ between runs.
    """
    counts = Counter(word for text in _texts(corpora) for word in words(" ".join(text)))
    characters = sorted({character for word in counts for character in word})
    longer = sorted((word for word in counts if len(word) > 1), key=lambda word: (-counts[word], word))
    subwords = [*SPECIALS, *characters, *(f"##{character}" for character in characters), *longer][: settings.vocabulary]
    return _cased(subwords, _shape(settings))


def _shape(settings: RandomEncoder) -> dict[str, Any]:
    """Entries of config.json that the settings determine; for static embeddings only the shape."""
    if not settings.layers:
        return {"model_type": "static", "hidden_size": settings.hidden, "num_hidden_layers": 0}
    return {
        "architectures": ["BertModel"], "hidden_size": settings.hidden, "num_hidden_layers": settings.layers,
        "num_attention_heads": settings.heads, "intermediate_size": 4 * settings.hidden,
    }  # fmt: skip


def _shaped(settings: RandomEncoder, description: Description) -> Description:
    """An untrained encoder with the tokenizer of another encoder."""
    config = {name: description.config[name] for name in ("vocab_size", "pad_token_id") if name in description.config}
    return Description({"model_type": "bert"} | config | _shape(settings), description.tokenizer, description.tokenizer_config)


def _vocabulary(path: Path) -> Description:
    """The tokenizer of a cased BERT from its vocab.txt, which has one subword per line in the order of their numbers.

    Raises DataError if the file is not such a vocabulary.
    """
    try:
        subwords = path.read_text("utf-8").removesuffix("\n").split("\n")  # not splitlines: subwords may be other line separators
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: expected UTF-8, found byte {error.start} that is not: fetch the file again") from None
    twice = next((subword for subword, count in Counter(subwords).items() if count > 1), None)
    missing = [name for name in SPECIALS if name not in subwords]
    if missing or twice is not None:
        fault = f"no {', '.join(missing)}" if missing else f"'{twice}' in two lines"
        raise DataError(f"{path}: expected the vocabulary of a BERT, a subword a line, found {fault}: fetch the file again")
    return _cased(subwords, {})


def _cased(subwords: Sequence[str], shape: dict[str, Any]) -> Description:
    """A cased BERT with a WordPiece tokenizer of these subwords. shape: entries of config.json that do not follow from them."""
    model = models.WordPiece(
        {subword: number for number, subword in enumerate(subwords)}, unk_token="[UNK]", max_input_chars_per_word=100
    )
    tokenizer = Tokenizer(model)
    tokenizer.add_special_tokens(list(SPECIALS))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=False
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ids = {name: tokenizer.token_to_id(name) for name in SPECIALS}
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, ids[name]) for name in ("[CLS]", "[SEP]")],
    )
    config = {"model_type": "bert", "vocab_size": tokenizer.get_vocab_size(), "pad_token_id": ids["[PAD]"]} | shape
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
             "pad_token": "[PAD]", "mask_token": "[MASK]"}  # fmt: skip
    return Description(config, json.loads(tokenizer.to_str()), names)
