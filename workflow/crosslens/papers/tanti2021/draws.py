"""tanti2021: which words' hidden states are stored."""

from crosslens.config.states import Draw
from crosslens.config.whole import Config


def draws(config: Config) -> dict[str, Draw]:
    """Corpus -> words whose states are stored: the appendix's samples, and words for the probes."""
    paper = config.papers.tanti2021
    return {
        paper.corpus: Draw(
            random_words={"test": paper.probe.train_words + paper.probe.test_words},
            sample_per_label=paper.clustering.points_per_label,
        ),
        paper.language_corpus: Draw(
            random_words={"train": paper.probe.train_words, "test": paper.probe.test_words},
            sample_per_language=paper.clustering.points_per_language,
        ),
    }
