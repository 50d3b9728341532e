"""tanti2021: which words' (nli: pairs' and paragraphs') hidden states are stored."""

from crosslens.config.draws import Draw, Draws
from crosslens.config.whole import Config, once
from crosslens.papers.tanti2021.config import section
from crosslens.papers.tanti2021.layout import LABELS, UNITS


@once
def draws(config: Config) -> dict[str, Draws]:
    """For each task the appendix's samples, and words for the probes."""
    paper = section(config)
    probed, paragraphs, made = paper.probe, paper.language_corpus, {}
    for name, task in paper.tasks.items():
        of_task = Draw(
            languages=tuple(config.corpora[task.corpus].languages),
            random_words={"test": probed.train_words + probed.test_words},
            sample_per_label=task.points_per_label,
        )
        of_paragraphs = Draw(
            languages=tuple(config.corpora[paragraphs].languages),
            random_words={"train": probed.train_words, "test": probed.test_words},
            sample_per_language=paper.clustering.points_per_language,
        )
        made[draws_name(name)] = Draws(
            encoder=paper.encoder, reading=paper.reading, unit=UNITS[name], labels=tuple(LABELS[name]),
            corpora={task.corpus: of_task, paragraphs: of_paragraphs},
        )  # fmt: skip
    return made


def draws_name(task: str) -> str:
    """Name of what is drawn for a task."""
    return f"tanti2021/{task}"
