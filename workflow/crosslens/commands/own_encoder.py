"""Try an encoder of your own: check it, write its overlay, and build some pages of the demo, or its passport, with it.

`make try ENCODER=FOLDER`, or ENCODER=OWNER/NAME@COMMIT: python -m crosslens.commands.own_encoder try ENCODER
`make passport ENCODER=...`: python -m crosslens.commands.own_encoder passport ENCODER
"""

import csv
import json
import logging
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import expanduser, isdir  # if the user is unknown, expanduser keeps ~NAME
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from joblib import cpu_count
from pydantic import ValidationError

from crosslens.config.base import languages_table
from crosslens.config.encoders import FolderEncoder, HubEncoder
from crosslens.config.presets import read_yaml
from crosslens.config.tokenisations import Tokenisation, to_keep_unknown
from crosslens.corpora.sources.places import Layout
from crosslens.corpora.sources.registry import load
from crosslens.encoding.encoders.build import build
from crosslens.encoding.encoders.describe import describe
from crosslens.encoding.encoders.folder import Description, positions, read
from crosslens.encoding.encoders.special import unknown_subword
from crosslens.encoding.encoders.trim import trim
from crosslens.jobs.errors import DataError
from crosslens.jobs.files import written


@dataclass(frozen=True)
class Purpose:
    """Pages to build with an encoder, and the settings with which they are built.

    about: first words of the overlay's comment.
    options: options of snakemake before its configuration files.
    files: configuration files into which the overlay is merged.
    suffix: end of the overlay's name, after the name of the encoder.
    results: folder of results. Here, in `pages` and in `papers`, {} is replaced by the name of the encoder.
    pages: pages to build, as paths below the results.
    papers: sections of papers in the overlay, as YAML.
    corpora: keys of the corpora to which the vocabulary is trimmed; (): it stays whole.
    tokenisation: key of the tokenisation that the pages use.
    jobs: number of jobs that share the cores, even if there are fewer cores; None: as options and files say.
    longest: most subwords of a text if the encoder has more positions than the tokenisation's maximum.
    reuse: folder of results from which identical results are taken, if it exists; "" for none.
    """

    about: str
    options: tuple[str, ...]
    files: tuple[str, ...]
    suffix: str
    results: str
    pages: tuple[str, ...]
    papers: str
    corpora: tuple[str, ...]
    tokenisation: str
    jobs: int | None = None
    longest: int = 0
    reuse: str = ""

    def overlay(self, name: str) -> Path:
        """File of the overlay of an encoder. name: name of the encoder."""
        return Path("overlays", f"{name}{self.suffix}.yaml")

    def targets(self, name: str) -> list[str]:
        """Files of the pages to build."""
        return [f"{self.results}/{page}".format(name) for page in self.pages]

    def command(self, name: str) -> list[str]:
        """Arguments of snakemake that build the pages with the overlay."""
        cores = ["--cores", str(max(cpu_count(), self.jobs))] if self.jobs else []
        return [*self.options, *cores, "--configfile", *self.files, str(self.overlay(name)), "--", *self.targets(name)]


PURPOSES = {
    "try": Purpose(
        about="The demo with an encoder of your own, as `make try` wrote it.",
        options=("--profile", "demo"),
        files=("config.yaml", "demo/overlay.yaml"),
        suffix="",
        reuse="results/demo",
        results="results/{}",
        pages=("table1.html", "figure3.html"),
        papers="{{ tanti2021: {{ encoder: {} }} }}",
        corpora=("udpos", "xnli", "wikipedia"),
        tokenisation="without_unknown",
    ),
    "passport": Purpose(
        about="The passport of an encoder, as `make passport` wrote it.",
        options=(),
        files=("config.yaml",),
        suffix="-passport",
        results="results",
        pages=("passport/{}.html",),
        papers="{{ passport: {{ encoders: [{}], compare: [] }} }}",
        corpora=(),
        tokenisation="sentences",
        jobs=3,  # passes of the encoder and of two copies with random weights, which take equally long
        longest=2048,  # some tokenizers have bytes as subwords, and sentences can have more than 512
    ),
}
SYNTHETIC = Path(__file__).parents[3] / "resources/synthetic"
NOTICEABLE = 0.05  # share of unknown subwords from which a language is reported
USAGE = "ENCODER=FOLDER, as saved by save_pretrained, or ENCODER=OWNER/NAME@COMMIT for one on the Hugging Face hub"


