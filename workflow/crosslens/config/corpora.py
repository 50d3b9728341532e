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
        description=(
            "Sources that replace `source` for some languages, such as {sv: my-treebanks}. Their files must not be in an archive."
        ),
        exclude_if=lambda sources: not sources,  # so that the key changes no settings of corpora without it
    ),
]


class OfficialCorpus(Section):
    """A corpus distributed as separate files for each split: its files, and how the splits are formed.

    READER: module of crosslens.corpora that reads the files. READS: keys of the section that are passed to it.
    """

    READER: ClassVar[str]
    READS: ClassVar[frozenset[str]] = frozenset()

    source: str = Field(description="Source of the files.")
    archive: str | None = Field(
        None,
        description="Archive within the source; patterns in `files` then match paths in it.",
    )
    languages: list[Language] = Field(min_length=1, description="Languages with a test split.")
    source_languages: list[Language] = Field(["en"], description="Languages with train and validation splits.")
    files: dict[Split, Files] = Field(
        description=(
            "Files in each split, as patterns with {code}, {name}, {lower} (the name in lower case), "
            "{flores} (such as deu_Latn) or *."
        )
    )
    train_source: str | None = Field(None, description="Source of the train and validation splits (null: `source`).")
    train_archive: str | None = Field(None, description="Archive in `train_source` that contains them.")
    language_sources: LanguageSources = {}
    without: dict[Split, list[str]] = Field({}, description="Languages or treebanks that have no file for a split.")
    validation_share: Share = Field(0.1, description="Share of the training data held out if there is no validation file.")
    limits: dict[Split, Count] = Field(
        {},
        description=(
            "Maximum number of examples per language; null keeps all. The training limit applies before "
            "validation data are held out."
        ),
        json_schema_extra=or_null,
    )
    note: str | None = Field(None, description="Note on the corpus, shown with the tables.")
    seed: int = Field(0, ge=0, description="Seed for sampling.")

    _named = field_validator("limits", mode="before")(without_null)

    @model_validator(mode="after")
    def _files_for_every_language(self) -> Self:
        check_languages([*self.languages, *self.source_languages])
        inside("archive", [self.archive, self.train_archive])
        inside("files", self.files)
        for split, without in self.without.items():  # treebanks look like cs_pdt; overlays may have fewer languages
            if unknown := [name for name in without if name.split("_")[0] not in languages_table()]:
                raise ValueError(f"without.{split}: expected languages or treebanks, found {', '.join(unknown)}")
        missing = [
            f"{language}.{split}"
            for language, split in self.parts()
            if split != "validation" and not self.files_of(language, split)
        ]
        if missing:
            raise ValueError(f"expected files for {', '.join(missing)}, found none: list them under files")
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
        """(language, split) of all tokenised texts, including validation splits held out from train."""
        return self._parts

    @cached_property  # recipes call `parts` thousands of times
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
        """(language, split) of every file of the corpus. Here, train still includes the share held out for validation."""
        return ((language, split) for language, split in self.parts() if split != "validation" or self.files_of(language, split))

    def distribution(self, language: str, split: str) -> tuple[str, str | None]:
        """Source and archive with a language's split; archive None: its files are not in an archive."""
        if language in self.language_sources:
            return self.language_sources[language], None
        if self.train_source and split in ("train", "validation"):
            return self.train_source, self.train_archive
        return self.source, self.archive

    def sources(self) -> set[str]:
        """Names of the sources that the corpus reads."""
        return {self.source, self.train_source or self.source, *self.language_sources.values()}

    def texts_of(self, language: str) -> tuple[str, str] | None:
        """Source and archive of a language's texts if the corpus files contain only ids; otherwise None."""
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
        """Files that a pattern stands for: here, only one."""
        row = languages_table()[language]
        names = {"code": language, "name": row["name"], "lower": row["name"].lower(), "flores": flores(language)}
        return [fill(pattern, **names, **values)]


