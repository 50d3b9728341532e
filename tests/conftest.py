"""Fixtures of all tests: synthetic sentences as corpus files, a tiny random encoder with and without a pooler, its tokens."""

import csv
import json
import logging
import lzma
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import study
import torch
import yaml
from crosslens.config.encoders import Encoder, RandomEncoder
from crosslens.config.recipes import Data
from crosslens.config.tokenisations import Tokenisation
from crosslens.config.whole import Config
from crosslens.corpora import schema
from crosslens.corpora.sources.places import Layout
from crosslens.corpora.sources.registry import load as load_sources
from crosslens.encoding import stored_states
from crosslens.encoding.encoders.build import build
from crosslens.encoding.encoders.describe import describe
from crosslens.encoding.encoders.folder import Description
from crosslens.encoding.encoders.folder import read as read_description
from crosslens.encoding.encoders.folder import write as write_description
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.encoders.tokenizer_check import check_tokenizer
from crosslens.encoding.texts import Texts, load
from crosslens.encoding.tokens.tokenise import load_tokenizer, write_tokens
from crosslens.jobs import signals
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from crosslens.papers.configuration import load as load_config
from filelock import FileLock
from forked import READS
from synthetic.generate import treebank
from synthetic.grammar import read_grammar
from tally import marked, often, tally, write  # noqa: F401, fixtures of tests/faults
from tokenizers import BertWordPieceTokenizer, Tokenizer
from transformers import BertModel

MIRROR = Path(__file__).parents[2] / "shared" / "mirror"
LANGUAGES = ("de", "en", "zh")
UPOS = tuple("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
NLI = ("entailment", "neutral", "contradiction")
OFFICIAL = Layout("sources", load_sources())
SIZES = {"train": 48, "validation": 20, "test": 24}
SPLITS = {"train": "train", "validation": "dev", "test": "test"}  # the synthetic corpus's names
LONGEST = ("test_workflow", "test_training", "test_wikipedia", "test_claims_files", "test_muller2021_figures")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults", action="store_true", help="try faults as often as tests/faults/counts.csv counts them")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Faults are long. The files whose tests take longest come first, so that no worker is left with one alone in the end."""
    for item in items:
        if item.path.parent.name == "faults":
            item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[Any]:
    """A report of a test with the mark `fault` has the class and the outcome that it tries."""
    report = yield
    if call.when == "call" and (mark := item.get_closest_marker("fault")):
        report.user_properties.append(("fault", mark.args))
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """With --faults, the counts of classes are written."""
    if config.getoption("--faults"):
        reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, [])]
        write(marked(report for report in reports if report.when == "call"))


def as_texts(rows: list[list[int]]) -> Texts:
    """Running text of these subwords."""
    n = len(rows)
    none = np.zeros(n, np.int64)
    return Texts(
        [str(i) for i in range(n)], ["xx"] * n, np.concatenate(rows).astype(np.int32), np.cumsum([0, *map(len, rows)]),
        np.zeros(0, np.int64), np.zeros(n + 1, np.int64), [], {}, none, none.astype(bool), none,
    )  # fmt: skip


def alone(encoder: torch.nn.Module, texts: Texts, number: int, *, segments: bool = False) -> torch.Tensor:
    """Hidden states (L + 1, T, d) of a text that is encoded by itself, as transformers does."""
    subwords = torch.from_numpy(
        texts.subwords[texts.subword_offsets[number] : texts.subword_offsets[number + 1]].astype(np.int64)
    )
    types = torch.zeros_like(subwords)
    if segments and texts.second[number]:
        types[texts.second[number] :] = 1
    options = {"token_type_ids": types[None]} if segments else {}
    with torch.inference_mode():
        return torch.cat(encoder(input_ids=subwords[None], output_hidden_states=True, **options).hidden_states)


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """The tests' models are too small for more, and one thread gives the same sums everywhere."""
    torch.set_num_threads(1)


@pytest.fixture
def log() -> logging.Logger:
    return logging.getLogger("crosslens.tests")


@contextmanager
def refused(message: str) -> Iterator[None]:
    """Expect an error for users: one line that has this pattern."""
    with pytest.raises(DataError, match=message) as error:
        yield
    assert "\n" not in str(error.value)


@pytest.fixture
def signals_handled():
    """Signals raise Stopped, as in a rule's script."""
    before = {number: signal.getsignal(number) for number in signals.NUMBERS}
    signals.handle()
    yield
    signals.handle()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    """config.yaml as it is written."""
    found: dict[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "config.yaml").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def config(values: dict[str, Any]) -> Config:
    """The full study's configuration."""
    return load_config(values)


