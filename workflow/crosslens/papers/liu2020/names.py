"""liu2020: names of the recipes, and the rows and columns of the tables and figures.

Liu, Hsu, Chuang and Lee (2020), A study of cross-lingual ability and language-specific information in multilingual BERT. Layers
count from 1; the shift at layer l is added to the output of layer l.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PAPER = "liu2020"
RELEASED = f"{PAPER}/released"
"""Recipe of the encoder as it was released."""
UNTRAINED = f"{PAPER}/untrained"
"""Recipe of a BERT with the random weights from which pretraining starts: our control."""
UNTRAINED_MODEL = "untrained"
"""Name of the BERT with random weights among the models that are trained on XNLI."""
ALL, LAST = f"{PAPER}/nli/released/all", f"{PAPER}/nli/released/last"
"""Recipes on XNLI that fine-tune the whole released encoder, or the upper half of its layers (the last 6 of 12)."""
THIRD = 100 / 3
"""Chance accuracy on XNLI, in percent: its test set has equally many pairs of each label."""
OVER_PAIRS = "the jackknife over pairs"
"""Words for the interval of a single seed's score on XNLI."""
OVER_UNITS = "the jackknife over different subwords or, of pairs, over these"
"""Words for the interval of a single seed's score in language identification."""
STATIC = {"glove": "GloVe", "word2vec": "Word2Vec"}


def pretraining(model: str) -> str:
    """Name of the recipe that pretrains a model, such as bert-512/200k."""
    return f"{PAPER}/pretraining/{model}"


def nli(model: str, *, features: bool = False) -> str:
    """Name of the recipe that trains a pretrained model on XNLI or, if `features`, a head on its frozen states."""
    return f"{PAPER}/nli/{model}" + "/features" * features


def title(model: str) -> str:
    """Name of a pretrained model in figures, without its data size: BERT, window 512."""
    kind = model.partition("/")[0]
    window = kind.removeprefix("bert-")
    return STATIC.get(kind) or ("BERT, a sentence an example" if window == "sentence" else f"BERT, window {window}")


def alpha(weight: float) -> str:
    """Label of a shift weight in rows and curves: alpha = 3."""
    return f"alpha = {weight:g}"


def place(layer: int, weight: float) -> str:
    """Label of a shift's layer and weight in rows of table 2: (layer=11, alpha=3)."""
    return f"(layer={layer}, alpha={weight:g})"


@dataclass(frozen=True)
class Study:
    """The configured pretrained models, translations and names.

    source: language paired with every other; encoder: key of the released encoder; models: names of pretrained models, such as
    bert-512/200k; sizes: data size -> sentences per language; windows: of BERTs, the long one first; translator: recipe of the
    model that translates tokens; translation: fields of config.Translation; nli: languages of table 4; names: language -> name;
    half: whether only the upper half of pretrained models is fine-tuned; equal_epochs: names of models trained on less text for
    as many epochs as on more.
    """

    source: str
    encoder: str
    models: Sequence[str]
    sizes: Mapping[str, int]
    windows: Sequence[int | str]
    translator: str
    translation: Mapping[str, Any]
    nli: Sequence[str]
    names: Mapping[str, str]
    half: bool = False
    equal_epochs: Sequence[str] = ()

    def of_size(self, size: str) -> list[str]:
        """Names of the models pretrained on a data size."""
        return [model for model in self.models if model.endswith(f"/{size}")]

    def berts(self) -> list[str]:
        """Names of the masked language models."""
        return [model for model in self.models if model.startswith("bert-")]
