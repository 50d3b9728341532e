"""The phrasebook's corpora: which languages, and how much."""

from collections.abc import Iterator

from pydantic import Field

from crosslens.config.base import Count, Language, Section, languages_table

DATE = "20260101"  # of the dumps, which are as reproducible as the phrasebook itself


class Phrasebook(Section):
    """How much the phrasebook writes."""

    languages: list[Language] = Field([], description="languages; each is a folder of resources/phrasebook")
    train_languages: list[Language] = Field(["en"], description="languages that also have a train treebank")
    train: Count = Field(800, description="sentences")
    dev: Count = Field(150, description="sentences a language")
    test: Count = Field(150, description="sentences a language")
    parallel: Count = Field(150, description="sentences of the parallel treebanks")
    articles: Count = Field(80, description="articles of a dump; 60 give about 150 paragraphs")
    inference_train: Count = Field(300, description="prompts (a premise, three hypotheses) of MultiNLI's layout, in English")
    inference_dev: Count = Field(50, description="prompts a language of XNLI's layout, and of MultiNLI's in English")
    inference_test: Count = Field(50, description="prompts a language of XNLI's layout")
    seed: int = Field(0, ge=0, description="seed of everything that is written")

    def files(self) -> Iterator[str]:
        """Paths of all files that are written, as inside the official distributions."""
        for code in self.languages:
            row = languages_table()[code]
            for split in ("train", "dev", "test") if code in self.train_languages else ("dev", "test"):
                yield f"ud/UD_{row['name']}-Phrasebook/{code}_phrasebook-ud-{split}.conllu"
            yield f"ud/UD_{row['name']}-PhrasebookPUD/{code}_phrasebookpud-ud-test.conllu"
            stem = f"wikipedia/{row['wikipedia']}/{DATE}/{row['wikipedia']}-{DATE}-pages-articles-multistream"
            yield f"{stem}.xml.bz2"
            yield f"{stem}-index.txt.bz2"
        if self.languages:
            yield "multinli/multinli_1.0.zip"
            yield "xnli/XNLI-1.0.zip"
