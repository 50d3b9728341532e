"""A trial of a tokenizer before anything is tokenised with it: short texts of its own characters, in a process of its own.

The parts of a tokenizer.json are programs: rules of a normaliser can make a text grow without end, patterns can take forever, and
when memory runs out, the library kills the process. The trial runs in a process of its own, with as much time and memory as a
tokenizer of this size needs. Memory is what the process uses: it maps more with every core of the machine.

    python -m crosslens.encoders.tokenizer_trial SECONDS      the command that `try_tokenizer` starts
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tokenizers import Tokenizer

from crosslens.encoders.folder import ADDED, PARTS, SAVE_AGAIN, SENTENCES, SPECIALS, Description, json_object
from crosslens.encoders.special import special_pieces
from crosslens.encoders.word_marks import FAULT, by_words, longest_words
from crosslens.runs.errors import DataError
from crosslens.runs.machine import peak_memory
from crosslens.runs.quantities import readable

SECONDS, SECONDS_A_BYTE = 12, 2e-6  # of processor time; multilingual-e5-small's 13 MB take 8
BYTES, BYTES_A_BYTE = 5 * 10**8, 60  # of memory; the same take 60 bytes a byte
GROWTH = 32  # characters of a normalised text for each before: NFKC makes up to 18
REPEATED, REPEATED_IN_PATTERNS = 4, 40  # times that a character stands in its text, for rules about repetitions
TOGETHER = 50  # characters of a text to tokenise
TEXTS = ("Élan ÉLAN E\u0301lan élan", "a中文b 中", "नि\u200dम a\u00adb", "l'été, 2024! (x-y)")  # accents, Han, joiners, marks
SETTINGS = ("do_lower_case", "strip_accents", "tokenize_chinese_chars", "add_prefix_space")  # to name in messages
AS_IT_IS = " (tokenizer_class: PreTrainedTokenizerFast in tokenizer_config.json makes transformers read tokenizer.json as it is)"
CODEPOINT = re.compile(r"\\x\{([0-9A-Fa-f]{1,6})\}|\\x([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})")  # of a pattern
ENDS = (("cls_token", "bos_token"), ("sep_token", "eos_token"))  # names in tokenizer_config.json: first piece, last piece


def try_tokenizer(description: Description) -> None:
    """Raise DataError unless short texts can be tokenised in bounded time and memory, and as the recipes need it.

    Each text must get its special pieces, and words one by one the pieces that they have in a whole text (`by_words`). If the
    description is of a folder, transformers must read the folder's tokenizer in the same way.
    """
    file = description.folder / PARTS["tokenizer"]
    text, pieces = description.tokenizer_text().encode(), description.config.get("vocab_size")
    characters, patterns = _collect_characters_and_patterns(description.tokenizer)
    folder = None if description.folder == Path() else str(description.folder.absolute())
    request = json.dumps([characters, patterns, description.tokenizer_config, pieces, folder]).encode()
    seconds, memory = SECONDS + int(SECONDS_A_BYTE * len(text)), BYTES + BYTES_A_BYTE * len(text)
    paths = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    options: dict[str, Any] = {"stderr": subprocess.STDOUT, "env": os.environ | threads | {"PYTHONPATH": paths}}
    with TemporaryFile() as stdin, TemporaryFile() as stdout:
        stdin.write(request + b"\n" + text)
        stdin.seek(0)
        trial = subprocess.Popen([sys.executable, "-m", __name__, str(seconds)], stdin=stdin, stdout=stdout, **options)
        try:
            while trial.poll() is None and peak_memory(trial.pid) <= memory:
                time.sleep(0.02)
        finally:
            trial.kill()
            trial.wait()
        stdout.seek(0)
        last_line = stdout.read().decode(errors="replace").strip().rpartition("\n")[2]
    fault: tuple[str, str] | None
    if trial.returncode < 0:
        name = signal.Signals(-trial.returncode).name
        expected = f"a tokenizer that takes at most {seconds} s and {readable(memory)} for texts of its own characters"
        fault = expected, f"that its process ended by {name}"
    else:
        fault = ("a tokenizer that reads short texts", _line(last_line)) if trial.returncode else json.loads(last_line)
    if fault:
        raise DataError(f"{file}: expected {fault[0]}, found {fault[1]}: {SAVE_AGAIN}")


def _collect_characters_and_patterns(tokenizer: dict[str, Any]) -> tuple[str, list[str]]:
    """The different characters of the vocabulary, and the patterns of normaliser and pre-tokeniser, whole and by character."""
    vocabulary = tokenizer["model"]["vocab"]
    pieces = vocabulary if isinstance(vocabulary, dict) else (piece for piece, _ in vocabulary)
    patterns = [*_collect_texts(tokenizer.get("normalizer")), *_collect_texts(tokenizer.get("pre_tokenizer"))]
    escapes = [chr(min(int("".join(code), 16), 0x10FFFF)) for pattern in patterns for code in CODEPOINT.findall(pattern)]
    repetitions = [character * REPEATED_IN_PATTERNS for character in sorted(set().union(*patterns, escapes))]
    return "".join(sorted(set().union(*pieces))), patterns + repetitions


def _collect_texts(part: Any) -> Iterator[str]:
    """All strings in a part of tokenizer.json except the map of a SentencePiece normaliser, which is not a pattern."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, list | dict):
        for name, value in part.items() if isinstance(part, dict) else enumerate(part):
            if name != "precompiled_charsmap":
                yield from _collect_texts(value)


