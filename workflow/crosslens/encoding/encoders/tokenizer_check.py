"""A trial of a downloaded tokenizer before anything is tokenised with it, on short texts of its own characters and words."""

import json
from itertools import chain

from tokenizers import Tokenizer

from crosslens.encoding.encoders.folder import ADDED, PARTS, SENTENCES, SPECIALS, Description, json_object, message, wrong
from crosslens.encoding.encoders.special import special_subwords
from crosslens.encoding.encoders.word_marks import longest_words

TOGETHER = 50  # characters of a text to compare
TEXTS = ("Élan ÉLAN E\u0301lan élan", "a中文b 中", "नि\u200dम a\u00adb", "l'été, 2024! (x-y)")  # accents, Han, joiners, marks
AS_IT_IS = " (tokenizer_class: PreTrainedTokenizerFast in tokenizer_config.json makes transformers read tokenizer.json as it is)"
ENDS = (("cls_token", "bos_token"), ("sep_token", "eos_token"))  # names in tokenizer_config.json: first subword, last subword


def try_tokenizer(description: Description) -> None:
    """Raise DataError unless short texts can be tokenised as the recipes need it.

    Each text must get its special subwords, words one by one the subwords that they have in a whole text, and all texts the
    subwords that transformers gives them.
    """
    description.word_tokenizer()
    tokenizer = Tokenizer.from_str(description.tokenizer_text())
    _compare(tokenizer, description)
    _check_ends(tokenizer, description)


def _compare(tokenizer: Tokenizer, description: Description) -> None:
    """Raise DataError for the first text that transformers or sentence-transformers read otherwise.

    From tokenizer.json, many classes of transformers take the vocabulary alone, and make all else by tokenizer_config.json
    (tokenization_utils_tokenizers.py, `convert_to_native_format`); all of them add the subwords of the files beside it.
    """
    from transformers import AutoTokenizer  # not at the top: a second, which other trials do not need

    folder, file = description.folder, description.folder / PARTS["tokenizer"]
    try:
        reference = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # whatever it stumbles over
        fault = f"{type(error).__name__}: {message(error)}{AS_IT_IS}"
        raise wrong(file, "a tokenizer that transformers can load", fault) from None
    files = {name: json_object(folder / name) for name in (SPECIALS, ADDED, SENTENCES) if (folder / name).is_file()}
    beside = json.dumps([description.tokenizer_config, files])
    stated = {subword for subword in reference.get_added_vocab() if json.dumps(subword) in beside}  # a class has others
    names = sorted(stated | {token.content for token in tokenizer.get_added_tokens_decoder().values()})
    words = [(word, f" {word}", word.upper(), word.lower(), word.title()) for word in longest_words(tokenizer)]
    characters = sorted({*json.dumps(description.tokenizer, ensure_ascii=False)})
    together = ("".join(characters[start : start + TOGETHER]) for start in range(0, len(characters), TOGETHER))
    probes = [*chain.from_iterable(words), *TEXTS, *together]
    lowers = files.get(SENTENCES, {}).get("do_lower_case")
    added = [*names, *(f"a{name}b" for name in names)]
    texts = [*(probe.lower() if lowers else probe for probe in probes), *added]
    expected = reference(texts, split_special_tokens=False)["input_ids"] + reference([TEXTS[:2]])["input_ids"]
    encodings = tokenizer.encode_batch([*probes, *added, TEXTS[:2]])
    for probe, encoding, ids in zip([*probes, *added, TEXTS[:2]], encodings, expected, strict=True):
        if encoding.ids != ids:
            kind = f"{type(reference).__name__} of transformers{f' and {SENTENCES}' * bool(lowers)}"
            subwords, fault = " ".join(reference.convert_ids_to_tokens(ids)), " ".join(encoding.tokens)
            expectation = f"{subwords!r:.80} for {probe!r:.40}, as it is read with {kind}"
            raise wrong(file, expectation, f"{fault!r:.80}{AS_IT_IS * (kind != 'TokenizersBackend of transformers')}")


def _check_ends(tokenizer: Tokenizer, description: Description) -> None:
    """Raise DataError unless the recipes can do with the special subwords around a text or a pair.

    The state of a text's first subword stands for the text, and two texts are told apart by what is between them. After a text
    there may be any number.
    """
    file, names = description.folder / PARTS["tokenizer"], description.tokenizer_config
    try:
        before, between, after = special_subwords(tokenizer)
    except ValueError as error:
        raise wrong(file, "the same special pieces around a text and a pair", str(error)) from None
    for subwords, place in ((before, "before a text"), (between, "between the texts of a pair")):
        if not subwords:
            raise wrong(file, f"a post_processor that puts a special piece {place}", "none")
    for place, numbers, keys in zip(("beginning", "end"), (before[:1], after[-1:]), ENDS, strict=True):
        expected = [name["content"] if isinstance(name, dict) else name for name in map(names.get, keys) if name]
        subword = tokenizer.id_to_token(numbers[0]) if numbers else None
        if expected and subword and subword not in expected:
            fault = f"{expected[0]!r:.20}, as tokenizer_config.json says, at the {place} of a text"
            raise wrong(file, fault, f"{subword!r:.20}")
