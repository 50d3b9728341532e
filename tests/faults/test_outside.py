"""Files outside the results: a change to any that a plan or its jobs read is planned or told in one line, and nothing else is.

A small study of a user's own: an encoder in a folder, treebanks and dumps in a mirror, an overlay. Several files are changed
before each dry run; each must be named in the reason of its own job, or in a line of its own.
"""

import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from crosslens.config.encoders import FolderEncoder
from crosslens.runs.errors import DataError, short
from forked import snakemake
from phrasebook.write import Sizes, write_sources
from study import copy_repository, environment
from tally import Tally

RESULTS = "results/own"
OVERLAY = """
results: results/own
mirror: [my-data]
sources: { my-treebanks: { title: Treebanks of our own } }
encoders:
  mine: { source: folder, path: my-encoder }
corpora:
  udpos:
    source: my-treebanks
    languages: [de, en]
    files: { train: "{code}-train.conllu", dev: "{code}-dev.conllu", test: "{code}-test.conllu" }
  xnli: { languages: [de, en] }
  wikipedia:
    source: wikipedia
    file: "{wiki}/20260101/{wiki}-20260101-pages-articles-multistream.xml.bz2"
    blocks: 1000
    languages: [de, en]
readings: { without_unknown: { drop_unknown: true, maximum: 128 } }
papers: { tanti2021: { encoder: mine } }
"""
FILES = ("config.yaml", "tests/workflow/overlay.yaml", "own.yaml")
TARGETS = (f"{RESULTS}/dataset_sizes.html", f"{RESULTS}/encoders/mine")
TREEBANKS, DUMPS = "my-data/my-treebanks", "my-data/wikipedia/{0}/20260101/{0}-20260101-pages-articles-multistream"
SECONDS = 100  # without end, or nearly so: a hundred times what an undamaged file takes
OLD = 1_000_000_000 * 10**9  # a time long before anything was built, in nanoseconds


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Path:
    """A copy of the repository and files of a user's own, in which the study is built. Tests leave files as they find them."""
    root = copy_repository(tmp_path_factory.mktemp("outside"))
    write_sources(root / "generated", ["de", "en"], 0, Sizes(train=30, dev=10, test=10, parallel=2, articles=40, records=2))
    (root / TREEBANKS).mkdir(parents=True)
    for path in root.glob("generated/ud/*-Phrasebook/*.conllu"):
        shutil.copy(path, root / TREEBANKS / f"{path.stem.partition('_')[0]}-{path.stem.rpartition('-')[2]}.conllu")
    write_sources(root / "further", ["de"], 1, Sizes(train=30, dev=10, test=10, parallel=2, articles=40, records=2))
    (train,) = root.glob("further/ud/*-Phrasebook/*-dev.conllu")
    shutil.move(train, root / TREEBANKS / "de-train.conllu")  # a run trains on several languages
    shutil.rmtree(root / "further")
    packed = root / TREEBANKS / "en-train.conllu"
    packed.with_name("en-train.conllu.xz").write_bytes(lzma.compress(packed.read_bytes()))
    packed.unlink()
    shutil.move(root / "generated/wikipedia", root / "my-data/wikipedia")
    shutil.copytree(encoder_folder, root / "my-encoder", ignore=shutil.ignore_patterns(".*", "source.json"))
    (root / "my-encoder/special_tokens_map.json").write_text('{"mask_token": "[MASK]"}')
    (root / "own.yaml").write_text(OVERLAY)
    shutil.rmtree(root / "generated")
    status, said = run(root)
    assert status == 0, said
    assert planned(root) == {}
    return root


def run(root: Path, *options: str) -> tuple[int | None, str]:
    """Status of Snakemake, and what it said."""
    targets = ("--profile", "tests/workflow", "--configfile", *FILES, *options, "--", *TARGETS)
    return snakemake(targets, root, environment())


def planned(root: Path) -> dict[str, str]:
    """Job -> reason of what would run."""
    status, said = run(root, "-n", "--quiet", "host")
    assert status == 0 and "Traceback" not in said, said
    jobs = dict(re.findall(r"^Job \d+: (.+)\nReason: (.+)$", said, re.MULTILINE))
    assert jobs or "Nothing to be done" in said, said
    return jobs


class Edit(NamedTuple):
    """A change to a file; the job that it has planned, and a part of the reason that is told."""

    path: str
    change: Callable[[bytes, Random], bytes]
    job: str
    reason: str


