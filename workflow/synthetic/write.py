"""The synthetic corpus as a folder of sources under their official names and in their official formats."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from synthetic.articles import articles
from synthetic.dictionaries import muse
from synthetic.dumps import dump
from synthetic.entities import conll, wikiann
from synthetic.generate import treebank
from synthetic.grammar import Grammar, read_grammar
from synthetic.nli import prompts
from synthetic.paths import dump_paths, old_treebank_path, treebank_path
from synthetic.running import cc100, text, wili
from synthetic.sib200 import sib200
from synthetic.tables import TABLES
from synthetic.topics import mldoc
from synthetic.treebanks import conllu
from synthetic.wals import read_features, wals
from synthetic.xnli import multinli, xnli, xnli_mt


@dataclass(frozen=True)
class Sizes:
    """Numbers of texts to write.

    train, dev, test, parallel: sentences of the treebanks; train is written in `train_languages` only.
    articles: articles of each language's dump; 60 have about 150 paragraphs.
    nli_train, nli_dev, nli_test: prompts, each a premise with three hypotheses. All are in every language of XNLI (train as
    XNLI-MT); train and dev are also in English, as MultiNLI.
    records: sentences with names, and news documents, three times as many in train; paragraphs of WiLI; documents of CC-100.
    documents: documents of the larger running text.
    """

    train: int = 800
    dev: int = 150
    test: int = 150
    parallel: int = 150
    articles: int = 80
    nli_train: int = 300
    nli_dev: int = 50
    nli_test: int = 50
    records: int = 40
    documents: int = 10
    train_languages: tuple[str, ...] = ("en",)


def write_sources(folder: Path, languages: Sequence[str], seed: int, sizes: Sizes, tables: Path = TABLES) -> None:
    """Write the files that `paths` lists into `folder`.

    The same arguments give the same bytes. Each file is either complete or absent.
    """
    # All tables are read before anything is written: a bad line leaves nothing behind.
    grammars = [read_grammar(language, tables) for language in languages]
    english = read_grammar("en", tables)
    features = read_features(tables)
    files = itertools.chain(
        itertools.chain.from_iterable(_treebanks(grammar, english, seed, sizes) for grammar in grammars),
        itertools.chain.from_iterable(_dump(grammar, seed, sizes) for grammar in grammars),
        _nli(grammars, english, seed, sizes),
        wikiann(grammars, sizes.records, seed),
        conll(grammars, sizes.records, seed),
        mldoc(grammars, sizes.records, seed),
        sib200(grammars, english, sizes.parallel, seed),
        wili(grammars, sizes.records, seed),
        cc100(grammars, sizes.records, seed),
        text(grammars, sizes.documents, seed),
        muse(english, grammars, seed),
        wals(languages, features),
    )
    for path, content in files:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{target.name}.part-", dir=target.parent) as temporary:
            Path(temporary, target.name).write_bytes(content)
            Path(temporary, target.name).replace(target)


def _treebanks(grammar: Grammar, english: Grammar, seed: int, sizes: Sizes) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of a language's treebanks, all but the parallel one also with the tags of UD 1.4."""
    code = grammar.language.code
    splits = {"train": sizes.train} if code in sizes.train_languages else {}
    for split, n in (splits | {"dev": sizes.dev, "test": sizes.test}).items():
        lines = conllu(treebank(grammar, split, n, seed), split)
        yield treebank_path(code, split), lines.encode()
        yield old_treebank_path(code, split), lines.replace("\tCCONJ\t", "\tCONJ\t").encode()  # renamed in UD 2
    parallel = treebank(grammar, "parallel", sizes.parallel, seed)
    translations = treebank(english, "parallel", sizes.parallel, seed)
    yield treebank_path(code, "parallel"), conllu(parallel, "parallel", translations).encode()


def _dump(grammar: Grammar, seed: int, sizes: Sizes) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of a language's dump and its index."""
    files = dump(grammar, articles(grammar, sizes.articles, seed), seed)
    yield from zip(dump_paths(grammar.language.code), files, strict=True)


def _nli(grammars: Sequence[Grammar], english: Grammar, seed: int, sizes: Sizes) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of the archives of sentence pairs."""
    train = prompts(english, "train", sizes.nli_train, seed)
    dev = prompts(english, "dev", sizes.nli_dev, seed)
    test = prompts(english, "test", sizes.nli_test, seed)
    yield "multinli/multinli_1.0.zip", multinli(english, train, dev)
    yield "xnli/XNLI-1.0.zip", xnli(grammars, dev, test)
    yield "xnli-mt/XNLI-MT-1.0.zip", xnli_mt(grammars, train)
