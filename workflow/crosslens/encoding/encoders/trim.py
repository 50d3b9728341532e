"""Trimming of an encoder's vocabulary to given texts, without changing any hidden state of these texts."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from crosslens.encoding.encoders.folder import Description
from crosslens.jobs.errors import DataError

CHUNK = 5000
CHECKED = 32  # about so many texts of each chunk are compared before and after


def trim(encoder: Description, texts: Iterable[Sequence[str]]) -> Description:
    """The encoder with only the subwords that occur in `texts`, the special ones, and those that segmentation needs.

    texts: lists of words. Unigram: the subword with the lowest score is kept, because it determines the score of an unknown
    character; the best segmentation then remains the best. WordPiece: the longest match remains the longest. Raises DataError
    for other models.
    """
    kind = encoder.tokenizer["model"]["type"]
    if kind not in ("Unigram", "WordPiece"):
        raise DataError(f"trim: expected a Unigram or WordPiece vocabulary, found {kind}: set corpora to [] for this encoder")
    tokenizer = encoder.word_tokenizer()
    keep = {token["id"] for token in encoder.tokenizer["added_tokens"]}
    if kind == "Unigram":
        vocabulary = encoder.tokenizer["model"]["vocab"]
        keep |= {encoder.tokenizer["model"]["unk_id"], min(range(len(vocabulary)), key=lambda subword: vocabulary[subword][1])}
    else:
        keep.add(encoder.tokenizer["model"]["vocab"][encoder.tokenizer["model"]["unk_token"]])
    checked: list[Sequence[str]] = []
    texts = iter(texts)
    while chunk := list(islice(texts, CHUNK)):
        checked += chunk[:: max(1, len(chunk) // CHECKED)]
        for encoding in tokenizer.encode_batch(chunk, is_pretokenized=True):
            keep.update(encoding.ids)
    order = sorted(keep)
    trimmed = replace(
        encoder, tokenizer=_tokenizer(encoder.tokenizer, order), config=_config(encoder.config, order), kept=tuple(order)
    )
    _check(encoder, trimmed, checked)
    return trimmed


def _tokenizer(tokenizer: dict[str, Any], order: Sequence[int]) -> dict[str, Any]:
    """Content of tokenizer.json with only the kept subwords, renumbered 0, 1, ... in the given order."""
    new = {old: number for number, old in enumerate(order)}
    model = dict(tokenizer["model"])
    if model["type"] == "Unigram":
        model["vocab"] = [model["vocab"][old] for old in order]
        model["unk_id"] = new[model["unk_id"]]
    else:
        model["vocab"] = {subword: new[old] for subword, old in model["vocab"].items() if old in new}
    processor = _renumber(tokenizer["post_processor"], new)
    added = [token | {"id": new[token["id"]]} for token in tokenizer["added_tokens"]]
    return tokenizer | {"model": model, "post_processor": processor, "added_tokens": added}


def _renumber(processor: Any, new: dict[int, int]) -> Any:
    """The post-processor, in any of its published forms, with the ids of its special tokens renumbered."""
    if processor is None:
        return None
    if processor["type"] == "TemplateProcessing":
        special = {name: value | {"ids": [new[i] for i in value["ids"]]} for name, value in processor["special_tokens"].items()}
        return processor | {"special_tokens": special}
    if processor["type"] in ("BertProcessing", "RobertaProcessing"):
        return processor | {side: [processor[side][0], new[processor[side][1]]] for side in ("sep", "cls")}
    if processor["type"] == "Sequence":
        return processor | {"processors": [_renumber(part, new) for part in processor["processors"]]}
    return processor


def _config(config: dict[str, Any], order: Sequence[int]) -> dict[str, Any]:
    new = {old: number for number, old in enumerate(order)}
    ids = {
        name: new.get(config[name]) for name in ("pad_token_id", "bos_token_id", "eos_token_id") if config.get(name) is not None
    }
    return config | ids | {"vocab_size": len(order)}


def _check(full: Description, trimmed: Description, texts: Sequence[Sequence[str]]) -> None:
    """Raise AssertionError unless trimming leaves the subwords of the texts, and so their embeddings, unchanged."""
    assert trimmed.kept is not None
    encodings = [encoder.word_tokenizer().encode_batch(texts, is_pretokenized=True) for encoder in (full, trimmed)]
    for old, new in zip(*encodings, strict=True):
        if old.tokens != new.tokens or old.ids != [trimmed.kept[subword] for subword in new.ids]:
            raise AssertionError(
                f"trimming changed the subwords of {' '.join(old.tokens)}: please report this with the encoder's name"
            )