def flipped(content: bytes, random: Random) -> bytes:
    """Another bit of one byte, not among the first thousand."""
    place = random.randrange(min(1000, len(content) // 2), len(content))
    return content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]


def another_digit(content: bytes, random: Random) -> bytes:
    """Another digit in the place of one."""
    place = random.choice([match.start() for match in re.finditer(rb"[0-9]", content)])
    return content[:place] + b"%d" % ((content[place] - 48 + random.randint(1, 9)) % 10) + content[place + 1 :]


def another_letter(content: bytes, random: Random) -> bytes:
    """Another letter in the place of one, below the first line."""
    place = random.choice([match.start() for match in re.finditer(rb"[a-y]", content) if match.start() > content.index(b"\n")])
    return content[:place] + bytes([content[place] + 1]) + content[place + 1 :]


def another_value(content: bytes, random: Random) -> bytes:
    """Another word at the end of a value of YAML."""
    lines = content.split(b"\n")
    place = random.choice([i for i, line in enumerate(lines) if re.fullmatch(rb" +[\w-]+: [A-Za-z][\w ,.;-]*", line)])
    return b"\n".join([*lines[:place], lines[place] + b" indeed", *lines[place + 1 :]])


def another_key(content: bytes, random: Random) -> bytes:
    """One more key in an object of JSON, or other numbers in a list."""
    return json.dumps(json.loads(content or b"{}") | {f"x{random.randrange(100)}": random.random()}).encode()


def replaced(pattern: bytes, value: str) -> Callable[[bytes, Random], bytes]:
    """Some number in the place of the one in a pattern's group."""

    def change(content: bytes, random: Random) -> bytes:
        match = re.search(pattern, content)
        assert match, pattern
        return content[: match.start(1)] + value.encode() % random.randint(2, 9) + content[match.end(1) :]

    return change


DESCRIPTION = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "kept.json")
TABLES = ("phrasebook/concepts.csv", "phrasebook/frames.csv", "phrasebook/de/lexicon.csv",
          "phrasebook/tr/frames.txt", "phrasebook/hi/lexicon.csv")  # fmt: skip
WEIGHTS = (
    Edit("my-encoder/model.safetensors", flipped, "Make encoder mine", "my-encoder/model.safetensors "),
    Edit("my-encoder/language_model.safetensors", another_key, "Make encoder mine", "my-encoder/language_model.safetensors "),
)
EDITS = (  # none of a line has a job that follows from another's of the same line, which would hide its reason
    (
        *(Edit(f"my-encoder/{name}", another_key, "Make the tokenizer of mine", f"my-encoder/{name} ") for name in DESCRIPTION),
        Edit(
            "resources/languages.csv",
            replaced(rb"deu,stan(\d+),", "%d"),
            "Write the phrasebook's corpora",
            "resources/languages.csv ",
        ),
        *(Edit(f"resources/{name}", another_letter, "Write the phrasebook's corpora", f"resources/{name} ") for name in TABLES),
    ),
    (
        Edit(
            "resources/sources.yaml",
            replaced(rb"dumps.wikimedia.org/{wiki}()", "/mirror%d"),
            "Fetch dewiki/",
            "org/dewiki/mirror",
        ),
        Edit("own.yaml", replaced(rb"drop_unknown: true, maximum: (128)", "12%d"), "Tokenise xnli", "'maximum': 12"),
        *WEIGHTS,
    ),
    (
        Edit("config.yaml", replaced(rb"minimum_characters: (\d+)", "%d"), "Sample de paragraphs", "'minimum_characters': "),
        Edit("tests/workflow/overlay.yaml", replaced(rb"paragraphs: (20)\n", "1%d"), "Sample en paragraphs", "'paragraphs': 1"),
        *WEIGHTS,
    ),
    (
        Edit("resources/published/tanti2021.csv", another_digit, "Make dataset_sizes", "resources/published/tanti2021.csv "),
        *WEIGHTS,
    ),
    (
        Edit("resources/terms.yaml", another_value, "Lay out dataset_sizes", "resources/terms.yaml "),
        *(
            Edit(
                f"workflow/crosslens/reports/{name}",
                another_letter,
                "Lay out dataset_sizes",
                f"workflow/crosslens/reports/{name} ",
            )
            for name in ("page.html.j2", "page.css")
        ),
        *WEIGHTS,
    ),
    (Edit("envs/corpora.yaml", replaced(rb"numpy=2\.(\d+)", "%d"), "Write the phrasebook's corpora", "Params have changed"),),
)


