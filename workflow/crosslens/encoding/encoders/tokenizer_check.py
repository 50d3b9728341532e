"""A trial of a downloaded tokenizer, in a process of its own, before anything is tokenised with it.

The parts of a tokenizer.json are programs: rules of a normaliser can make a text grow without end, and patterns can take
forever. When memory runs out, the library kills the process. The trial's process gets the time and memory that a tokenizer of
this size needs. Memory means what the process uses, because what it maps grows with every core of the machine.

    python -m crosslens.encoding.encoders.tokenizer_check FOLDER SECONDS      the command that `try_tokenizer` starts
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile

from tokenizers import Tokenizer

from crosslens.encoding.encoders.folder import ADDED, PARTS, SENTENCES, SPECIALS, Description, json_object, message, read, wrong
from crosslens.encoding.encoders.special import special_subwords
from crosslens.encoding.encoders.word_marks import longest_words
from crosslens.jobs.errors import DataError
from crosslens.jobs.machine import peak_memory
from crosslens.jobs.quantities import readable

SECONDS, SECONDS_A_BYTE = 12, 4e-6  # of processor time; multilingual-e5-small's 13 MB take 15 s
BYTES, BYTES_A_BYTE = 5 * 10**8, 60  # of memory; the same file takes 60 bytes per byte
REFUSED = 3  # exit status of a trial whose last line is the reason
THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
GROWTH = 32  # largest number of characters that normalisation makes of one: NFKC makes up to 18
REPEATED = 40  # times that a text repeats its character, to test rules about repetitions
TOGETHER = 50  # different characters in a text to compare
CODEPOINT = re.compile(r"\\[xu]\{?([0-9A-Fa-f]{2,6})")  # in a pattern
TEXTS = ("Élan ÉLAN E\u0301lan élan", "a中文b 中", "नि\u200dम a\u00adb", "l'été, 2024! (x-y)")  # accents, Han, joiners, marks
AS_IT_IS = " (tokenizer_class: PreTrainedTokenizerFast in tokenizer_config.json makes transformers read tokenizer.json as it is)"
ENDS = (("cls_token", "bos_token"), ("sep_token", "eos_token"))  # names in tokenizer_config.json: first subword, last subword


def try_tokenizer(folder: Path) -> None:
    """Raise DataError unless short texts can be tokenised in bounded time and memory, and as the recipes require.

    Each text must get its special subwords. Words given one by one must have the same subwords as in a whole text, and every
    text the subwords that transformers gives it. folder: files not made by crosslens, already read without a fault by
    crosslens.encoding.encoders.folder.
    """
    file = folder / PARTS["tokenizer"]
    size = file.stat().st_size
    seconds, memory = SECONDS + int(SECONDS_A_BYTE * size), BYTES + BYTES_A_BYTE * size
    paths = os.pathsep.join(filter(None, (str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH"))))
    variables = os.environ | THREADS | {"PYTHONPATH": paths, "PYTHONUTF8": "1", "HF_HUB_OFFLINE": "1"}
    with TemporaryFile() as output:
        command = [sys.executable, "-m", __name__, str(folder.absolute()), str(seconds)]
        trial = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=variables)
        try:
            while trial.poll() is None and peak_memory(trial.pid) <= memory:
                time.sleep(0.02)
        finally:
            trial.kill()
            trial.wait()
        output.seek(0)
        last_line = output.read().decode(errors="replace").strip().rpartition("\n")[2]
    if trial.returncode == REFUSED:
        raise DataError(last_line)
    if trial.returncode < 0:
        expected = f"a tokenizer that takes at most {seconds} s and {readable(memory)} for texts of its own characters"
        raise wrong(file, expected, f"that its process ended by {signal.Signals(-trial.returncode).name}")
    if trial.returncode:
        raise wrong(file, "a tokenizer that reads short texts", last_line[:200])


def _main(folder: Path, seconds: int) -> None:
    """Try a tokenizer; print as the last line why it is refused."""
    sys.modules["torch"] = None  # type: ignore[assignment]  # transformers would import it, for two seconds and 200 MB
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError):  # the system's limit is lower
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))  # soft limit: SIGXCPU; hard: SIGKILL
    try:
        check_tokenizer(read(folder))
    except DataError as error:
        print(error)
        sys.exit(REFUSED)
    except Exception as error:  # tokenizers raises nothing narrower
        print(wrong(folder / PARTS["tokenizer"], "a tokenizer of tokenizers", f"none ({message(error)})"))
        sys.exit(REFUSED)


def check_tokenizer(description: Description) -> None:
    """Tokenise short texts of a tokenizer's own characters, in this process. Raises DataError as `try_tokenizer` does."""
    file, tokenizer = description.folder / PARTS["tokenizer"], Tokenizer.from_str(description.tokenizer_text())
    characters = _collect_characters(description.tokenizer)
    for probe in (character * REPEATED for character in characters):
        size = len(tokenizer.normalizer.normalize_str(probe)) if tokenizer.normalizer else 0
        if size > GROWTH * REPEATED:
            raise wrong(file, f"a normalizer that makes at most {GROWTH} characters of one", f"{size} from {probe!r:.20}")
        tokenizer.encode(probe)
    _compare(tokenizer, characters, description)
    _check_ends(tokenizer, description)
    description.word_tokenizer()


