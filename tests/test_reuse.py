"""Artefacts taken from another folder of results: those that would be made the same here, whole, and for good."""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from crosslens.graph.plan import Step
from crosslens.graph.reuse import Reuse
from crosslens.jobs.checksums import RESULTS, read_checksums, verified, write_checksums
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import sha256
from crosslens.jobs.snakemake_metadata import ChecksumMetadata
from study import OVERLAY, changed, jobs_of, snakemake

SOURCE, HERE = "results/demo", "results/mine"
OFFICIAL, CORPUS, PARAGRAPHS = "sources/ud/en.conllu", "corpora/udpos", "corpora/wikipedia/en.test.parquet"
MADE_OF = {  # artefact -> what it is made of
    OFFICIAL: [],
    CORPUS: [OFFICIAL],
    PARAGRAPHS: [],
    "tokenizers/mbert": [CORPUS],
    "tokens/mbert/words/udpos": ["tokenizers/mbert", CORPUS],
}
ALL = "5 files of sources, corpora, tokenizers and tokens"
METADATA = ChecksumMetadata(HERE, dict, sha256)


@dataclass
class StubGraph:
    """A graph of the artefacts of MADE_OF.

    settings: of those whose settings are others here. changed: error of the official file's copy in a mirror.
    """

    settings: dict[str, str] = field(default_factory=dict)
    digests: bool = True  # whether those of official files are known
    changed: str = ""
    results: str = HERE
    root: Path = Path()

    def steps(self) -> dict[str, Callable[[], Step]]:
        return {place: partial(self.step, place) for place in MADE_OF}

    def step(self, place: str) -> Step:
        if self.changed and place == OFFICIAL:
            raise DataError(self.changed)
        inputs = {"all": [f"{HERE}/{name}" for name in MADE_OF[place]]}
        return Step("script", "encoders", inputs, self.settings.get(place, f"settings of {place}"))

    def params(self, step: Step) -> dict[str, Any]:
        return {"settings": step.settings}

    def has_digest(self, file: str, digests: Collection[str]) -> bool:
        assert file == f"{HERE}/{OFFICIAL}" and len(digests) == 1
        return self.digests


def make(place: str, text: str = "first") -> None:
    """Make an artefact in the other folder, as a job and the end of its run leave it."""
    path = Path(SOURCE, place)
    if path.is_dir():
        shutil.rmtree(path)
    file = path if path.suffix else path / "en.test.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.write_text(f"{place} {text}")
    if not path.suffix:
        (path / ".snakemake_timestamp").touch()
    write_checksums(path)
    inputs = MADE_OF[place]
    record = {
        "input": sorted(f"{{results}}/{name}" for name in inputs),
        "params": [f"'settings of {place}'"],
        "record_format_version": 6,
        "endtime": path.stat().st_mtime,
    }
    identities = {name: read_checksums(Path(SOURCE, name)).identity for name in inputs}
    notes = {"artefact": place, "record": json.dumps(record), "inputs": json.dumps(identities)}
    replace(read_checksums(path), notes=notes).write()


@pytest.fixture(autouse=True)
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other folder, in a working directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(RESULTS, os.pathsep.join((SOURCE, HERE)))
    for place in MADE_OF:
        make(place)


def take(**facts: Any) -> str:
    """Output of a run that takes what fits."""
    graph: Any = StubGraph(**facts)
    return Reuse(SOURCE, graph, graph.steps(), METADATA).take()


def taken() -> set[str]:
    """Places of the artefacts that are here, each whole."""
    return {place for place in MADE_OF if Path(HERE, place).exists() and verified(Path(HERE, place))}


def test_what_is_the_same_is_linked_and_known_to_snakemake():
    assert take() == f"{HERE}: {ALL} are taken from {SOURCE}"
    assert taken() == {*MADE_OF}
    file = "corpora/udpos/en.test.parquet"
    assert Path(HERE, file).samefile(Path(SOURCE, file))
    assert METADATA.read(f"{HERE}/corpora/udpos")["params"] == ["'settings of corpora/udpos'"]
    assert take() == ""


def test_what_no_job_here_makes_is_not_taken():
    graph: Any = StubGraph()
    assert Reuse(SOURCE, graph, {}, METADATA).take() == "" and not Path(HERE).exists()


def release() -> None:
    """A later release of the official file, not read yet."""
    make(OFFICIAL, "second")


def own_source() -> None:
    """The study has a source of its own."""
    path = Path(HERE, OFFICIAL)
    path.parent.mkdir(parents=True)
    path.write_text("of our own")
    write_checksums(path)


def noted(**notes: str) -> Callable[[], None]:
    """Gives the checksum file of the corpus other notes, or none."""

    def write() -> None:
        whole = read_checksums(Path(SOURCE, CORPUS))
        replace(whole, notes=whole.notes | notes if notes else {}).write()

    return write