def _find_fault_at_ends(tokenizer: Tokenizer, names: dict[str, Any]) -> tuple[str, str] | None:
    """Expected and actual special pieces around a text or a pair, for a message; None if the recipes can do with them.

    The state of a text's first piece stands for the text, and two texts are told apart by what is between them. After a text
    there may be any number.
    """
    before, between, after = special_pieces(tokenizer)
    if not before:
        return "a post_processor that puts a special piece before a text", "none"
    if not between:
        return "a post_processor that puts a special piece between the texts of a pair", "none"
    for place, numbers, keys in zip(("beginning", "end"), (before[:1], after[-1:]), ENDS, strict=True):
        expected = [name["content"] if isinstance(name, dict) else name for name in map(names.get, keys) if name]
        pieces = [tokenizer.id_to_token(number) for number in numbers]
        if expected and pieces and pieces[0] not in expected:
            return f"{expected[0]!r:.20}, as tokenizer_config.json says, at the {place} of a text", f"{pieces[0]!r:.20}"
    return None


def _find_contradiction(tokenizer: Tokenizer, folder: Path, names: dict[str, Any], texts: list[str]) -> tuple[str, str] | None:
    """Expected and actual subwords of the first probe that transformers or sentence-transformers read otherwise; None without.

    From tokenizer.json, many classes of transformers take the vocabulary alone, and make all else by tokenizer_config.json
    (tokenization_utils_tokenizers.py, `convert_to_native_format`); all of them add the pieces of the files beside it.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.modules["torch"] = None  # type: ignore[assignment]  # to import it would take two seconds and 200 MB
    from transformers import AutoTokenizer  # not at the top: a second, which the parent does not need

    try:
        reference = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        beside = [names, *(json_object(folder / name) for name in (SPECIALS, ADDED) if (folder / name).is_file())]
        lowers = (folder / SENTENCES).is_file() and json_object(folder / SENTENCES).get("do_lower_case")
    except Exception as error:  # whatever it stumbles over
        return "a tokenizer that transformers can load", f"{type(error).__name__}: {_line(str(error))}{AS_IT_IS}"
    stated = {*_collect_texts(beside), *chain.from_iterable(beside)}  # a class has others, which the vocabulary may lack
    names_of_pieces = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    names_of_pieces |= reference.get_added_vocab().keys() & stated
    added = [text for piece in sorted(names_of_pieces) for text in (piece, f"a{piece}b")]
    words = [(word, f" {word}", word.upper(), word.lower(), word.title()) for word in longest_words(tokenizer)]
    probes = [*chain.from_iterable(words), *TEXTS, *texts]
    lowered = [probe.lower() for probe in probes] if lowers else probes
    ids = reference([*lowered, *added], split_special_tokens=False)["input_ids"] + [reference(*TEXTS[:2])["input_ids"]]
    encodings = tokenizer.encode_batch([*probes, *added, TEXTS[:2]])
    for probe, encoding, expected in zip([*probes, *added, " ".join(TEXTS[:2])], encodings, ids, strict=True):
        if encoding.ids != expected:
            kind, settings = type(reference).__name__, [f"{key}: {names[key]!r}" for key in SETTINGS if key in names]
            reader = ", ".join([f"{kind} of transformers", *settings, *[SENTENCES] * bool(lowers)])
            pieces, fault = " ".join(reference.convert_ids_to_tokens(expected)), " ".join(encoding.tokens)
            remedy = "" if kind == "TokenizersBackend" else AS_IT_IS
            return f"{pieces!r:.80} for {probe!r:.40}, as it is read with {reader}", f"{fault!r:.80}{remedy}"
    return None


def _main() -> None:
    """Read the request, a line of JSON, and tokenizer.json; write what was expected and what was found, or null."""
    for limit, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, int(sys.argv[1]))):
        with suppress(ValueError, OSError):  # the system's limit is lower
            resource.setrlimit(limit, (value, value + 1))  # at the first SIGXCPU, which nothing else sends, then SIGKILL
    request = json.loads(sys.stdin.buffer.readline())
    print(json.dumps(_find_fault(sys.stdin.buffer.read().decode(), *request)))


def _find_fault(
    text: str, characters: str, patterns: list[str], names: dict[str, Any], pieces: int | None, folder: str | None
) -> tuple[str, str] | None:
    """Expected and actual behaviour of a tokenizer, for a message; None if it reads all probes.

    text: content of tokenizer.json. names: content of tokenizer_config.json. pieces: largest number of pieces. folder: where
    these files are; None: in no folder.
    """
    try:
        tokenizer = Tokenizer.from_str(text)
        if pieces is not None and tokenizer.get_vocab_size() > pieces:
            return f"at most {pieces} pieces, the vocab_size of config.json", str(tokenizer.get_vocab_size())
        for probe in (*(character * REPEATED for character in characters), *patterns) if tokenizer.normalizer else ():
            size = len(tokenizer.normalizer.normalize_str(probe))
            if size > GROWTH * (len(probe) + 1):
                return f"a normalizer that makes at most {GROWTH} characters of one", f"{size} from {probe!r:.20}"
        texts = [characters[start : start + TOGETHER] for start in range(0, len(characters), TOGETHER)]
        for probe in (*texts, *patterns):
            tokenizer.encode(probe)
        return (
            (_find_contradiction(tokenizer, Path(folder), names, texts) if folder else None)
            or _find_fault_at_ends(tokenizer, names)
            or (FAULT if by_words(tokenizer) is None else None)
        )
    except Exception as error:  # the library's own kind
        return "a tokenizer of tokenizers", f"none ({_line(str(error))})"


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


if __name__ == "__main__":
    _main()
