"""pires2019: settings of the training runs, each with its source in the paper."""

from pydantic import Field

from crosslens.config.base import Count, Language, Rate
from crosslens.config.whole import Config, PaperSection


class Pires2019(PaperSection):
    """How multilingual is multilingual BERT? (Pires, Schlinger and Garrette 2019)."""

    corpus: str = Field(description="key of corpora: treebanks whose parts of speech are learnt")
    parallel: str = Field(description="key of corpora: parallel treebanks; the paper has 5,000 pairs of WMT16 (section 5.1)")
    source_languages: list[Language] = Field(["en"], min_length=1, description="of the training data")
    epochs: Count = Field(3, description="appendix A")
    batch: Count = Field(32, description="sentences a step (appendix A)")
    rate: Rate = Field(3e-5, description="learning rate (appendix A)")

    def check(self, config: Config) -> None:
        """Raise ValueError where keys contradict each other, or the corpora that they name."""
        here = "papers.pires2019"
        for key in ("corpus", "parallel"):
            config.expect_corpus(f"{here}.{key}", getattr(self, key), "treebank")
        training_languages = {language for language, split in config.corpora[self.corpus].parts() if split == "train"}
        missing = [language for language in self.source_languages if language not in training_languages]
        if missing:
            raise ValueError(f"{here}.source_languages: corpora.{self.corpus} has no training data for {', '.join(missing)}")


PAPER_SECTION = Pires2019
section = Pires2019.of
