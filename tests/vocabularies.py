"""Small tokenizers of the kinds that multilingual encoders have, trained on texts."""

import json
from functools import partial

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

SPECIALS = ["<pad>", "</s>", "<s>", "<unk>"]


def trained(texts, model, trainer, **parts) -> Tokenizer:
    """A tokenizer with these parts, trained on texts."""
    tokenizer = Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(texts, trainer(vocab_size=1200, special_tokens=SPECIALS, show_progress=False))
    return tokenizer


def metaspace(texts, scheme, *, split=True, at_spaces=False) -> Tokenizer:
    """A Unigram tokenizer whose subwords have the mark "▁", in one of the schemes by which a text's first word gets it."""
    trainer = partial(trainers.UnigramTrainer, unk_token="<unk>")
    tokenizer = trained(texts, models.Unigram(), trainer, pre_tokenizer=pre_tokenizers.Metaspace())
    marks = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), marks]) if at_spaces else marks
    return tokenizer


def gemma(texts) -> Tokenizer:
    """A BPE tokenizer with byte fallback that replaces spaces by the mark "▁", as Gemma's."""
    bytes_of_others = [f"<0x{byte:02X}>" for byte in range(256)]
    words = pre_tokenizers.Split("▁", "merged_with_next")
    model, marks = models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True), normalizers.Replace(" ", "▁")
    tokenizer = trained(texts, model, trainers.BpeTrainer, normalizer=marks, pre_tokenizer=words)
    content = json.loads(tokenizer.to_str())
    size = len(content["model"]["vocab"])
    content["model"]["vocab"] |= {subword: size + place for place, subword in enumerate(bytes_of_others)}
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")  # no space is left
    return tokenizer


def byte_level(texts, *, prefix=False) -> Tokenizer:
    """A BPE tokenizer of bytes; prefix: whether a text gets a space before it."""
    trainer = partial(trainers.BpeTrainer, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    return trained(texts, models.BPE(), trainer, pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=prefix))


def wordpiece(texts) -> Tokenizer:
    """A cased WordPiece tokenizer, as mBERT's."""
    bert = {"normalizer": normalizers.BertNormalizer(lowercase=False), "pre_tokenizer": pre_tokenizers.BertPreTokenizer()}
    return trained(texts, models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer, **bert)


def end_of_word_bpe(texts) -> Tokenizer:
    """A BPE tokenizer whose subwords have a mark where a word ends, as XLM's."""
    bert = {"normalizer": normalizers.BertNormalizer(lowercase=True), "pre_tokenizer": pre_tokenizers.BertPreTokenizer()}
    trainer = partial(trainers.BpeTrainer, end_of_word_suffix="</w>")
    return trained(texts, models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"), trainer, **bert)
