"""tanti2021: words (nli: pairs and paragraphs) whose hidden states are stored."""

from crosslens.config.draws import Draw, Draws
from crosslens.config.whole import Config, once
from crosslens.papers.tanti2021.config import section
from crosslens.papers.tanti2021.layout import LABELS, UNITS


@once
def draws(config: Config) -> dict[str, Draws]:
    """Draws by name, one for each task: the samples of appendix B, and words for the probes."""
    paper = section(config)
    probe, paragraphs, draws_by_name = paper.probe, paper.language_corpus, {}
    for name, task in paper.tasks.items():
        of_task = Draw(
            languages=tuple(config.corpora[task.corpus].languages),
            random_words={"test": probe.train_words + probe.test_words},
            sample_per_label=task.points_per_label,
        )
        of_paragraphs = Draw(
            languages=tuple(config.corpora[paragraphs].languages),
            random_words={"train": probe.train_words, "test": probe.test_words},
            sample_per_language=paper.clustering.points_per_language,
        )
        draws_by_name[draws_name(name)] = Draws(
            encoder=paper.encoder, reading=paper.reading, unit=UNITS[name], labels=tuple(LABELS[name]),
            corpora={task.corpus: of_task, paragraphs: of_paragraphs},
        )  # fmt: skip
    return draws_by_name


def draws_name(task: str) -> str:
    """Name of the draws of a task."""
    return f"tanti2021/{task}"
