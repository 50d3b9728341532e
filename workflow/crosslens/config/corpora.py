"""Corpora: treebanks, paragraphs and sentence pairs."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from crosslens.config.base import Count, Language, Section, Share, Split, languages_table


def _check_languages(languages: Iterable[str]) -> None:
    """Raise ValueError for a language that is unknown or named twice."""
    known = list(languages)
    unknown = [code for code in known if code not in languages_table()]
    if unknown:
        raise ValueError(f"{', '.join(unknown)} not in resources/languages.csv: correct the code or add a line for each")
    twice = sorted({code for code in known if known.count(code) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice)} named twice under languages: leave one out")


def _fill(pattern: str, **values: str) -> str:
    """A pattern with its names filled in. Raises ValueError for a name that there is not."""
    try:
        return pattern.format(**values)
    except (KeyError, IndexError, ValueError):
        names = ", ".join(f"{{{name}}}" for name in values)
        raise ValueError(f"pattern '{pattern}': {names} expected in braces, and nothing else") from None


class TreebankCorpus(Section):
    """Sentences with words, UPOS and trees from CoNLL-U files."""

    kind: Literal["treebank"]
    source: str = Field(description="entry of resources/sources.yaml")
    archive: str | None = Field(None, description="archive of the source that holds the files; patterns are then globs in it")
    languages: list[Language] = Field(min_length=1, description="languages of the test split")
    source_languages: list[Language] = Field(["en"], description="languages that also have train and validation")
    files: dict[Split, str | dict[Language, list[str]]] = Field(
        description="by split: a pattern with {code} and {name}, or for each language a list of files of the source; * stands "
        "for any characters of a file in the archive, or in the source's table of files"
    )
    without: dict[Split, list[Language]] = Field({}, description="languages that have no file of a split, whatever the pattern")
    validation_share: Share = Field(0.1, description="share of train that becomes validation where no file is given")
    limits: dict[Split, Count] = Field({}, description="at most so many sentences a language, drawn with the seed")
    withheld: Literal["paper", "clean"] = Field(
        "clean", description="which sentences of treebanks without text are dropped; paper: as the authors' code did"
    )
    seed: int = Field(0, ge=0, description="seed of the samples")

    @model_validator(mode="after")
    def _files_for_every_language(self) -> Self:
        _check_languages(self.languages)
        missing = [
            f"{language}.{split}"
            for language, split in self.parts()
            if split != "validation" and not self.files_of(language, split)
        ]
        if missing:
            raise ValueError(f"no files for {', '.join(missing)}: list them under files")
        return self

    def parts(self) -> Iterator[tuple[str, str]]:
        """(language, split) of every file that the corpus is made of."""
        for language in self.languages:
            if language in self.source_languages:
                yield language, "train"
                yield language, "validation"
            if self.files_of(language, "dev"):
                yield language, "dev"
            yield language, "test"

    def sources(self) -> set[str]:
        """Entries of resources/sources.yaml that it reads."""
        return {self.source}

    def files_of(self, language: str, split: str) -> list[str]:
        """Files of the source, or glob patterns in its archive, for a language and split."""
        files = self.files.get(split, {})  # type: ignore[call-overload]
        if language in self.without.get(split, []):  # type: ignore[call-overload]
            return []
        if isinstance(files, str):
            return [_fill(files, code=language, name=languages_table()[language]["name"])]
        return list(files.get(language, []))


class ParagraphCorpus(Section):
    """Paragraphs of running text, sampled by page: Wikipedia dumps, or neighbouring sentences of treebanks."""

    kind: Literal["paragraphs"]
    source: str = Field(description="entry of resources/sources.yaml")
    form: Literal["dump", "treebank"] = Field("dump", description="MediaWiki dump, or CoNLL-U whose sentences are joined")
    file: str = Field(description="file of the source, with {code}, {name} and {wiki}")
    blocks: Count | None = Field(
        None, description="fetch so many blocks of 100 pages of a multistream dump, drawn with the seed; null: the whole dump"
    )
    files: dict[Language, str] = Field({}, description="files of languages that have another one")
    languages: list[Language] = Field(min_length=1, description="languages")
    paragraphs: Count = Field(5000, description="paragraphs a language (tanti2021, section 2)")
    minimum_characters: Count = Field(100, description="shorter paragraphs are left out (tanti2021, section 2)")
    shares: dict[Split, Share] = Field(
        {"train": 0.7, "validation": 0.1, "dev": 0.1, "test": 0.1}, description="splits, by page (tanti2021, appendix A)"
    )
    spare: Share = Field(0.1, description="surplus that replaces paragraphs with unknown tokens")
    seed: int = Field(0, ge=0, description="seed of the sample")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        _check_languages(self.languages)
        for language in self.languages:
            self.file_of(language)
            if self.blocks and not self.file_of(language).endswith("-multistream.xml.bz2"):
                raise ValueError(
                    f"blocks: a file -multistream.xml.bz2 expected, found {self.file_of(language)}; only such have blocks"
                )
        if abs(sum(self.shares.values()) - 1) > 1e-9:
            raise ValueError(f"shares must add up to 1, not {sum(self.shares.values()):g}")
        return self

    def parts(self) -> Iterator[tuple[str, str]]:
        """(language, split) of every file that the corpus is made of."""
        for language in self.languages:
            for split in self.shares:
                yield language, split

    def sources(self) -> set[str]:
        """Entries of resources/sources.yaml that it reads."""
        return {self.source}

    def file_of(self, language: str) -> str:
        """File of the source for a language."""
        row = languages_table()[language]
        return _fill(self.files.get(language, self.file), code=language, name=row["name"], wiki=row["wikipedia"])


class PairCorpus(Section):
    """Sentence pairs of natural language inference: XNLI, and MultiNLI to train on."""

    kind: Literal["pairs"]
    source: str = Field(description="entry of resources/sources.yaml for dev and test")
    archive: str | None = Field(None, description="archive of the source that holds the files")
    languages: list[Language] = Field(min_length=1, description="languages of the test split")
    files: dict[Literal["dev", "test"], str] = Field(
        description="file of the source, or member of its archive, with {code} and {name} where each language has its own"
    )
    source_languages: list[Language] = Field(["en"], description="languages that also have train and validation")
    train_source: str = Field(description="entry of resources/sources.yaml for train and validation")
    train_archive: str | None = Field(None, description="archive of the train source that holds the files")
    train_file: str = Field(description="like files, for train")
    validation_file: str | None = Field(None, description="like files, for validation; null: a share of train")
    validation_share: Share = Field(0.1, description="share of train that becomes validation (tanti2021, appendix A)")
    limits: dict[Split, Count] = Field({}, description="at most so many pairs a language, drawn with the seed")
    note: str | None = Field(None, description="what a reader of a table should know of these pairs")
    seed: int = Field(0, ge=0, description="seed of the samples")

    @model_validator(mode="after")
    def _files_for_every_language(self) -> Self:
        _check_languages(self.languages)
        for language, split in self.parts():
            if split != "validation" and not self.files_of(language, split):
                raise ValueError(f"no file for {split}: name it under files")
        return self

    def parts(self) -> Iterator[tuple[str, str]]:
        """(language, split) of every file that the corpus is made of."""
        for language in self.languages:
            if language in self.source_languages:
                yield language, "train"
                yield language, "validation"
            if self.files_of(language, "dev"):
                yield language, "dev"
            yield language, "test"

    def sources(self) -> set[str]:
        """Entries of resources/sources.yaml that it reads."""
        return {self.source, self.train_source}

    def files_of(self, language: str, split: str) -> list[str]:
        """The file of a source, or the member of its archive, for a language and split; [] if there is none."""
        dev, test = self.files.get("dev"), self.files.get("test")
        file = {"train": self.train_file, "validation": self.validation_file, "dev": dev, "test": test}[split]
        return [_fill(file, code=language, name=languages_table()[language]["name"])] if file else []


Corpus = Annotated[TreebankCorpus | ParagraphCorpus | PairCorpus, Field(discriminator="kind")]