class TreebankCorpus(OfficialCorpus):
    """Sentences from CoNLL-U files, with words, UPOS tags and dependency trees."""

    READER = "treebanks"
    READS = frozenset({"withheld", "words", "parallel"})

    kind: Literal["treebank"]
    treebanks: dict[Language, list[str]] = Field(
        {},
        description="Treebanks of each language, as file-name prefixes such as [cs_pdt, cs_cac], for {treebank} in `files`.",
    )
    withheld: Literal["paper", "clean", "xtreme"] = Field(
        "clean",
        description=(
            "Sentences dropped from treebanks without text: those that tanti2021's code drops (`paper`), "
            "those with a withheld or untagged word (`clean`), or those that XTREME drops."
        ),
    )
    words: Literal["syntactic", "fused"] = Field(
        "syntactic",
        description=(
            "Units treated as words: syntactic words or, as in XTREME, multiword tokens (`fused`), with the "
            "UPOS tag of the word closest to the root and without trees."
        ),
    )
    parallel: bool = Field(False, description="Treats sentences with the same id as translations, as in PUD.")

    def filled(self, pattern: str, language: str, split: str, **values: str) -> list[str]:
        """Files that a pattern stands for: with {treebank}, one for each treebank of the language that has the split."""
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
    """Sentences for NER from files with one word per line, such as WikiANN, CoNLL-2002, CoNLL-2003 or MSRA."""

    READER = "entities"
    READS = frozenset({"encoding", "tags"})

    kind: Literal["entities"]
    encoding: Literal["utf-8", "iso-8859-1"] = Field("utf-8", description="Character encoding.")
    tags: dict[str, Literal["B", "I", "O", "PER", "LOC", "ORG", "MISC"]] = Field(
        {},
        description=(
            "Maps tag names in the files to ours, such as {E: I, S: B} for BIOES, {L: I, U: B} for BILOU or {GPE: LOC}."
        ),
        exclude_if=lambda tags: not tags,  # so that the key changes no settings of corpora without it
    )


class PairCorpus(OfficialCorpus):
    """Sentence pairs for NLI from XNLI, with MultiNLI or its translations as training data."""

    READER = "pairs"
    READS = frozenset({"parallel"})

    kind: Literal["pairs"]
    parallel: bool = Field(
        False,
        description=(
            "Treats pairs with the same id as translations, as in XNLI. `limits` then keeps the same pairs in every language."
        ),
    )
    validation_by: Literal["text", "premise"] = Field(
        "text",
        description="Unit sampled for validation: individual pairs (`text`) or premises with all their pairs (`premise`).",
    )


class DocumentCorpus(OfficialCorpus):
    """Labelled documents from WiLI-2018 (x and y files), MLDoc (Reuters article ids), SIB-200 or tanti2021's .csv files."""

    READER = "documents"
    READS = frozenset({"labels"})

    kind: Literal["documents"]
    labels: list[str] = Field(
        [], description="Class labels, for tables with the columns index_id, category and text, as in SIB-200."
    )
    texts_source: str | None = Field(
        None, description="Source of the documents if the corpus files contain only ids, as in MLDoc."
    )
    texts: dict[Language, str] = Field({}, description="Archive in `texts_source` that contains each language's documents.")

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
        """Labels of the documents; () if they are languages."""
        return TOPICS if self.texts_source else tuple(self.labels)

    def sources(self) -> set[str]:
        """Names of the sources that the corpus reads."""
        return super().sources() | {self.texts_source or self.source}

    def texts_of(self, language: str) -> tuple[str, str] | None:
        """Source and archive of a language's texts if the corpus files contain only ids; otherwise None."""
        return (self.texts_source, self.texts[language]) if self.texts_source else None


