"""tanti2021: the words whose hidden states are looked at."""

import numpy as np

from crosslens.states.files import States


def panels(target: States, wiki: States) -> list[tuple[str, States, np.ndarray]]:
    """The three views of a model: item, sampled states, truth."""
    target, wiki = target.take(target.sample & (target.labels != "")), wiki.take(wiki.sample)
    return [("labels", target, target.labels), ("language, target", target, target.languages),
            ("language, wiki", wiki, wiki.languages)]  # fmt: skip
