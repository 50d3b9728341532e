"""Files outside the results: a change to any that a plan or its jobs read is planned or told in one line, and nothing else is.

A small study of a user's own: an encoder in a folder, treebanks and dumps in a mirror, an overlay. Several files are changed
before a dry run; each must be named in the reason of its own job.
"""

import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from crosslens.config.encoders import FolderEncoder
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import remove
from forked import snakemake
from study import copy_repository, environment
from synthetic.write import Sizes, write_sources

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
tokenisations: { without_unknown: { drop_unknown: true, maximum: 128 } }
papers: { tanti2021: { encoder: mine } }
"""
FILES = ("config.yaml", "tests/workflow/overlay.yaml", "own.yaml")
TARGETS = (f"{RESULTS}/dataset_sizes.html", f"{RESULTS}/encoders/mine")
TREEBANKS = "my-data/my-treebanks"
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
    status, said = run(root, "-n", "--verbose")
    assert status == 0 and "Traceback" not in said, said
    jobs = dict(re.findall(r"^Job \d+: (.+)\nReason: (.+)$", said, re.MULTILINE))
    assert jobs or "Nothing to be done" in said, said
    return jobs


class Edit(NamedTuple):
    """A change to a file; the job that it has planned, and a part of the reason that is told."""

    path: str
    change: Callable[[bytes], bytes]
    job: str
    reason: str


def flipped(content: bytes) -> bytes:
    """Another bit of a byte in the middle."""
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def another_key(content: bytes) -> bytes:
    """One more key in an object of JSON."""
    return json.dumps(json.loads(content or b"{}") | {"x": 1}).encode()


def replaced(pattern: bytes, value: bytes) -> Callable[[bytes], bytes]:
    """Something else in the place of what a pattern finds first after the first line."""

    def change(content: bytes) -> bytes:
        match = re.compile(pattern).search(content, content.index(b"\n"))
        assert match, pattern
        return content[: match.start()] + value + content[match.end() :]

    return change


DESCRIPTION = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "kept.json")
TABLES = ("synthetic/concepts.csv", "synthetic/de/lexicon.csv")
WEIGHTS = (
    Edit("my-encoder/model.safetensors", flipped, "Make encoder mine", "my-encoder/model.safetensors "),
    Edit("my-encoder/language_model.safetensors", another_key, "Make encoder mine", "my-encoder/language_model.safetensors "),
)
SYNTHETIC, PAGE = "Write the synthetic corpora", "Lay out dataset_sizes"
EDITS = (  # none of a line has a job that follows from another's of the same line, which would hide its reason
    (
        *(Edit(f"my-encoder/{name}", another_key, "Make the tokenizer of mine", f"my-encoder/{name} ") for name in DESCRIPTION),
        Edit("resources/languages.csv", replaced(rb"deu,stan\d+,", b"deu,stan1,"), SYNTHETIC, "resources/languages.csv "),
        *(Edit(f"resources/{name}", replaced(rb"[b-y]", b"a"), SYNTHETIC, f"resources/{name} ") for name in TABLES),
    ),
    (
        Edit("resources/sources.yaml", replaced(rb"dumps.wikimedia.org/{wiki}", b"dumps.wikimedia.org/{wiki}/x"), "Fetch dewiki/",
             "org/dewiki/x"),
        *WEIGHTS,
    ),
    (Edit("resources/published/tanti2021.csv", replaced(rb"[1-9]", b"0"), "Make dataset_sizes", "published/tanti2021.csv "),),
    (
        Edit("resources/terms.yaml", replaced(rb": [A-Z]", b": An "), PAGE, "resources/terms.yaml "),
        Edit("workflow/crosslens/reports/page.css", replaced(rb"[b-y]", b"a"), PAGE, "workflow/crosslens/reports/page.css "),
    ),
)  # fmt: skip


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


def write(path: Path, content: bytes) -> None:
    """Write a file as a new one whose time is long ago, as one that is unpacked."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(OLD, OLD))


def test_a_changed_file_is_planned_with_its_name(study: Path, often, tally) -> None:
    counts = tally("a file outside the results changes")
    for edits in EDITS[: often(len(EDITS), 2)]:
        with put_back(study):
            for edit in edits:
                path = study / edit.path
                write(path, edit.change(path.read_bytes() if path.exists() else b""))
            jobs = planned(study)
        for edit in edits:
            reasons = [reason for job, reason in jobs.items() if job.startswith(edit.job) and edit.reason in reason]
            assert reasons, f"{edit.path}: {jobs}"
            counts.rerun += 1
            counts.seen = counts.seen or reasons[0]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".xz": lzma.compress,
    "damaged .xz": lambda content: lzma.compress(content)[:-30],
}


