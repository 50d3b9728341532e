"""tanti2021: sampled words (for nli: pairs and paragraphs) whose hidden states are stored."""

from crosslens.config.samples import Samples, Sampling
from crosslens.config.whole import Config, once
from crosslens.papers.tanti2021.config import section
from crosslens.papers.tanti2021.names import LABELS, UNITS


@once
def samples(config: Config) -> dict[str, Samples]:
    """Samples by name, one entry per task: the points of appendix B, and the words (for nli: texts) for the probes."""
    paper = section(config)
    probe, paragraphs, samples_by_name = paper.probe, paper.language_corpus, {}
    for name, task in paper.tasks.items():
        of_task = Sampling(
            languages=tuple(config.corpora[task.corpus].languages),
            random_words={"test": probe.train_words + probe.test_words},
            sample_per_label=task.points_per_label,
        )
        of_paragraphs = Sampling(
            languages=tuple(config.corpora[paragraphs].languages),
            random_words={"train": probe.train_words, "test": probe.test_words},
            sample_per_language=paper.clustering.points_per_language,
        )
        samples_by_name[samples_name(name)] = Samples(
            encoder=paper.encoder, tokenisation=paper.tokenisation, unit=UNITS[name], labels=tuple(LABELS[name]),
            corpora={task.corpus: of_task, paragraphs: of_paragraphs},
        )  # fmt: skip
    return samples_by_name


def samples_name(task: str) -> str:
    """Name of the samples of a task."""
    return f"tanti2021/{task}"
