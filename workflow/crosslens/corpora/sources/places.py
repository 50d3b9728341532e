"""Paths of official files below the results, and which of them corpora, encoders and tokenisations need."""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from crosslens.config.corpora import Corpus, OfficialCorpus, ParagraphCorpus
from crosslens.config.encoders import Encoder
from crosslens.config.tokenisations import Tokenisation
from crosslens.corpora.sources.registry import Source, place_of


class Layout(NamedTuple):
    """Layout of the official files.

    folder: parent folder of each file's SOURCE/PATH. sources: the table of sources.
    """

    folder: str
    sources: Mapping[str, Source]

    def place(self, file: str) -> tuple[str, str]:
        """Source and path of the official file that `file` is a copy of or, for a dump, a sample of."""
        source, path, _ = place_of(file.removeprefix(f"{self.folder}/"), self.sources)
        return source, path

    def facts(self, source: str, path: str) -> dict[str, Any]:
        """Arguments of `fetch` for an official file: its URLs, digest and size, and its source's folders and instructions."""
        entry = self.sources[source]
        file = entry.known(path)
        facts: dict[str, Any] = {"urls": entry.urls_of(path), "sha256": file.sha256, "size": file.bytes}
        facts |= {"git_blob": file.git_blob} if file.git_blob else {}  # few files have one: params of others stay
        facts |= {"smallest": entry.smallest} if entry.smallest else {}
        return facts | {"manual": entry.manual, "mirror": entry.mirror}

    def parts(self, corpus: OfficialCorpus) -> dict[str, dict[str, list[str]]]:
        """Archive -> LANGUAGE.SPLIT -> patterns of its members; the key "" has the paths of files outside archives."""
        parts: dict[str, dict[str, list[str]]] = {}
        for language, split in corpus.stored():
            source, archive = corpus.distribution(language, split)
            folder, files = f"{self.folder}/{source}", corpus.files_of(language, split)
            if not archive:
                files = [f"{folder}/{file}" for pattern in files for file in self.sources[source].matching(pattern)]
            parts.setdefault(f"{folder}/{archive}" if archive else "", {})[f"{language}.{split}"] = files
        return parts

    def texts(self, corpus: OfficialCorpus) -> dict[str, str]:
        """Language -> archive with the documents that a corpus lists by id."""
        archives = {language: corpus.texts_of(language) for language in corpus.languages}
        return {language: f"{self.folder}/{'/'.join(archive)}" for language, archive in archives.items() if archive}

    def of_corpus(self, corpus: Corpus) -> list[str]:
        """Files from which a corpus is made: its official files, each once, the tables of WALS, or dumps and their indices."""
        if isinstance(corpus, OfficialCorpus):
            parts = self.parts(corpus)
            unarchived = chain.from_iterable(parts.get("", {}).values())
            return list(dict.fromkeys([*filter(None, parts), *unarchived, *self.texts(corpus).values()]))
        if isinstance(corpus, ParagraphCorpus):
            return list(chain.from_iterable((*self._index(corpus, code), self.dump(corpus, code)) for code in corpus.languages))
        return [f"{self.folder}/{corpus.source}/{corpus.folder}/{table}.csv" for table in corpus.TABLES]

    def dump(self, corpus: ParagraphCorpus, language: str) -> str:
        """Path of a language's running text, such as its dump or a sample of it."""
        source = corpus.source_of(language)
        (file,) = self.sources[source].matching(corpus.file_of(language))
        source = f"{source}-sample/{corpus.blocks}-{corpus.seed}" if corpus.blocks else source
        return f"{self.folder}/{source}/{file}"

    def _index(self, corpus: ParagraphCorpus, language: str) -> list[str]:
        """Path of the index from which blocks of a dump are sampled, in a list; [] if there is no sample."""
        file = corpus.file_of(language).removesuffix(".xml.bz2")
        return [f"{self.folder}/{corpus.source_of(language)}/{file}-index.txt.bz2"] if corpus.blocks else []

    def of_encoder(self, encoder: Encoder, *kinds: str) -> list[str]:
        """Official files of an encoder. kinds: for an encoder from the hub, DESCRIPTION, WEIGHTS or both."""
        if encoder.source == "vocabulary":
            return [f"{self.folder}/{encoder.vocabulary}/vocab.txt"]
        if encoder.source != "hub":
            return []
        files = chain.from_iterable(getattr(encoder, kind) for kind in kinds)
        return [f"{self.folder}/hub/{encoder.id}/{encoder.revision}/{file}" for file in files]

    def package(self, encoder: Encoder) -> dict[str, str | None] | None:
        """Pinned version of the package that an encoder comes in, and sha256 of its file; None for encoders of other sources."""
        if encoder.source != "packaged":
            return None
        source = self.sources[encoder.PACKAGE]
        return {"version": source.version, "sha256": source.known(encoder.FILE).sha256}

    def of_tokenisation(self, tokenisation: Tokenisation) -> list[str]:
        """Paths of the models that find sentences, if a tokenisation needs any."""
        return [f"{self.folder}/{file}" for file in tokenisation.official()]

    def fetched(self, corpora: Iterable[Corpus], encoders: Iterable[Encoder], tokenisations: Iterable[Tokenisation]) -> list[str]:
        """All files that corpora, encoders and tokenisations need, each once, except those of the synthetic corpus."""
        of_encoders = (self.of_encoder(encoder, "DESCRIPTION", "WEIGHTS") for encoder in encoders)
        files = chain.from_iterable((*of_encoders, *map(self.of_tokenisation, tokenisations), *map(self.of_corpus, corpora)))
        return [file for file in dict.fromkeys(files) if not file.startswith(f"{self.folder}/synthetic/")]