@pytest.mark.parametrize("form", PACKED)
@pytest.mark.fault("A file of a mirror changes that is pinned", "refused")
def test_a_pinned_file_of_a_mirror_that_changes_is_told_in_one_line(study: Path, form) -> None:
    copy = study / TREEBANKS / "de-test.conllu"
    before = copy.read_bytes()
    after = before.replace(b"NOUN", b"VERB")
    with put_back(study):
        copy.unlink()
        changed_copy = copy.with_name(f"{copy.name}{form.rpartition(' ')[2]}")
        write(changed_copy, PACKED[form](after))
        status, said = run(study, "-n")
    (line,) = [line for line in said.splitlines() if line.startswith(TREEBANKS)]
    place = changed_copy.relative_to(study)
    assert status and "Traceback" not in said
    if "damaged" in form:
        assert line.startswith(f"{place}: expected a complete .xz file, found: ")
    else:
        assert line.startswith(f"{place}: expected sha256 {sha256(before)}, pinned in")
        assert f"found {sha256(after)}; restore" in line


READ = ("Snakefile", "config.yaml", "envs", "my-data", "my-encoder", "own.yaml", "profiles", "resources", "rules",
        "sources.lock.tsv", "tests/workflow", "workflow")  # fmt: skip


def rewritten(study: Path) -> None:
    for path in read(study):
        write(path, path.read_bytes())


def commented(study: Path) -> None:
    """Every YAML file has comments before its keys at the top."""
    for path in read(study):
        if path.suffix == ".yaml":
            path.write_bytes(re.sub(rb"(?m)^(?=[A-Za-z])", b"# a comment\n\n", path.read_bytes()))


def recompressed(study: Path) -> None:
    for path in sorted((study / TREEBANKS).glob("*.conllu")):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


def gone(study: Path) -> None:
    """The mirror has nothing any more."""
    for path in read(study):
        if "my-data" in path.parts:
            path.unlink()


def read(study: Path) -> list[Path]:
    """Files outside the results that plans read, or jobs."""
    return [path for path in outside(study) if path.relative_to(study).as_posix().startswith(READ)]


@pytest.mark.parametrize("deed", [rewritten, commented, recompressed, gone])
@pytest.mark.fault("A file outside the results is touched or commented", "survived")
def test_what_changes_no_result_reruns_nothing(study: Path, deed) -> None:
    with put_back(study):
        deed(study)
        assert planned(study) == {}


def zeros(path: Path) -> None:
    with open(path, "wb") as stream:
        stream.truncate(3 * 10**9)


NO_FILES: dict[str, Callable[[Path], object]] = {
    "config.json": os.mkfifo,
    "tokenizer.json": lambda path: path.symlink_to("/dev/zero"),
    "special_tokens_map.json": Path.mkdir,
    "model.safetensors": zeros,
}


@pytest.mark.parametrize("name", NO_FILES)
@pytest.mark.fault("A file of an own encoder is a pipe, a device, a folder, or zeros without end", "refused")
def test_what_is_no_file_in_an_encoder_s_folder_ends_in_one_line(study: Path, name) -> None:
    path = study / "my-encoder" / name
    with put_back(study):
        path.unlink(missing_ok=True)
        NO_FILES[name](path)
        status, said = run(study, "-n")
        remove(path)
    assert status and "Traceback" not in said
    assert len([line for line in said.splitlines() if line.startswith(f"my-encoder/{name}: expected a file")]) == 1


NUMBERS = ("1e999", "NaN", "12.0", "-1", "1001", "true", '"12"')


@pytest.mark.parametrize(
    "content",
    [*(f'{{"model_type": "bert", "num_hidden_layers": {number}}}'.encode() for number in NUMBERS),
     b"", b"{", b"[" * 10**5, b'"' + b"x" * 10**7 + b'"'],
    ids=lambda content: content[:60].decode("latin-1"),
)  # fmt: skip
@pytest.mark.fault("Config.json of an own encoder, as planning reads it", "refused")
def test_the_number_of_blocks_that_planning_reads_is_one(tmp_path: Path, content) -> None:
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(DataError, match=r"config.json: (expected|not valid JSON)") as error:
        FolderEncoder(source="folder", path=str(tmp_path)).n_layers()
    assert len(str(error.value)) < 1000 and str(error.value).isprintable()