def settings_of(text: str) -> FolderEncoder | HubEncoder:
    """Settings of an encoder from FOLDER or OWNER/NAME@COMMIT. Raises DataError if it is neither."""
    (id, _, commit), paths = text.partition("@"), filter(None, (text, expanduser(text)))
    try:
        if folder := next(filter(isdir, paths), None):
            return FolderEncoder(source="folder", path=folder)
        if "/" in id:  # addresses on the hub begin with an owner
            return HubEncoder(source="hub", id=id, revision=commit)
        faults = "no folder of that name"
    except ValidationError as error:
        faults = "; ".join(f"{problem['loc'][0]}: {problem['msg']}" for problem in error.errors())
    raise DataError(f"expected {USAGE}, found {text!r:.200}: {faults}")


def name_of(encoder: FolderEncoder | HubEncoder) -> str:
    """Name of an encoder, of its overlay and of its folder of results, such as my-xlm-roberta-base."""
    last = encoder.id.rpartition("/")[2] if encoder.source == "hub" else Path(encoder.path).resolve().name
    name = re.sub("[^a-z0-9]+", "-", last.lower()).strip("-")[:40].removeprefix("my-")
    return f"my-{name or 'encoder'}"


def try_folder(encoder: FolderEncoder | HubEncoder, hub: Path | None) -> Description:
    """Put the encoder into a temporary folder as the workflow's rules do, and return its description with its whole vocabulary.

    hub: folder with the files of an encoder from the hub; None for an encoder from a folder.
    Raises DataError if a trial of its tokenizer or its weights fails.
    """
    log = logging.getLogger("crosslens")
    Path("results").mkdir(exist_ok=True)
    with TemporaryDirectory(prefix=".try-", dir="results") as folder:  # it becomes as large as the encoder
        tokenizer = Path(folder, "tokenizer")
        describe(encoder, [], tokenizer, log, hub)
        build(encoder, tokenizer, Path(folder, "encoder"), log, hub)
        return read(tokenizer)


def overlay(purpose: Purpose, name: str, encoder: FolderEncoder | HubEncoder, description: Description) -> str:
    """Text of an encoder's overlay. It trims the vocabulary if possible, and cuts texts to the encoder's positions."""
    entry, remark = {**_entry(encoder), "corpora": list(purpose.corpora)}, ""
    if purpose.corpora:
        try:
            trim(description, [["trial"]])
            remark = " # its vocabulary is trimmed to these texts, which saves memory"
        except DataError:
            entry["corpora"], remark = [], f" # a vocabulary of kind {description.tokenizer['model']['type']} is not trimmed"
    settings = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())
    most, usual = positions(description.config), int(_configured(purpose, "maximum"))
    lines = [
        f"# {purpose.about} Edit it, and run again:",
        f"#     {shlex.join(['snakemake', *purpose.command(name)])}",
        f"results: {purpose.results.format(name)}",
        *([f"reuse: [{purpose.reuse}]"] if purpose.reuse else []),
        *([f"threads: {max(1, cpu_count() // purpose.jobs)}"] if purpose.jobs else []),
        f"encoders: {{ {name}: {{ {settings} }} }}{remark}",
    ]
    if most is not None and (longest := min(most, max(usual, purpose.longest))) != usual:
        lines.append(f"tokenisations: {{ {purpose.tokenisation}: {{ maximum: {longest} }} }} # the encoder has {most} positions")
    lines.append(f"papers: {purpose.papers.format(name)}")
    return "\n".join(lines) + "\n"


