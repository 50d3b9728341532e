"""Corpora by kind: treebanks, named entities, sentence pairs, documents, dictionaries; paragraphs; typology."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from crosslens.config.base import (
    Count,
    Language,
    Section,
    Share,
    Split,
    check_languages,
    fill,
    flores,
    inside,
    languages_table,
    or_null,
    without_null,
)
from crosslens.config.labels import TOPICS

Files = str | list[str] | dict[Language, list[str]]


LanguageSources = Annotated[
    dict[Language, str],
    Field(
        description="entry of resources/sources.yaml, or of sources in an overlay, for single languages whose files are not of "
        "source, but lie in no archive, such as your own: {sv: my-treebanks}",
        exclude_if=lambda sources: not sources,  # so that the key changes no settings of corpora without it
    ),
]


class OfficialCorpus(Section):
    """A corpus that is distributed in files by split: its files, and how the splits are formed.

    READER: module of crosslens.corpora that reads the files; READS: keys that are passed to it.
    """

    READER: ClassVar[str]
    READS: ClassVar[frozenset[str]] = frozenset()

    source: str = Field(description="entry of resources/sources.yaml")
    archive: str | None = Field(
        None, description="archive of the source that contains the files; patterns are then globs within it"
    )
    languages: list[Language] = Field(min_length=1, description="languages of the test split")
    source_languages: list[Language] = Field(["en"], description="languages that also have train and validation")
    files: dict[Split, Files] = Field(
        description="by split: one or several patterns with {code}, {name}, {lower} (the name in lower case), {flores} (as in "
        "FLORES-200: deu_Latn), or for each language a list of files of the source; * matches any characters of a path in the "
        "archive, or in the source's table of files"
    )
    train_source: str | None = Field(None, description="entry of resources/sources.yaml for train and validation; null: source")
    train_archive: str | None = Field(None, description="like archive, for train_source")
    language_sources: LanguageSources = {}
    without: dict[Split, list[str]] = Field(
        {}, description="languages, or treebanks, that have no file for a split, regardless of the pattern"
    )
    validation_share: Share = Field(
        0.1,
        description="share of train used for validation where no file is given; drawn after texts with unknown subwords have "
        "been dropped",
    )
    limits: dict[Split, Count] = Field(
        {},
        description="maximum number of rows per language, drawn with the seed; of train before validation leaves it; null: all",
        json_schema_extra=or_null,
    )
    note: str | None = Field(None, description="what readers of the tables should know about this corpus")
    seed: int = Field(0, ge=0, description="seed for sampling")

    _named = field_validator("limits", mode="before")(without_null)

    @model_validator(mode="after")
    def _files_for_every_language(self) -> Self:
        check_languages([*self.languages, *self.source_languages])
        inside("archive", [self.archive, self.train_archive])
        inside("files", self.files)
        for split, without in self.without.items():  # of treebanks, cs_pdt; an overlay may have fewer than are named here
            if unknown := [name for name in without if name.split("_")[0] not in languages_table()]:
                raise ValueError(f"without.{split}: expected languages or treebanks, found {', '.join(unknown)}")
        missing = [
            f"{language}.{split}"
            for language, split in self.parts()
            if split != "validation" and not self.files_of(language, split)
        ]
        if missing:
            raise ValueError(f"no files for {', '.join(missing)}: list them under files")
        files = [
            (code, file, *self.distribution(code, split)) for code, split in self.stored() for file in self.files_of(code, split)
        ]
        if len({*files}) < len(files):
            code, file, *_ = next(place for place in files if files.count(place) > 1)
            raise ValueError(
                f"files: expected different ones for each split, found {file} for two splits of {code}: name another"
            )
        shared = sorted({language for language, _ in set(self.parts()) - set(self.stored())})
        if shared and "validation" in self.limits:
            raise ValueError(
                f"limits.validation: expected files for validation, but {', '.join(shared)}.validation is a share of train: "
                "limit train instead, or name files"
            )
        held_out = {code: self.files_of(code, "validation") or self.files_of(code, "dev") for code in self.source_languages}
        alone = [code for code, files_of_language in held_out.items() if not self.validation_share and not files_of_language]
        if alone:
            raise ValueError(
                f"validation_share: expected a value above 0, as there are no files for {', '.join(alone)}.validation or .dev"
            )
        return self

    def parts(self) -> Iterable[tuple[str, str]]:
        """(language, split) of all texts, as they are tokenised."""
        return self._parts

    @cached_property  # recipes ask for them thousands of times
    def _parts(self) -> list[tuple[str, str]]:
        parts = []
        for language in self.languages:
            if language in self.source_languages:
                parts.append((language, "train"))
                if self.validation_share or self.files_of(language, "validation"):
                    parts.append((language, "validation"))
            if self.files_of(language, "dev"):
                parts.append((language, "dev"))
            parts.append((language, "test"))
        return parts

    def stored(self) -> Iterator[tuple[str, str]]:
        """(language, split) of every file that the corpus is made of: train still has the share that becomes validation."""
        return ((language, split) for language, split in self.parts() if split != "validation" or self.files_of(language, split))

    def distribution(self, language: str, split: str) -> tuple[str, str | None]:
        """Source and archive of a split of a language."""
        if language in self.language_sources:
            return self.language_sources[language], None
        if self.train_source and split in ("train", "validation"):
            return self.train_source, self.train_archive
        return self.source, self.archive

    def sources(self) -> set[str]:
        """Entries of resources/sources.yaml that it reads."""
        return {self.source, self.train_source or self.source, *self.language_sources.values()}

    def texts_of(self, language: str) -> tuple[str, str] | None:
        """Source and archive of the texts, where the files contain only their ids."""
        return None

    def files_of(self, language: str, split: str) -> list[str]:
        """Files of the source, or glob patterns in its archive, for a language and split."""
        files = self.files.get(split, [])  # type: ignore[call-overload]
        if language in self.without.get(split, []):  # type: ignore[call-overload]
            return []
        if isinstance(files, dict):
            return list(files.get(language, []))
        patterns = [files] if isinstance(files, str) else files
        return [file for pattern in patterns for file in self.filled(pattern, language, split)]

    def filled(self, pattern: str, language: str, split: str, **values: str) -> list[str]:
        """The files that a pattern stands for: one."""
        row = languages_table()[language]
        names = {"code": language, "name": row["name"], "lower": row["name"].lower(), "flores": flores(language)}
        return [fill(pattern, **names, **values)]


class TreebankCorpus(OfficialCorpus):
    """Sentences with words, UPOS and trees from CoNLL-U files."""

    READER = "treebanks"
    READS = frozenset({"withheld", "words", "parallel"})

    kind: Literal["treebank"]
    treebanks: dict[Language, list[str]] = Field(
        {},
        description="treebanks of each language, in order, by the prefix of their files: [cs_pdt, cs_cac]; patterns can then "
        "contain {treebank}",
    )
    withheld: Literal["paper", "clean", "xtreme"] = Field(
        "clean",
        description="which sentences of treebanks distributed without text are dropped; paper: as in the code of tanti2021; "
        "xtreme: as in XTREME",
    )
    words: Literal["syntactic", "fused"] = Field(
        "syntactic",
        description="fused: a multiword token is one word, with the UPOS of its part nearest the root, and spaces and U+200C are "
        "removed from forms, as in XTREME; there are then no trees",
    )
    parallel: bool = Field(
        False, description="sentences with the same id are translations (PUD): ids do not contain the treebank's name"
    )

    def filled(self, pattern: str, language: str, split: str, **values: str) -> list[str]:
        """The files that a pattern stands for: with {treebank}, one for each treebank of the language that has the split."""
        if "{treebank}" not in pattern:
            return super().filled(pattern, language, split, **values)
        without = self.without.get(split, [])  # type: ignore[call-overload]
        treebanks = [treebank for treebank in self.treebanks.get(language, []) if treebank not in without]
        return [
            file
            for treebank in treebanks
            for file in super(TreebankCorpus, self).filled(pattern, language, split, treebank=treebank)
        ]


class EntityCorpus(OfficialCorpus):
    """Sentences with named entities from files with one word per line: WikiANN, CoNLL-2002 and 2003, MSRA."""

    READER = "entities"
    READS = frozenset({"encoding", "tags"})

    kind: Literal["entities"]
    encoding: Literal["utf-8", "iso-8859-1"] = Field(
        "utf-8", description="of the files; those of the shared tasks themselves are iso-8859-1"
    )
    tags: dict[str, Literal["B", "I", "O", "PER", "LOC", "ORG", "MISC"]] = Field(
        {},
        description="what other names in the files' tags are here: before the hyphen {E: I, S: B} (BIOES) or {L: I, U: B} "
        "(BILOU), after it {GPE: LOC, DATE: O}; IOB1 needs none",
        exclude_if=lambda tags: not tags,  # so that the key changes no settings of corpora without it
    )


class PairCorpus(OfficialCorpus):
    """Sentence pairs of natural language inference: XNLI, and MultiNLI or its translations for training."""

    READER = "pairs"
    READS = frozenset({"parallel"})

    kind: Literal["pairs"]
    parallel: bool = Field(
        False,
        description="rows are sorted by id, and limits draw the same pairs in all languages, whose ids must be the same (XNLI)",
    )
    validation_by: Literal["text", "premise"] = Field(
        "text",
        description="what is drawn for validation_share: pairs (as in tanti2021's code), or premises with all their pairs "
        "(MultiNLI has three per premise)",
    )


class DocumentCorpus(OfficialCorpus):
    """Texts with a label: WiLI-2018 (files x and y), MLDoc, whose files of ids select from Reuters' documents, or tables.

    Tables are SIB-200's, or, where they are .csv, those of row, tokens and language by the authors of tanti2021.
    """

    READER = "documents"
    READS = frozenset({"labels"})

    kind: Literal["documents"]
    labels: list[str] = Field(
        [],
        description="labels of files with the columns index_id, category and text (SIB-200); []: files of WiLI-2018, MLDoc or "
        "tanti2021's authors",
    )
    texts_source: str | None = Field(None, description="entry of resources/sources.yaml that contains the texts (MLDoc)")
    texts: dict[Language, str] = Field({}, description="archive of texts_source for each language")

    @model_validator(mode="after")
    def _texts_for_every_language(self) -> Self:
        if self.labels and self.texts_source:
            raise ValueError("labels: expected none beside texts_source, as MLDoc's are those of Reuters: remove one of the two")
        inside("texts", self.texts)
        missing = [code for code in self.languages if code not in self.texts]
        if self.texts_source and missing:
            raise ValueError(
                f"texts: no archive for {', '.join(missing)}: name the archive of {self.texts_source} that contains their texts"
            )
        return self

    @property
    def topics(self) -> tuple[str, ...]:
        """Its labels, () where they are languages."""
        return TOPICS if self.texts_source else tuple(self.labels)

    def sources(self) -> set[str]:
        """Entries of resources/sources.yaml that it reads."""
        return super().sources() | {self.texts_source or self.source}

    def texts_of(self, language: str) -> tuple[str, str] | None:
        """Source and archive of the texts, where the files contain only their ids."""
        return (self.texts_source, self.texts[language]) if self.texts_source else None


class DictionaryCorpus(OfficialCorpus):
    """Bilingual dictionaries: MUSE."""

    READER = "dictionaries"

    kind: Literal["dictionary"]

    def parts(self) -> Iterator[tuple[str, str]]:
        """(language, split) of all texts."""
        for language in self.languages:
            for split in self.files:
                yield language, split


class ParagraphCorpus(Section):
    """Paragraphs of running text, sampled by page: Wikipedia dumps, CC-100, or neighbouring sentences of treebanks."""

    kind: Literal["paragraphs"]
    source: str = Field(description="entry of resources/sources.yaml")
    form: Literal["dump", "lines", "treebank"] = Field(
        "dump",
        description="MediaWiki dump; lines with a blank line after each document (CC-100); or CoNLL-U whose sentences are joined",
    )
    language_sources: LanguageSources = {}
    file: str = Field(description="file of the source, with {code}, {name}, {wiki} and {cc100}")
    blocks: Count | None = Field(
        None, description="blocks of 100 pages to download from a multistream dump, drawn with the seed; null: the whole dump"
    )
    files: dict[Language, str] = Field({}, description="files of languages for which `file` does not apply")
    languages: list[Language] = Field(min_length=1, description="languages")
    paragraphs: Count = Field(5000, description="paragraphs per language (tanti2021, section 2)")
    minimum_characters: Count = Field(100, description="shorter paragraphs are omitted (tanti2021, section 2)")
    shares: dict[Split, Share] = Field(
        {"train": 0.7, "validation": 0.1, "dev": 0.1, "test": 0.1},
        description="share of each split; split by page (tanti2021, appendix A)",
    )
    per_page: Count | Literal["all"] | None = Field(
        3,
        description="maximum number of paragraphs per page, unless there is too little text; all: pages are drawn, whose "
        "paragraphs stay in order; null: paragraphs are drawn from all pages alike, as in the authors' sample",
    )
    candidates: float = Field(
        10,
        ge=1,
        description="rows kept for each requested paragraph, in random order, so that texts with unknown subwords can be dropped",
    )
    seed: int = Field(0, ge=0, description="seed of the sample")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        check_languages(self.languages)
        inside("file", [self.file, self.files])
        for language in self.languages:
            self.file_of(language)
            if self.blocks and not self.file_of(language).endswith("-multistream.xml.bz2"):
                raise ValueError(
                    f"blocks: expected a file ending in -multistream.xml.bz2, found {self.file_of(language)}: name a multistream "
                    "dump, or set blocks to null"
                )
        if abs(sum(self.shares.values()) - 1) > 1e-9:
            raise ValueError(f"shares: expected a sum of 1, found {sum(self.shares.values()):g}")
        return self

    def parts(self) -> Iterator[tuple[str, str]]:
        """(language, split) of every file that the corpus is made of."""
        for language in self.languages:
            for split in self.shares:
                yield language, split

    def stored(self) -> Iterator[tuple[str, str]]:
        """All of them."""
        return self.parts()

    def sources(self) -> set[str]:
        """Entries of resources/sources.yaml that it reads."""
        return {self.source, *self.language_sources.values()}

    def file_of(self, language: str) -> str:
        """File of the source for a language."""
        row = languages_table()[language]
        values = {"code": language, "name": row["name"], "wiki": row["wikipedia"], "cc100": row["cc100"]}
        return fill(self.files.get(language, self.file), **values)


class TypologyCorpus(Section):
    """Features of languages from WALS."""

    TABLES: ClassVar = ("languages", "parameters", "codes", "values")

    kind: Literal["typology"]
    source: str = Field(description="entry of resources/sources.yaml")
    folder: str = Field("cldf", description="folder of the source that contains the tables")
    languages: list[Language] = Field(min_length=1, description="languages")

    @model_validator(mode="after")
    def _known(self) -> Self:
        check_languages(self.languages)
        inside("folder", [self.folder])
        return self

    def parts(self) -> Iterator[tuple[str, str]]:
        """No texts."""
        return iter(())

    def stored(self) -> Iterator[tuple[str, str]]:
        """All of them."""
        return self.parts()

    def sources(self) -> set[str]:
        """Entries of resources/sources.yaml that it reads."""
        return {self.source}


Corpus = Annotated[
    TreebankCorpus | EntityCorpus | PairCorpus | DocumentCorpus | DictionaryCorpus | ParagraphCorpus | TypologyCorpus,
    Field(discriminator="kind"),
]