OTHERS = {OFFICIAL, PARAGRAPHS}  # neither the corpus nor what is made of it
CASES: dict[str, tuple[Callable[[], object], dict[str, Any], set[str]]] = {  # what is done before, facts, what is taken
    "other settings": (str, {"settings": {CORPUS: "others"}}, OTHERS),
    "an official file of no known digest": (str, {"digests": False}, {PARAGRAPHS}),
    "another official file in a mirror": (str, {"changed": "mirror/en.conllu"}, {PARAGRAPHS}),
    "a later release": (release, {}, OTHERS),
    "a source of its own": (own_source, {}, OTHERS),
    "an official file that is gone, not its seal": (lambda: Path(SOURCE, OFFICIAL).unlink(), {}, {*MADE_OF} - {OFFICIAL}),
    "an official file and its seal are gone": (lambda: shutil.rmtree(Path(SOURCE, "sources")), {}, {PARAGRAPHS}),
    "no notes": (noted(), {}, OTHERS),
    "a record that is no JSON": (noted(record="[" * 9), {}, OTHERS),
    "a record of other types": (noted(record='{"params": 1, "input": 2}'), {}, OTHERS),
    "notes of another place": (noted(artefact="corpora/x"), {}, OTHERS),
}


@pytest.mark.parametrize("case", CASES)
def test_what_differs_is_not_taken_nor_what_is_made_of_it(case):
    prepare, facts, expected = CASES[case]
    prepare()
    assert "damaged" not in take(**facts)
    assert taken() == expected


def test_damaged_artefacts_are_made_here():
    Path(SOURCE, "corpora/udpos/en.test.parquet").write_text("flipped")
    said = take()
    assert said.startswith(f"{HERE}: 2 files of sources and corpora are taken from {SOURCE}; 1 of the same settings are damaged")
    assert taken() == OTHERS


@pytest.mark.parametrize("whole", [True, False])
def test_what_was_taken_stays_whatever_becomes_of_the_other_folder(whole):
    take()
    before = {place: read_checksums(Path(HERE, place)).identity for place in taken()}
    if whole:
        shutil.rmtree(SOURCE)
    else:
        for place in MADE_OF:
            make(place, "second")
    assert take() == "" and taken() == {*MADE_OF}
    assert {place: read_checksums(Path(HERE, place)).identity for place in MADE_OF} == before


def test_a_linked_file_that_is_edited_in_place_is_refused():
    take()
    with open(Path(SOURCE, "corpora/udpos/en.test.parquet"), "a") as file:
        file.write("edited")
    with pytest.raises(DataError, match="^results/mine/corpora/udpos/en.test.parquet: not what was written, damaged or changed"):
        verified(Path(HERE, CORPUS))


def failing(code: int) -> Callable[..., None]:
    def fail(*arguments: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def test_another_file_system_gets_copies_but_for_official_files(monkeypatch):
    monkeypatch.setattr(os, "link", failing(errno.EXDEV))
    assert take() == f"{HERE}: 4 files of corpora, tokenizers and tokens are taken from {SOURCE}"
    assert taken() == {*MADE_OF} - {OFFICIAL}
    assert not Path(HERE, "corpora/udpos/en.test.parquet").samefile(Path(SOURCE, "corpora/udpos/en.test.parquet"))


def test_nothing_is_left_half_taken(monkeypatch):
    monkeypatch.setattr(os, "link", failing(errno.ENOSPC))
    monkeypatch.setattr(shutil, "copy2", failing(errno.ENOSPC))
    assert take() == ""
    assert [path for path in Path(HERE).rglob("*") if path.is_file()] == []


# The workflow.

TINY, OTHER = "results/tiny", "results/other"
TAKEN = r"^results/other: \d+ files of sources(, | and )corpora.* are taken from results/tiny$"
TARGETS = (f"{OTHER}/dataset_sizes.html",)
COMMAND = ("--profile", "tests/workflow", "--configfile", "config.yaml", OVERLAY, "other.yaml", "-n", "--", *TARGETS)


@pytest.fixture(scope="module")
def origin(edited: Path) -> Path:
    """The tiny study, beside an overlay of a study that reuses it."""
    (edited / "other.yaml").write_text(f"results: {OTHER}\nreuse: [{TINY}]\n")
    return edited


def plan(root: Path) -> tuple[list[str], str]:
    """Jobs that a dry run of the other study plans, and all that it says."""
    said = snakemake(root, *COMMAND)
    return jobs_of(said), said


@pytest.mark.long
def test_a_study_of_the_same_settings_reads_the_texts_of_another(origin):
    jobs, said = plan(origin)
    assert jobs == ["Lay out dataset_sizes", "Make dataset_sizes"], said
    assert re.search(TAKEN, said, re.MULTILINE), said
    again, said = plan(origin)
    assert again == jobs and "are taken from" not in said
    shutil.move(origin / TINY, origin / "gone")
    again, said = plan(origin)
    assert again == jobs and "reuse: expected a folder of results, found none at results/tiny" in said
    shutil.move(origin / "gone", origin / TINY)
    shutil.rmtree(origin / OTHER)


@pytest.mark.long
def test_a_changed_corpus_is_read_here_and_all_others_are_taken(origin):
    with changed(origin / OVERLAY, ("withheld: clean", "withheld: paper")):
        jobs, said = plan(origin)
    assert {"Read udpos", "Tokenise udpos for random, without_unknown"} <= set(jobs), said
    assert not {"Write the synthetic corpora", "Read xnli"} & set(jobs)
    assert re.search(TAKEN, said, re.MULTILINE), said
    shutil.rmtree(origin / OTHER)


@pytest.mark.long
def test_its_own_folder_is_refused(origin):
    with changed(origin / "other.yaml", (f"[{TINY}]", f"[{TINY}, {OTHER}/]")):
        said = snakemake(origin, *COMMAND, works=False)
    assert f"reuse: expected folders of other results, found '{OTHER}', which is that of this study" in said