def _check_unknown(purpose: Purpose, path: Path, description: Description) -> None:
    """Raise DataError if a tokenizer lacks characters of the purpose's languages, and the overlay does not say what to do.

    It tokenises the lemmas of the synthetic corpus in the languages of the purpose's corpora.

    path: the overlay.
    """
    stated = read_yaml(path).get("tokenisations", {}).get(purpose.tokenisation, {})
    if "drop_unknown" in stated or not _configured(purpose, "drop_unknown"):
        return
    tokenizer = description.word_tokenizer()
    unknown, shares = unknown_subword(tokenizer), {}
    corpora = _section(purpose, "corpora")
    languages = {code for key in purpose.corpora for code in corpora[key]["languages"]}
    for file in sorted(file for file in SYNTHETIC.glob("*/lexicon.csv") if file.parent.name in languages):
        lines = (line for line in file.read_text("utf-8").splitlines() if not line.startswith("#"))
        words = [row["lemma"] for row in csv.DictReader(lines)]
        subwords = tokenizer.encode(words, is_pretokenized=True, add_special_tokens=False).ids
        shares[file.parent.name] = subwords.count(unknown) / max(len(subwords), 1) if unknown is not None else 0.0
    if lacking := [f"{languages_table()[code]['name']} {share:.0%}" for code, share in shares.items() if share > NOTICEABLE]:
        raise DataError(
            f"{path}: expected a tokenizer that has the characters of the demo's languages, found unknown subwords: "
            f"{', '.join(lacking)}. Texts with unknown subwords are dropped, which would leave few or none in these languages: "
            f"{to_keep_unknown(purpose.tokenisation, str(path), stated)}{' in place of its tokenisations' * bool(stated)}, and "
            "run again; to drop them anyway, write true instead of false"
        )


def _entry(encoder: FolderEncoder | HubEncoder) -> dict[str, Any]:
    """Keys of an encoder's entry that say which one it is."""
    return encoder.model_dump(include={"source", "path", "id", "revision"})


def _section(purpose: Purpose, name: str) -> dict[str, dict[str, Any]]:
    """Entries of a section of the configuration, merged from the files of a purpose, without the overlay of an encoder."""
    entries: dict[str, dict[str, Any]] = {}
    for file in purpose.files:
        for key, settings in read_yaml(Path(file)).get(name, {}).items():
            entries[key] = entries.get(key, {}) | (settings or {})
    return entries


def _configured(purpose: Purpose, key: str) -> Any:
    """Value of a key of the purpose's tokenisation."""
    return _section(purpose, "tokenisations")[purpose.tokenisation].get(key, getattr(Tokenisation(), key))


def _snakemake(*options: str) -> int:
    """Call snakemake and return its exit status."""
    process = subprocess.Popen([sys.executable, "-m", "snakemake", *options])
    try:
        return process.wait()
    except KeyboardInterrupt:  # Ctrl-C reaches Snakemake, too, which says how to resume
        process.wait()
        return 130


def _fetch(purpose: Purpose, name: str, encoder: HubEncoder) -> Path:
    """Fetch an encoder from the hub by the workflow's rule, and return the folder of its files. Exits if that fails."""
    results = purpose.results.format(name)
    files = Layout(f"{results}/sources", load()).of_encoder(encoder, "DESCRIPTION", "WEIGHTS")
    settings = [f"results={results}", f"encoders={json.dumps({name: _entry(encoder)})}"]
    if status := _snakemake(*purpose.options, "--config", *settings, "--", *files):
        sys.exit(status)
    return Path(files[0]).parent


def _check_overlay(path: Path, name: str, encoder: FolderEncoder | HubEncoder) -> None:
    """Raise DataError if the overlay exists already, and is of another encoder."""
    entry = read_yaml(path).get("encoders", {}).get(name, {}) if path.exists() else _entry(encoder)
    if not _entry(encoder).items() <= entry.items():
        raise DataError(f"{path}: expected the overlay of this encoder, found that of another; rename or remove the file")


def main(arguments: Sequence[str]) -> None:
    """Try an encoder, write its overlay if there is none, and build the pages. arguments: a key of PURPOSES, and the encoder."""
    key, *words = arguments
    purpose = PURPOSES[key]
    try:
        encoder = settings_of(" ".join(words))
        name = name_of(encoder)
        path = purpose.overlay(name)
        _check_overlay(path, name, encoder)
        description = try_folder(encoder, _fetch(purpose, name, encoder) if isinstance(encoder, HubEncoder) else None)
        if path.exists():
            print(f"Using the existing overlay {path}", flush=True)
        else:
            with written(path) as temporary:
                temporary.write_text(overlay(purpose, name, encoder, description), "utf-8")
            print(f"The encoder passed its trial. Its overlay, for you to edit: {path}", flush=True)
        _check_unknown(purpose, path, description)
    except DataError as error:
        sys.exit(f"{key}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    status = _snakemake(*purpose.command(name))
    if not status:
        print("Built:", *purpose.targets(name))
    sys.exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
