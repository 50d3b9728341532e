"""tanti2021: which words' (nli: pairs' and paragraphs') hidden states are stored."""

from crosslens.config.states import Draw
from crosslens.config.whole import Config
from crosslens.papers.tanti2021.config import Task, section
from crosslens.recipes import Recipe


def draws(recipe: Recipe, config: Config) -> dict[str, Draw]:
    """Words (nli: pairs and paragraphs) whose states are stored; see `task_draws`."""
    task, _ = section(config).run_of(recipe.name)
    return task_draws(section(config).task(task), config)


def task_draws(task: Task, config: Config) -> dict[str, Draw]:
    """The appendix's samples, and words for the probes."""
    paper = section(config)
    probed = paper.probe
    return {
        task.corpus: Draw(random_words={"test": probed.train_words + probed.test_words}, sample_per_label=task.points_per_label),
        paper.language_corpus: Draw(
            random_words={"train": probed.train_words, "test": probed.test_words},
            sample_per_language=paper.clustering.points_per_language,
        ),
    }