@contextmanager
def put_back(root: Path) -> Iterator[None]:
    """All files outside the results as they were, their times included."""
    kept = {path: (path.read_bytes(), path.stat()) for path in outside(root)}
    try:
        yield
    finally:
        for path in {*outside(root)} - kept.keys():
            path.unlink()
        for path, (content, status) in kept.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def outside(root: Path) -> list[Path]:
    """Files of a study outside its results."""
    return [path for folder in root.iterdir() if folder.name not in ("results", ".snakemake")
            for path in ([folder] if folder.is_file() else folder.rglob("*")) if path.is_file()]  # fmt: skip


def write(path: Path, content: bytes, random: Random) -> None:
    """Write a file as files are changed: in place or as a new one; its time is now, long ago or what it was."""
    times = [None, OLD, *([path.stat().st_mtime_ns] if path.exists() else [])]
    if random.random() < 0.5:
        path.unlink(missing_ok=True)
    path.write_bytes(content)
    if (time := random.choice(times)) is not None:
        os.utime(path, ns=(time, time))


def test_a_changed_file_is_planned_with_its_name(study: Path, often, tally) -> None:
    counts = tally("a file outside the results changes")
    for number in range(often(40, 1)):
        random = Random(f"changed {number}")
        edits = EDITS[number % len(EDITS)]
        edits = random.sample(edits, min(len(edits), 8))
        with put_back(study):
            for edit in edits:
                path = study / edit.path
                write(path, edit.change(path.read_bytes() if path.exists() else b"", random), random)
            jobs = planned(study)
        for edit in edits:
            reasons = [reason for job, reason in jobs.items() if job.startswith(edit.job) and edit.reason in reason]
            if reasons:
                counts.rerun += 1
                counts.seen = counts.seen or reasons[0]
            else:
                counts.silent.append(f"{number}: {edit.path}: {jobs.get(edit.job)}")
    assert not counts.silent, "\n".join(counts.silent)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_pinned_file_of_a_mirror_that_changes_is_told_in_one_line(study: Path, often, tally) -> None:
    counts = tally("a file of a mirror changes that is pinned")
    copies = sorted((study / TREEBANKS).iterdir())
    for number in range(often(20, 1)):
        random = Random(f"pinned {number}")
        with put_back(study):
            copy = random.choice(copies)
            before = lzma.decompress(copy.read_bytes()) if copy.suffix == ".xz" else copy.read_bytes()
            after = before.replace(b"NOUN", b"VERB") if random.random() < 0.3 else another_letter(before, random)
            form = random.choice(["", ".xz", ".gz", "damaged .xz"])
            packed = {"": bytes, ".gz": gzip.compress}.get(form, lzma.compress)(after)
            copy.unlink()
            changed = copy.with_name(f"{copy.name.removesuffix('.xz')}{form.rpartition(' ')[2]}")
            write(changed, packed[: -len(packed) // 3] if "damaged" in form else packed, random)
            status, said = run(study, "-n")
        expected = f"sha256 {sha256(before)}, pinned in sources.lock.tsv when it was first read, found {sha256(after)}; restore"
        lines = [line for line in said.splitlines() if line.startswith(f"{changed.relative_to(study)}: expected ")]
        if (
            status
            and len(lines) == 1
            and ("a complete .xz file" if "damaged" in form else expected) in lines[0]
            and "Traceback" not in said
        ):
            counts.refused += 1
            counts.seen = counts.seen or lines[0]
        else:
            counts.silent.append(f"{number}: {said}")
    assert not counts.silent, "\n".join(counts.silent)


@pytest.mark.long
def test_a_file_whose_pin_is_deleted_is_fetched_again_and_all_that_follows(study: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(study, tmp_path / "own", symlinks=True))
    copy, lock = root / TREEBANKS / "de-test.conllu", root / "sources.lock.tsv"
    copy.write_bytes(copy.read_bytes().replace(b"NOUN", b"VERB"))
    lock.write_text(re.sub(r"(?m)^my-treebanks/de-test\.conllu\t.*\n", "", lock.read_text()))
    jobs = planned(root)
    assert sha256(copy.read_bytes()) in jobs["Fetch de-test.conllu of my-treebanks"]
    assert {"Read udpos", "Tokenise udpos for mine, reading without_unknown", "Make dataset_sizes"} <= jobs.keys()
    assert not any("xnli" in job or "encoder" in job for job in jobs)
    status, said = run(root)
    assert status == 0, said
    assert (root / RESULTS / "sources/my-treebanks/de-test.conllu").read_bytes() == copy.read_bytes()
    assert planned(root) == {}
    assert f"my-treebanks/de-test.conllu\t{sha256(copy.read_bytes())}" in lock.read_text()


READ = ("Snakefile", "config.yaml", "envs", "my-data", "my-encoder", "own.yaml", "profiles", "resources", "rules",
        "sources.lock.tsv", "tests/workflow", "workflow")  # fmt: skip


def touched(study: Path, random: Random) -> Path:
    path = random.choice(read(study))
    os.utime(path, ns=(random.choice([OLD, 3 * OLD // 2, 2 * OLD]),) * 2)
    return path


def rewritten(study: Path, random: Random) -> Path:
    path = random.choice(read(study))
    write(path, path.read_bytes(), random)
    return path


def commented(study: Path, random: Random) -> Path:
    """With comments before some keys at the top of YAML."""
    path = random.choice([path for path in read(study) if path.suffix == ".yaml"])
    content = path.read_bytes()
    places = [match.start() for match in re.finditer(rb"^[A-Za-z]", content, re.MULTILINE)]
    for place in sorted(random.sample(places, min(3, len(places))), reverse=True):
        content = content[:place] + b"# %d\n\n" % random.randrange(10**6) + content[place:]
    write(path, content, random)
    return path


def recompressed(study: Path, random: Random) -> Path:
    path = random.choice(sorted((study / TREEBANKS).iterdir()))
    content = {".xz": lzma.decompress, ".gz": gzip.decompress}.get(path.suffix, bytes)(path.read_bytes())
    path.unlink()
    pack = random.choice(["", ".xz", ".gz"])
    packed = {"": bytes, ".xz": lambda content: lzma.compress(content, preset=1), ".gz": gzip.compress}[pack](content)
    path = path.with_name(f"{path.name.removesuffix('.xz').removesuffix('.gz')}{pack}")
    path.write_bytes(packed)
    return path


def gone(study: Path, random: Random) -> Path:
    path = random.choice([path for path in read(study) if "my-data" in path.parts])
    path.unlink()
    return path


def added(study: Path, random: Random) -> Path:
    """A further mirror, which has another file under the name of one that was fetched."""
    overlay = study / "own.yaml"
    overlay.write_text(overlay.read_text().replace("mirror: [my-data]", "mirror: [my-data, other]"))
    assert "other]" in overlay.read_text()  # which it may have been before
    path = (
        study / "other" / random.choice([path for path in read(study) if "my-data" in path.parts]).relative_to(study / "my-data")
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(random.randbytes(100))
    return path


def read(study: Path) -> list[Path]:
    """Files outside the results that plans read, or jobs."""
    return [path for path in outside(study) if path.relative_to(study).as_posix().startswith(READ)]


def test_what_changes_no_result_reruns_nothing(study: Path, often, tally) -> None:
    counts = tally("a file outside the results is touched or commented")
    for number in range(often(20, 1)):
        random = Random(f"harmless {number}")
        with put_back(study):
            deeds = [touched, rewritten, commented, recompressed, random.choice([gone, added])]
            deeds = [(deed(study, random).name, deed.__name__) for deed in random.choices(deeds, k=20)]
            jobs = planned(study)
        if jobs:
            counts.silent.append(f"{number}: {deeds}: {jobs}")
        else:
            counts.survived += len(deeds)
    assert not counts.silent, "\n".join(counts.silent)


def zeros(path: Path) -> None:
    with open(path, "wb") as stream:
        stream.truncate(3 * 10**9)


NO_FILES: dict[str, Callable[[Path], object]] = {
    "found a pipe": os.mkfifo,
    "found a device": lambda path: path.symlink_to("/dev/zero"),
    "found a folder": Path.mkdir,
    "with 3.0 GB of content, found 0 bytes": zeros,
}


def test_what_is_no_file_in_an_encoder_s_folder_ends_in_one_line(study: Path, often, tally) -> None:
    counts = tally("a file of an own encoder is a pipe, a device, a folder, or zeros without end")
    names = (*DESCRIPTION, "model.safetensors", "language_model.safetensors")
    cases = [(name, said) for name in names for said in NO_FILES]
    for name, expected in Random(39).sample(cases, often(len(cases), 2)):
        path = study / "my-encoder" / name
        with put_back(study):
            path.unlink(missing_ok=True)
            NO_FILES[expected](path)
            began = time.monotonic()
            status, said = run(study, "-n")
            seconds = time.monotonic() - began
            path.rmdir() if path.is_dir() else path.unlink()
        lines = [
            line for line in said.splitlines() if line.startswith(f"my-encoder/{name}: expected a file") and expected in line
        ]
        if status == 0 or len(lines) != 1 or "Traceback" in said or seconds > SECONDS:
            counts.silent.append(f"{name}, {expected}, {seconds:.0f} s: {said}")
        else:
            counts.refused += 1
            counts.seen = counts.seen or lines[0]
    assert not counts.silent, "\n".join(counts.silent)


NUMBERS = ("1e999", "-1e999", "NaN", "1" * 5000, "1" * 30, "1e5", "12.0", "-1", "1001", "true", '"12"', "[2]", "{}", "[" * 10**5,
           '"' + "x" * 10**6 + '"')  # fmt: skip


def test_the_number_of_blocks_that_planning_reads_is_one(tmp_path: Path, tally) -> None:
    counts = tally("config.json of an own encoder, as planning reads it")
    path, encoder = tmp_path / "config.json", FolderEncoder(source="folder", path=str(tmp_path))
    contents = [f'{{"model_type": "bert", "num_hidden_layers": {number}}}'.encode() for number in NUMBERS]
    for content in (*contents, b"", b"{", b"\xff", b"{} {}", b"[" * 10**5, b'"' + b"x" * 10**7 + b'"'):
        path.write_bytes(content)
        refuse(counts, encoder.blocks, str(path), f"{content[:80]!r}")
    for number, make in enumerate(NO_FILES.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        make(folder / "config.json")
        refuse(counts, FolderEncoder(source="folder", path=str(folder)).blocks, str(folder / "config.json"), str(make))
    assert not counts.silent, "\n".join(counts.silent)
    path.unlink()
    assert encoder.blocks() is None, "which the job reports"
    for text, blocks in (("{}", None), ("[]", None), ('{"num_hidden_layers": 0}', 0), ('{"num_hidden_layers": 12}', 12)):
        path.write_text(text)
        assert encoder.blocks() == blocks


def refuse(counts: Tally, call: Callable[[], object], place: str, case: str) -> None:
    """Count a call that is to end in one line."""
    began = time.monotonic()
    try:
        counts.silent.append(f"{case}: {short(call())}")
    except DataError as error:
        message = str(error)
        says_what_is_wrong = message.startswith((f"{place}: expected ", f"{place}: not valid JSON: "))
        if says_what_is_wrong and len(message) < 1000 and message.isprintable():
            counts.refused += 1
            counts.seen = counts.seen or message.replace(place, Path(place).name)
        else:
            counts.silent.append(f"{case}: {message}")
    except Exception as error:
        counts.silent.append(f"{case}: {type(error).__name__}")
    if time.monotonic() - began > SECONDS:
        counts.silent.append(f"{case}: took too long")


def test_another_study_takes_what_its_mirror_still_has(study: Path) -> None:
    """Not what was read of a file that the mirror has another version of by now, which the pin refuses."""
    (study / "second.yaml").write_text(f"results: results/second\nreuse: [{RESULTS}]\n")

    def second(*options: str) -> tuple[int | None, str]:
        targets = ("--profile", "tests/workflow", "--configfile", *FILES, "second.yaml", *options)
        return snakemake((*targets, "--", "results/second/dataset_sizes.html"), study, environment())

    try:
        with put_back(study):
            path = study / TREEBANKS / "de-test.conllu"
            path.write_bytes(path.read_bytes() + b"\n")
            status, said = second("-n")
            assert status and "expected sha256" in said and "pinned in sources.lock.tsv" in said
        shutil.rmtree(study / "results/second", ignore_errors=True)
        with put_back(study):
            lock = study / "sources.lock.tsv"
            lock.write_text(re.sub(r"(?m)^my-treebanks/de-test\.conllu\t.*\n", "", lock.read_text()))
            assert "Read udpos" in second("-n")[1]  # nobody vouches for what was read of this file
        shutil.rmtree(study / "results/second")
        status, said = second()
        assert status == 0 and not re.search(r"Read udpos|Tokenise|Fetch|Sample", said), said
        ours, theirs = (study / results / "dataset_sizes.csv" for results in ("results/second", RESULTS))
        assert ours.read_bytes() == theirs.read_bytes()
    finally:
        shutil.rmtree(study / "results/second", ignore_errors=True)
        (study / "second.yaml").unlink()