def _collect_characters(tokenizer: dict[str, object]) -> list[str]:
    """Distinct characters of the vocabulary, and of the patterns of normaliser and pre-tokeniser."""
    text = json.dumps(tokenizer, ensure_ascii=False)
    return sorted({*text, *(chr(min(int(code, 16), 0x10FFFF)) for code in CODEPOINT.findall(text))})


def _compare(tokenizer: Tokenizer, characters: Sequence[str], description: Description) -> None:
    """Raise DataError for the first text to which transformers or sentence-transformers give other subwords.

    Many tokenizer classes of transformers take only the vocabulary from tokenizer.json, and make everything else from
    tokenizer_config.json (tokenization_utils_tokenizers.py, `convert_to_native_format`). All of them add the subwords of the
    files next to it.
    """
    from transformers import AutoTokenizer  # not at the top: the parent need not wait a second for it

    folder, file = description.folder, description.folder / PARTS["tokenizer"]
    try:
        reference = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # any fault that transformers finds
        fault = f"{type(error).__name__}: {message(error)}{AS_IT_IS}"
        raise wrong(file, "a tokenizer that transformers can load", fault) from None
    files = {name: json_object(folder / name) for name in (SPECIALS, ADDED, SENTENCES) if (folder / name).is_file()}
    beside = json.dumps([description.tokenizer_config, files])
    stated = {subword for subword in reference.get_added_vocab() if json.dumps(subword) in beside}  # classes add others
    names = sorted(stated | {token.content for token in tokenizer.get_added_tokens_decoder().values()})
    words = [(word, f" {word}", word.upper(), word.lower(), word.title()) for word in longest_words(tokenizer)]
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
    """Raise DataError unless the special subwords around a text or pair suit the recipes.

    The state of the first subword represents the text, and the special subwords between two texts separate them. After a text
    there may be any number of special subwords.
    """
    file, names = description.folder / PARTS["tokenizer"], description.tokenizer_config
    try:
        before, between, after = special_subwords(tokenizer)
    except ValueError as error:
        raise wrong(file, "the same special subwords around a text and a pair", str(error)) from None
    for subwords, place in ((before, "before a text"), (between, "between the texts of a pair")):
        if not subwords:
            raise wrong(file, f"a post_processor that puts a special subword {place}", "none")
    for place, numbers, keys in zip(("beginning", "end"), (before[:1], after[-1:]), ENDS, strict=True):
        expected = [name["content"] if isinstance(name, dict) else name for name in map(names.get, keys) if name]
        subword = tokenizer.id_to_token(numbers[0]) if numbers else None
        if expected and subword and subword not in expected:
            fault = f"{expected[0]!r:.20}, as tokenizer_config.json says, at the {place} of a text"
            raise wrong(file, fault, f"{subword!r:.20}")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