def sentence_rows(language: str, split: str, n: int) -> list[dict[str, object]]:
    """Rows of the SENTENCES schema."""
    return [
        {
            "id": f"{language}_phrasebook/{split}-{i}",
            "language": language,
            "text": sentence.text,
            "forms": [word.form for word in sentence.words],
            "upos": [word.upos for word in sentence.words],
            "heads": [word.head for word in sentence.words],
            "relations": [word.relation for word in sentence.words],
            "multiwords": [],
            "entities": [],
        }
        for i, sentence in enumerate(treebank(read_grammar(language), SPLITS[split], n, seed=0))
    ]


def paragraph_rows(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Rows of the PARAGRAPHS schema, of two sentences each."""
    return [
        {"id": f"{first['id']}+", "language": first["language"], "page": first["id"], "text": f"{first['text']} {second['text']}"}
        for first, second in zip(rows[::2], rows[1::2], strict=True)
    ]


def pair_rows(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Rows of the PAIRS schema: a sentence and itself, the next one, or its words the other way round."""
    found = []
    for number, (one, other) in enumerate(zip(rows, [*rows[1:], rows[0]], strict=True)):
        hypothesis = (one["text"], other["text"], " ".join(reversed(one["forms"])))[number % 3]
        found.append({"id": str(number), "language": one["language"], "premise": one["text"], "hypothesis": hypothesis,
                      "label": NLI[number % 3]})  # fmt: skip
    return found


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the tiny study and its claims, built once for all workers. Tests only read it."""
    folder = tmp_path_factory.getbasetemp()
    built = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "built"
    with FileLock(f"{built}.lock"):
        if not built.exists():
            root = study.copy_repository(tmp_path_factory.mktemp("incomplete"))
            for targets in (study.ALL, ("claims",)):
                study.tiny(root, *targets, **{READS: str(root / "reads.tsv")})
            root.rename(built)
    return built


@pytest.fixture(scope="module")
def edited(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built copy whose files the tests of a module edit for a dry run, and put back."""
    return Path(shutil.copytree(built, tmp_path_factory.mktemp("edited") / "study"))


@pytest.fixture
def own(built: Path, tmp_path: Path) -> Path:
    """A built copy that the test may spoil."""
    return Path(shutil.copytree(built, tmp_path / "own"))


@pytest.fixture(scope="session")
def corpora(tmp_path_factory) -> Path:
    """A folder with sentences/LANGUAGE.SPLIT.parquet, and the same of paragraphs and pairs."""
    folder = tmp_path_factory.mktemp("corpora")
    for language in LANGUAGES:
        for split, n in SIZES.items():
            rows = sentence_rows(language, split, n)
            name = f"{language}.{split}.parquet"
            schema.write(rows, folder / "sentences" / name, schema.SENTENCES, {})
            schema.write(paragraph_rows(rows), folder / "paragraphs" / name, schema.PARAGRAPHS, {"nominal": {split: n // 2}})
            schema.write(pair_rows(rows), folder / "pairs" / name, schema.PAIRS, {})
    return folder


def save(folder: Path, content: str | bytes, name: str = "train") -> Path:
    """A file of a corpus."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def manifest(*names: str) -> list[dict[str, str]]:
    """The table of some real files; it has no rows where there are none."""
    if not MIRROR.is_dir():
        return []
    lines = (line for line in MIRROR.joinpath(*names).read_text("utf-8").split("\n") if not line.startswith("#"))
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def mbert_tokenizer() -> BertWordPieceTokenizer:
    """The tokenizer of mBERT, from its real vocabulary."""
    content = lzma.decompress((MIRROR / "bert-base-multilingual-cased" / "vocab.txt.xz").read_bytes())
    vocabulary = {subword: number for number, subword in enumerate(content.decode().split("\n")[:-1])}
    return BertWordPieceTokenizer(vocabulary, lowercase=False, strip_accents=False)


def write_states(path: Path, layers: Mapping[str, np.ndarray], ids: Sequence[str], **columns: Any) -> None:
    """Write states of words of a language, each layer (n, d), of a sample of test unless `columns` say otherwise."""
    n = len(ids)
    usual = {"id": ids, "word": ids, "label": [""] * n, "language": [path.stem] * n, "split": ["test"] * n, "sample": [True] * n}
    path.parent.mkdir(parents=True, exist_ok=True)
    stored_states.write(pa.table(usual | {"random": [False] * n} | columns), layers, path, "float32")


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """The folder of an encoder that has nothing else."""
    config = {"model_type": "bert", "vocab_size": tokenizer.get_vocab_size()}
    write_description(Description(config, json.loads(tokenizer.to_str()), {}), folder)


@pytest.fixture(autouse=True)
def _tokenizers_are_tried_here(monkeypatch) -> None:
    """Without the process that protects users from a tokenizer that never ends: its start takes seconds."""
    monkeypatch.setattr(
        "crosslens.encoding.encoders.describe.try_tokenizer", lambda folder: check_tokenizer(read_description(folder))
    )


def build_encoder(settings: Encoder, corpora: Sequence[Path], folder: Path, hub: Path | None = None) -> Path:
    """An encoder's folder, by way of its tokenizer's."""
    log, package = logging.getLogger("crosslens.tests"), OFFICIAL.package(settings)
    with tempfile.TemporaryDirectory() as temporary:
        describe(settings, corpora, Path(temporary) / "tokenizer", log, hub, package)
        build(settings, Path(temporary) / "tokenizer", folder, log, hub, package)
    return folder


@pytest.fixture(scope="session")
def encoder_folder(corpora, tmp_path_factory) -> Path:
    """A random BERT of 2 layers x 32 in a Hugging Face folder."""
    folder = tmp_path_factory.mktemp("encoder") / "tiny"
    files = sorted(corpora.glob("sentences/*.train.parquet")) + sorted(corpora.glob("paragraphs/*.test.parquet"))
    return build_encoder(RandomEncoder(source="random", corpora=["tests"], vocabulary=600), files, folder)


@pytest.fixture(scope="session")
def pooler_folder(encoder_folder, tmp_path_factory) -> Path:
    """The same encoder with a random pooler."""
    folder = tmp_path_factory.mktemp("encoder") / "pooler"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel.from_pretrained(encoder_folder, add_pooling_layer=True).save_pretrained(folder)
    shutil.copy(encoder_folder / "source.json", folder)
    write_checksums(folder)
    return folder


@pytest.fixture(scope="session")
def tokens(corpora, encoder_folder, tmp_path_factory) -> Path:
    """A folder with sentences/, paragraphs/ and pairs/, as `corpora`, tokenised."""
    folder = tmp_path_factory.mktemp("tokens")
    settings = Tokenisation(maximum=24, drop_unknown=False)
    for path in corpora.glob("*/*.parquet"):
        split = path.name.split(".")[1]
        write_tokens(load_tokenizer(encoder_folder), path, folder / path.parent.name / path.name, settings, split)
    return folder


@pytest.fixture(scope="session")
def written_sentences(tokens, tmp_path_factory) -> Path:
    """Tokens of sentences in a checksummed folder, as a run leaves them."""
    folder = tmp_path_factory.mktemp("sealed") / "sentences"
    shutil.copytree(tokens / "sentences", folder, ignore=shutil.ignore_patterns(".*"))
    write_checksums(folder)
    return folder


@dataclass(frozen=True)
class Workbench:
    """Encoders and texts with which tests train."""

    encoder_folder: Path
    pooler_folder: Path
    texts: Callable[..., Texts]  # of a Data, and the unit that has a label: word or text

    def encoder(self, dropout: float | None = None, pooler: bool = False) -> torch.nn.Module:
        """The encoder as its folder has it; dropout replaces its own."""
        encoder = load_encoder(self.pooler_folder if pooler else self.encoder_folder, pooler=pooler)
        if dropout is not None:
            for module in encoder.modules():
                if isinstance(module, torch.nn.Dropout):
                    module.p = dropout
                if hasattr(module, "dropout_prob"):
                    module.dropout_prob = dropout
        return encoder


@pytest.fixture(scope="session")
def bench(tokens, encoder_folder, pooler_folder) -> Workbench:
    cache: dict[tuple[Data, str], Texts] = {}

    def texts(data: Data, unit: str = "word") -> Texts:
        if (data, unit) not in cache:
            files = [tokens / corpus / f"{language}.{split}.parquet" for corpus, language, split in data.files()]
            cache[data, unit] = load(files, UPOS if unit == "word" else NLI, LANGUAGES, unit)
        return cache[data, unit]

    return Workbench(encoder_folder, pooler_folder, texts)
