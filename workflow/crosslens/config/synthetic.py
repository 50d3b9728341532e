"""The synthetic corpora: their languages and sizes."""

from pydantic import Field, field_validator
from synthetic.paths import paths
from synthetic.tables import languages_present

from crosslens.config.base import Count, Language, Section


class SyntheticCorpus(Section):
    """Languages and sizes of the synthetic corpora."""

    languages: list[Language] = Field(
        [], description="Languages for which corpora are generated, each with a folder in resources/synthetic."
    )
    train_languages: list[Language] = Field(["en"], description="Languages for which training treebanks are generated.")
    train: Count = Field(800, description="Number of training, development and test sentences per language.")
    dev: Count = Field(150, description="Number of training, development and test sentences per language.")
    test: Count = Field(150, description="Number of training, development and test sentences per language.")
    parallel: Count = Field(150, description="Number of sentences per language in the parallel treebanks.")
    articles: Count = Field(80, description="Number of articles per Wikipedia dump.")
    nli_train: Count = Field(
        300, description="Number of English prompts in MultiNLI format, each a premise with three hypotheses."
    )
    nli_dev: Count = Field(
        50,
        description="Number of development and test prompts per language in XNLI format.",
    )
    nli_test: Count = Field(50, description="Number of development and test prompts per language in XNLI format.")
    records: Count = Field(
        40,
        description="Number of sentences or documents per language and split in each of the other formats.",
    )
    documents: Count = Field(
        10,
        description="Number of documents of running text per language.",
    )
    seed: int = Field(0, ge=0, description="Random seed for all generated data.")

    @field_validator("languages", "train_languages")
    @classmethod
    def _has_folders(cls, languages: list[str]) -> list[str]:
        present = languages_present()
        unknown = [code for code in languages if code not in present]
        if unknown:
            raise ValueError(
                f"{', '.join(unknown)} not among the synthetic languages ({', '.join(present)}): docs/new-language.md says "
                "how to write one; other languages need real data, for instance with the laptop preset"
            )
        return languages

    def files(self) -> list[str]:
        """Paths of all files that are written, as in the official distributions."""
        return list(paths(self.languages, self.train_languages))