class DictionaryCorpus(OfficialCorpus):
    """Bilingual dictionaries from MUSE."""

    READER = "dictionaries"

    kind: Literal["dictionary"]

    def parts(self) -> Iterator[tuple[str, str]]:
        """(language, split) of all dictionaries."""
        for language in self.languages:
            for split in self.files:
                yield language, split


class ParagraphCorpus(Section):
    """Paragraphs of running text, sampled by page from Wikipedia dumps, CC-100 or treebanks."""

    kind: Literal["paragraphs"]
    source: str = Field(description="Source of the files.")
    form: Literal["dump", "lines", "treebank"] = Field(
        "dump",
        description=(
            "Format: a MediaWiki dump, lines of text with a blank line between documents, as in CC-100, or CoNLL-U (`treebank`)."
        ),
    )
    language_sources: LanguageSources = {}
    file: str = Field(
        description=(
            "Path of each language's file, with {code}, {name}, {wiki} (such as dewiki) or {cc100} (the name in CC-100)."
        )
    )
    blocks: Count | None = Field(None, description="100-page blocks sampled from a multistream dump (null: all).")
    files: dict[Language, str] = Field({}, description="File paths for languages to which the `file` pattern does not apply.")
    languages: list[Language] = Field(min_length=1, description="Languages to include.")
    paragraphs: Count = Field(5000, description="Paragraphs per language.")
    minimum_characters: Count = Field(100, description="Minimum paragraph length in characters.")
    shares: dict[Split, Share] = Field(
        {"train": 0.7, "validation": 0.1, "dev": 0.1, "test": 0.1},
        description="Share of the paragraphs in each split.",
    )
    per_page: Count | Literal["all"] | None = Field(
        3,
        description=(
            "Maximum number of paragraphs per page, exceeded only if text is short. `all` keeps whole pages "
            "in order; null samples uniformly from all pages."
        ),
    )
    candidates: float = Field(
        10,
        ge=1,
        description="Paragraphs stored per paragraph requested, to replace those dropped for unknown subwords.",
    )
    seed: int = Field(0, ge=0, description="Seed for sampling.")

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
        """(language, split) of every file of the corpus."""
        for language in self.languages:
            for split in self.shares:
                yield language, split

    def stored(self) -> Iterator[tuple[str, str]]:
        """(language, split) of every file of the corpus: as `parts`, since nothing is held out."""
        return self.parts()

    def sources(self) -> set[str]:
        """Names of the sources that the corpus reads."""
        return {self.source, *self.language_sources.values()}

    def source_of(self, language: str) -> str:
        """Name of the source of a language's file."""
        return self.language_sources.get(language, self.source)

    def file_of(self, language: str) -> str:
        """File of the source for a language."""
        row = languages_table()[language]
        values = {"code": language, "name": row["name"], "wiki": row["wikipedia"], "cc100": row["cc100"]}
        return fill(self.files.get(language, self.file), **values)


class TypologyCorpus(Section):
    """Typological features of languages, from WALS."""

    TABLES: ClassVar = ("languages", "parameters", "codes", "values")

    kind: Literal["typology"]
    source: str = Field(description="Source of the tables.")
    folder: str = Field("cldf", description="Folder in the source that contains the tables.")
    languages: list[Language] = Field(min_length=1, description="Languages to include.")

    @model_validator(mode="after")
    def _known(self) -> Self:
        check_languages(self.languages)
        inside("folder", [self.folder])
        return self

    def parts(self) -> Iterator[tuple[str, str]]:
        """Nothing, since the corpus has no texts."""
        return iter(())

    def stored(self) -> Iterator[tuple[str, str]]:
        """Nothing, since the only file, typology.parquet, belongs to no language or split."""
        return self.parts()

    def sources(self) -> set[str]:
        """Names of the sources that the corpus reads."""
        return {self.source}


Corpus = Annotated[
    TreebankCorpus | EntityCorpus | PairCorpus | DocumentCorpus | DictionaryCorpus | ParagraphCorpus | TypologyCorpus,
    Field(discriminator="kind"),
]
