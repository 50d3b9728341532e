"""The phrasebook as a folder of sources under their official names and in their official formats."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from phrasebook.articles import articles
from phrasebook.dictionaries import muse
from phrasebook.dumps import dump
from phrasebook.entities import conll, wikiann
from phrasebook.generate import treebank
from phrasebook.grammar import read_grammar
from phrasebook.inference import prompts
from phrasebook.paths import DATE
from phrasebook.running import cc100, text, wili
from phrasebook.sib200 import sib200
from phrasebook.tables import TABLES
from phrasebook.topics import mldoc
from phrasebook.treebanks import conllu, old_tags, old_treebank_path, treebank_path
from phrasebook.wals import read_features, wals
from phrasebook.xnli import multinli, xnli, xnli_mt


@dataclass(frozen=True)
class Sizes:
    """How much to write: sentences of each split and of the parallel set, articles of each language, prompts of inference.

    train is written in `train_languages` only. About 150 paragraphs need 60 articles. A prompt is a premise with three
    hypotheses; those of train are in English and, as XNLI-MT, in every language of XNLI, those of dev and test in these too.
    records: sentences with names and news, three times as many in train; paragraphs of WiLI; documents of CC-100.
    documents: of the larger running text.
    """

    train: int = 800
    dev: int = 150
    test: int = 150
    parallel: int = 150
    articles: int = 80
    inference_train: int = 300
    inference_dev: int = 50
    inference_test: int = 50
    records: int = 40
    documents: int = 10
    train_languages: tuple[str, ...] = ("en",)


def write_sources(folder: Path, languages: Sequence[str], seed: int, sizes: Sizes, tables: Path = TABLES) -> None:
    """Write into folder/SOURCE/ what `paths` lists.

    The same arguments give the same bytes. A file is whole or absent.
    """
    # All tables are read before anything is written: a bad line leaves nothing behind.
    grammars = [read_grammar(language, tables) for language in languages]
    english = read_grammar("en", tables)
    features = read_features(tables)
    translations = treebank(english, "parallel", sizes.parallel, seed)
    for grammar in grammars:
        language = grammar.language
        splits = {"dev": sizes.dev, "test": sizes.test, "parallel": sizes.parallel}
        if language.code in sizes.train_languages:
            splits = {"train": sizes.train} | splits
        for split, n in splits.items():
            sentences = treebank(grammar, split, n, seed)
            lines = conllu(sentences, split, translations if split == "parallel" else None)
            _write(folder / "ud" / treebank_path(language, split), lines.encode())
            if split != "parallel":
                _write(folder / "ud-1.4" / old_treebank_path(language, split), old_tags(lines).encode())
        wiki = f"{language.code}wiki"
        files = dump(grammar, articles(grammar, sizes.articles, seed), seed)
        stem = folder / "wikipedia" / wiki / DATE / f"{wiki}-{DATE}-pages-articles-multistream"
        _write(stem.with_name(stem.name + ".xml.bz2"), files.pages)
        _write(stem.with_name(stem.name + "-index.txt.bz2"), files.index)
    train = prompts(english, "train", sizes.inference_train, seed)
    dev = prompts(english, "dev", sizes.inference_dev, seed)
    test = prompts(english, "test", sizes.inference_test, seed)
    _write(folder / "multinli" / "multinli_1.0.zip", multinli(english, train, dev))
    _write(folder / "xnli" / "XNLI-1.0.zip", xnli(grammars, dev, test))
    _write(folder / "xnli-mt" / "XNLI-MT-1.0.zip", xnli_mt(grammars, train))
    for path, content in itertools.chain(
        wikiann(grammars, sizes.records, seed),
        conll(grammars, sizes.records, seed),
        mldoc(grammars, sizes.records, seed),
        sib200(grammars, english, sizes.parallel, seed),
        wili(grammars, sizes.records, seed),
        cc100(grammars, sizes.records, seed),
        text(grammars, sizes.documents, seed),
        muse(english, grammars, seed),
        wals(languages, features),
    ):
        _write(folder / path, content)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{path.name}.part-", dir=path.parent) as folder:
        temporary = Path(folder, path.name)
        temporary.write_bytes(content)
        temporary.replace(path)
