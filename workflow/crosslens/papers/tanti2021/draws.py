"""tanti2021: which words' (nli: pairs' and paragraphs') hidden states are stored."""

from crosslens.config.states import Draw
from crosslens.config.whole import Config


def draws(task: str, config: Config) -> dict[str, Draw]:
    """Corpus -> words whose states are stored for a task: the appendix's samples, and words for the probes."""
    paper = config.papers.tanti2021
    of = paper.tasks[task]  # type: ignore[index]
    return {
        of.corpus: Draw(
            random_words={"test": paper.probe.train_words + paper.probe.test_words},
            sample_per_label=of.points_per_label,
        ),
        paper.language_corpus: Draw(
            random_words={"train": paper.probe.train_words, "test": paper.probe.test_words},
            sample_per_language=paper.clustering.points_per_language,
        ),
    }
