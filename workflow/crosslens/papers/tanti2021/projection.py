"""tanti2021: t-SNE of the appendix's samples (figures 3 to 6)."""

import pandas as pd

from crosslens.config.tanti2021 import Tsne
from crosslens.measures.projection import tsne
from crosslens.papers.tanti2021.views import panels
from crosslens.states.files import States


def projection(target: States, wiki: States, settings: Tsne) -> pd.DataFrame:
    """t-SNE coordinates of the sampled words: corpus ('target', 'wiki'), x, y, label, language."""
    parts = []
    for name, states in (("target", panels(target, wiki)[0][1]), ("wiki", panels(target, wiki)[2][1])):
        points = tsne(states.vectors, **settings.model_dump())
        parts.append(pd.DataFrame({"corpus": name, "x": points[:, 0], "y": points[:, 1],
                                   "label": states.labels, "language": states.languages}))  # fmt: skip
    return pd.concat(parts, ignore_index=True)
