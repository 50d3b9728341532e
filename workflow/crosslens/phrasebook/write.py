"""The phrasebook as a folder of sources: UD treebanks and Wikipedia dumps under their official names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosslens.config.phrasebook import DATE
from crosslens.files import written
from crosslens.phrasebook.dumps import dump
from crosslens.phrasebook.generate import articles, treebank
from crosslens.phrasebook.grammar import read_grammar
from crosslens.phrasebook.tables import TABLES
from crosslens.phrasebook.treebanks import conllu, treebank_path


@dataclass(frozen=True)
class Sizes:
    """How much to write: sentences of each split and of the parallel set, articles of each language.

    train and dev are written in `train_languages` only. About 150 paragraphs need 60 articles.
    """

    train: int = 800
    dev: int = 150
    test: int = 150
    parallel: int = 150
    articles: int = 80
    train_languages: tuple[str, ...] = ("en",)


def write_sources(folder: Path, languages: Sequence[str], seed: int, sizes: Sizes, tables: Path = TABLES) -> None:
    """Write folder/ud/UD_NAME-Phrasebook/... and folder/wikipedia/CODEwiki/DATE/... for each language.

    The same arguments give the same bytes. A file is whole or absent.
    """
    # All tables are read before anything is written: a bad line leaves nothing behind.
    grammars = [read_grammar(language, tables) for language in languages]
    english = treebank(read_grammar("en", tables), "parallel", sizes.parallel, seed)
    for grammar in grammars:
        language = grammar.language
        splits = {"test": sizes.test, "parallel": sizes.parallel}
        if language.code in sizes.train_languages:
            splits = {"train": sizes.train, "dev": sizes.dev} | splits
        for split, n in splits.items():
            sentences = treebank(grammar, split, n, seed)
            text = conllu(sentences, split, english if split == "parallel" else None)
            _write(folder / "ud" / treebank_path(language, split), text.encode())
        wiki = f"{language.code}wiki"
        files = dump(grammar, articles(grammar, sizes.articles, seed), seed)
        stem = folder / "wikipedia" / wiki / DATE / f"{wiki}-{DATE}-pages-articles-multistream"
        _write(stem.with_name(stem.name + ".xml.bz2"), files.pages)
        _write(stem.with_name(stem.name + "-index.txt.bz2"), files.index)


def _write(path: Path, content: bytes) -> None:
    with written(path) as temporary:
        temporary.write_bytes(content)
