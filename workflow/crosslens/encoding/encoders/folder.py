"""The folder of a Hugging Face encoder, in two parts: its description, which suffices for tokenisation, and its weights."""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, pre_tokenizers

from crosslens.encoding.encoders.special import text_as_text
from crosslens.encoding.encoders.word_marks import by_words
from crosslens.jobs.errors import DataError

PARTS = {"config": "config.json", "tokenizer": "tokenizer.json", "tokenizer_config": "tokenizer_config.json"}
"""Field of `Description` -> its file."""
WEIGHTS = "model.safetensors"
LANGUAGE_MODEL = "language_model.safetensors"  # the head of a masked language model, if the encoder has one
KEPT = "kept.json"
SOURCE = "source.json"  # where the encoder is from; only in folders made by the workflow
SPECIALS = "special_tokens_map.json"  # next to tokenizer_config.json in folders saved by older versions of transformers
SENTENCES = "sentence_bert_config.json"  # of sentence-transformers; may lower-case texts before tokenisation
ADDED = "added_tokens.json"  # in folders saved by older versions of transformers

LARGEST = 2 * 10**8  # bytes of a file of the description; XLM-R's tokenizer.json has 9 million
CODE = ("auto_map", "custom_pipelines", "trust_remote_code", "attn_implementation", "_attn_implementation",
        "_attn_implementation_internal", "_experts_implementation")  # fmt: skip
"""Names under which config.json can request code of the folder itself or of the hub; they are ignored."""
NUMBERS = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
           "max_position_embeddings", "type_vocab_size")  # fmt: skip
LABELS = 10**5  # largest number, of a head: it is ignored, but transformers makes a name for each label
COUNTED = ("camembert", "data2vec-text", "esm", "ibert", "layoutlmv3", "lilt", "longformer", "luke", "markuplm", "mpnet",
           "roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod")  # fmt: skip
"""Values of model_type whose positions begin after the number of the padding subword and do not count padding."""
NAMED = ("unk_token", "cls_token", "sep_token", "pad_token", "mask_token", "bos_token", "eos_token")
MASKS = ("[MASK]", "<mask>")
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]  # subwords that spell characters missing from all other subwords
SAVE_AGAIN = "use the files of one checkpoint, or load the encoder and save it again with save_pretrained"


NO_DECODER = "an encoder alone, found one with a decoder (is_encoder_decoder), which is not supported: use another encoder"


@dataclass(frozen=True)
class Description:
    """An encoder without its weights."""

    config: dict[str, Any]
    tokenizer: dict[str, Any]
    tokenizer_config: dict[str, Any]
    kept: tuple[int, ...] | None = None  # numbers of a trimmed vocabulary's subwords in the whole vocabulary
    folder: Path = field(default=Path(), compare=False)  # for error messages

    def tokenizer_text(self) -> str:
        """The tokenizer's JSON, without truncation or padding."""
        return json.dumps(self.tokenizer | {"truncation": None, "padding": None})

    def fast_tokenizer(self) -> Tokenizer:
        """The tokenizer, without truncation or padding, and changed by `text_as_text`.

        Raises DataError if it is invalid or too large.
        """
        file = self.folder / PARTS["tokenizer"]
        try:
            tokenizer = Tokenizer.from_str(self.tokenizer_text())
        except Exception as error:  # tokenizers raises nothing narrower
            raise wrong(file, "a tokenizer of tokenizers", f"none ({message(error)})") from None
        size = self.config.get("vocab_size")
        if size is not None and tokenizer.get_vocab_size() > size:
            raise wrong(file, f"at most {size} subwords, the vocab_size of config.json", str(tokenizer.get_vocab_size()))
        return text_as_text(tokenizer)

    def word_tokenizer(self) -> Tokenizer:
        """The tokenizer for words given one by one (`by_words`).

        Raises DataError as `fast_tokenizer` does, and if words cannot be given to the tokenizer in this way.
        """
        tokenizer = by_words(self.fast_tokenizer())
        if tokenizer is None:
            expected = "words that have the same subwords one by one and in a text"
            raise wrong(self.folder / PARTS["tokenizer"], expected, "other subwords, with and without a space before each")
        return tokenizer


def read(folder: Path) -> Description:
    """Description of an encoder's folder. Raises DataError if a file is missing or damaged, or files contradict each other."""
    refuse_adapter(folder)
    missing = [name for name in PARTS.values() if not (folder / name).is_file()]
    if missing:
        old = missing == [PARTS["tokenizer"]]
        remedy = "convert it by make convert ENCODER=FOLDER OUT=NEW" if old else "load and save it again with save_pretrained"
        raise DataError(
            f"{folder}: expected an encoder saved by transformers with a fast tokenizer, found no {', '.join(missing)}: {remedy}"
        )
    config, tokenizer = read_config(folder), _typed(json_object(folder / PARTS["tokenizer"]))
    numbers = _json(folder / KEPT) if (folder / KEPT).is_file() else None
    if numbers is not None and not (
        isinstance(numbers, list) and len(numbers) == config["vocab_size"] and all(map(_is_number, numbers))
    ):
        raise wrong(folder / KEPT, f"{config['vocab_size']} numbers, the vocab_size of config.json", "other content")
    names = _names(folder)
    _check_tokenizer(folder, tokenizer, config, names if numbers is None else {})
    return Description(config, tokenizer, names, None if numbers is None else tuple(numbers), folder)


def positions(config: dict[str, Any]) -> int | None:
    """Number of subwords of the longest text that an encoder has positions for; None if config.json states no limit."""
    most = config.get("max_position_embeddings")
    unused = 1 + (config.get("pad_token_id") or 0) if config["model_type"] in COUNTED else 0  # positions that no text uses
    return None if most is None else int(most) - unused


def refuse_adapter(folder: Path) -> None:
    """Raise DataError if a folder has an adapter, even next to its base, whose weights would then be read without it."""
    if files := sorted(file.name for file in folder.glob("adapter_*")):
        remedy = (
            "merge it into its base first (peft: merge_and_unload().save_pretrained), or remove it if the base alone is meant"
        )
        raise DataError(f"{folder}: expected an encoder without an adapter, found {files[0]}: {remedy}")


def read_config(folder: Path) -> dict[str, Any]:
    """Content of config.json without entries that request code.

    Raises DataError if the file is damaged or does not describe an encoder.
    """
    file = folder / PARTS["config"]
    config: dict[str, Any] = _harmless(json_object(file))
    if not isinstance(config.get("model_type"), str):
        raise wrong(file, "the name of a model_type", repr(config.get("model_type"))[:40])
    if config.get("is_encoder_decoder"):
        raise DataError(f"{file}: expected {NO_DECODER}")
    if config.get("quantization_config"):
        raise wrong(file, "an encoder whose weights are numbers as they are", "quantization_config")
    for name in NUMBERS:
        if not _is_number(config.get(name, 1)) or name == "vocab_size" and not config.get(name):
            raise wrong(file, f"a whole number as {name}", repr(config.get(name))[:40])
    for name in ("num_labels", "_num_labels"):
        if not (_is_number(labels := config.get(name) or 0) and labels <= LABELS):
            raise wrong(file, f"a whole number up to {LABELS} as {name}", repr(labels)[:40])
    padding = config.get("pad_token_id")
    if padding is not None and not (_is_number(padding) and padding < config["vocab_size"]):
        raise wrong(file, f"a pad_token_id below the vocab_size of {config['vocab_size']}", repr(padding)[:40])
    return config


def _typed(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """Content of tokenizer.json with its model's type, which is missing from files older than tokenizers 0.9."""
    model = tokenizer.get("model")
    if not isinstance(model, dict) or "type" in model:
        return tokenizer
    if "merges" in model:
        kind = "BPE"
    elif isinstance(model.get("vocab"), list):
        kind = "Unigram"
    else:
        kind = "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"
    return tokenizer | {"model": {"type": kind} | model}


def _names(folder: Path) -> dict[str, Any]:
    """Content of tokenizer_config.json; a mask that it does not name is taken from special_tokens_map.json."""
    names, beside = json_object(folder / PARTS["tokenizer_config"]), folder / SPECIALS
    mask = names.get("mask_token") or (json_object(beside).get("mask_token") if beside.is_file() else None)
    return names | {"mask_token": mask} if mask else names


def _check_tokenizer(folder: Path, tokenizer: dict[str, Any], config: dict[str, Any], names: dict[str, Any]) -> None:
    """Raise DataError unless every subword has an embedding and the special subwords are those that the files name."""
    file = folder / PARTS["tokenizer"]
    try:
        model, added = tokenizer["model"], {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
        lacking = {"normalizer", "pre_tokenizer", "post_processor"} - tokenizer.keys()
        vocabulary, kind = model["vocab"], model["type"]
        subwords = dict(vocabulary) if isinstance(vocabulary, dict) else {subword: i for i, (subword, _) in enumerate(vocabulary)}
        subwords |= added
        ends = dict(_ends(tokenizer.get("post_processor")))
        unknown = model.get("unk_id") if kind == "Unigram" else subwords.get(model.get("unk_token"))
        special = {
            name: (names[name]["content"] if isinstance(names[name], dict) else names[name]) for name in NAMED if name in names
        }
        odd = [name for name, subword in special.items() if not isinstance(subword, str | None)]
        if odd:
            raise ValueError(f"{odd[0]} of the files beside it is no text")
        padding = subwords.get(special.get("pad_token"))
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise wrong(file, "a whole tokenizer", f"a part of one ({type(error).__name__}: {message(error)})") from None
    if lacking:
        raise wrong(file, "a whole tokenizer", f"none of its parts {', '.join(sorted(lacking))}")
    if not subwords or not all(map(_is_number, subwords.values())) or len(set(subwords.values())) < len(subwords):
        raise wrong(file, "subwords with a number each", "none, or the same number twice")
    if max(subwords.values()) >= config["vocab_size"]:
        last = max(subwords, key=subwords.__getitem__)
        raise wrong(
            file,
            f"subwords below {config['vocab_size']}, the vocab_size of config.json",
            f"number {subwords[last]} ({last!r:.40})",
        )
    if kind in ("Unigram", "WordPiece", "WordLevel") and (not isinstance(unknown, int) or not 0 <= unknown < len(subwords)):
        raise wrong(file, "a subword for what is unknown", "none")
    if kind == "BPE" and unknown is None and not _spells_all(model, tokenizer, subwords):
        expected = "an unk_token among the subwords, or a subword for each of the 256 bytes (byte-level, or with byte_fallback)"
        raise wrong(file, expected, "neither, so that characters would vanish")
    if model.get("dropout"):
        raise wrong(file, "dropout: null in its model, so that a text always has the same subwords", f"{model['dropout']!r:.20}")
    for subword, number in ends.items():
        if subwords.get(subword) != number:
            raise wrong(file, f"{subword!r:.40} as subword {number}, as its post_processor says", str(subwords.get(subword)))
    for name, subword in special.items():
        if subword is not None and subword not in subwords:
            raise wrong(file, f"the {name} {subword!r:.40} of the files beside it among its subwords", "none")
    # Other encoders mask padding, whichever subword it is: multilingual-e5-small is a BERT with <pad> 1 and pad_token_id 0.
    needs_padding = config["model_type"] in COUNTED and None not in (padding, config.get("pad_token_id"))
    if needs_padding and padding != config["pad_token_id"]:
        raise wrong(file, f"{special['pad_token']!r:.40} as subword {config['pad_token_id']}, as config.json says", str(padding))


def _spells_all(model: dict[str, Any], tokenizer: dict[str, Any], subwords: Collection[str]) -> bool:
    """Whether a BPE model without an unknown subword can spell every text.

    It can if each byte has a subword, at any place in a word.
    """
    is_byte_level = '"type": "ByteLevel"' in json.dumps([tokenizer.get("normalizer"), tokenizer.get("pre_tokenizer")])
    prefixes, suffixes = ({"", model.get(name) or ""} for name in ("continuing_subword_prefix", "end_of_word_suffix"))
    alphabet = map("".join, product(prefixes, pre_tokenizers.ByteLevel.alphabet(), suffixes))
    return is_byte_level and {*alphabet} <= {*subwords} or bool(model.get("byte_fallback")) and {*BYTES} <= {*subwords}


def _ends(processor: Any) -> Iterator[tuple[str, int]]:
    """Special subwords that a post-processor adds, each with its number."""
    kind = processor["type"] if processor else ""
    if kind == "TemplateProcessing":
        for value in processor["special_tokens"].values():
            yield from zip(value["tokens"], value["ids"], strict=True)
    elif kind in ("BertProcessing", "RobertaProcessing"):
        yield from ((subword, number) for subword, number in (processor["sep"], processor["cls"]))
    elif kind == "Sequence":
        for part in processor["processors"]:
            yield from _ends(part)


def _json(file: Path) -> Any:
    try:
        with open(file, "rb") as stream:
            content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ValueError(f"more than {LARGEST // 10**6} MB")
        return json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_refuse_repetitions,
            parse_float=_refuse_infinity,
            parse_constant=_refuse_infinity,
        )
    except (ValueError, RecursionError) as error:  # RecursionError: deeply nested brackets
        raise wrong(file, "JSON", message(error)) from None


def _refuse_repetitions(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object from its pairs. Raises ValueError if a key occurs twice; json.loads would silently take the last."""
    content = dict(pairs)
    if len(content) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {name!r:.40} twice")
    return content


def _refuse_infinity(text: str) -> float:
    """A finite number. Raises ValueError for NaN, Infinity, and numbers too large for 64 bits."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40}, which is no finite number")
    return number


def json_object(file: Path) -> dict[str, Any]:
    """Content of a JSON file that holds an object. Raises DataError if it does not, or if it is damaged or too large."""
    content = _json(file)
    if not isinstance(content, dict):
        raise wrong(file, "an object of JSON", f"{content!r:.40}")
    return content


def _harmless(value: Any) -> Any:
    """A part of config.json without entries that request code."""
    if isinstance(value, dict):
        return {name: _harmless(part) for name, part in value.items() if name not in CODE}
    return [_harmless(part) for part in value] if isinstance(value, list) else value


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def message(error: Exception) -> str:
    """Message of a library's error, as one line of at most 200 characters."""
    return " ".join(str(error).split())[:200]


def wrong(file: Path, expected: str, fault: str) -> DataError:
    """The error for an encoder's file that does not contain what was expected. fault: what it contains instead."""
    return DataError(f"{file}: expected {expected}, found {fault}: {SAVE_AGAIN}")


def mask_subword(folder: Path) -> int:
    """Number of the mask subword. Raises DataError if the tokenizer has none."""
    description = read(folder)
    name = description.tokenizer_config.get("mask_token")
    names = [name["content"] if isinstance(name, dict) else name] if name else []
    # The official folders of mBERT and XLM-R do not say which subword is the mask; it has its usual name.
    added = [token["content"] for token in description.tokenizer["added_tokens"] if token.get("special")]
    masks = names or [subword for subword in added if subword in MASKS]
    number = description.fast_tokenizer().token_to_id(masks[0]) if len(masks) == 1 else None
    if number is None:
        raise DataError(f"{folder}: expected a tokenizer with a mask, found none: use the encoder of a masked language model")
    return number


def write(description: Description, folder: Path) -> None:
    """Write an encoder's description into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, name in PARTS.items():
        text = json.dumps(getattr(description, part), ensure_ascii=False, indent=1)
        (folder / name).write_text(text + "\n", encoding="utf-8")
    if description.kept is not None:
        (folder / KEPT).write_text(json.dumps(description.kept) + "\n", encoding="utf-8")
