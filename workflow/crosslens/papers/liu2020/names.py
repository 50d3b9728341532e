"""liu2020: names of the recipes, and the rows and columns of the tables and figures.

Liu, Hsu, Chuang and Lee (2020), A study of cross-lingual ability and language-specific information in multilingual BERT. Layers
count from 1, the first block's output; the shift at layer l is added to that of block l.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PAPER = "liu2020"
RELEASED = f"{PAPER}/released"
"""Recipe of the encoder as it was released."""
UNTRAINED = f"{PAPER}/untrained"
"""Recipe of a BERT with random weights, with which pretrainings begin: our control."""
UNTRAINED_MODEL = "untrained"
"""Name of that BERT among the models that are trained on XNLI."""
ALL, LAST = f"{PAPER}/nli/released/all", f"{PAPER}/nli/released/last"
"""Recipes of XNLI: all of the released encoder is fine-tuned, or the upper half of its blocks (the last 6 of 12)."""
THIRD = 100 / 3
"""Accuracy by guessing on XNLI, in percent: its test set has equally many pairs of each label."""
OVER_PAIRS = "the jackknife over pairs"
"""Name of the interval of a single seed's score on XNLI."""
OVER_UNITS = "the jackknife over different subwords or, of pairs, over these"
"""Name of the interval of a single seed's language identification."""
STATIC = {"glove": "GloVe", "word2vec": "Word2Vec"}


def pretraining(model: str) -> str:
    """Name of a pretraining; model: bert-512/200k."""
    return f"{PAPER}/pretraining/{model}"


def nli(model: str, *, features: bool = False) -> str:
    """Name of a training run on XNLI from a pretrained model: of the model, or of a head on its frozen states."""
    return f"{PAPER}/nli/{model}" + "/features" * features


def title(model: str) -> str:
    """Name of a pretrained model in figures, without its size: BERT, window 512."""
    kind = model.partition("/")[0]
    window = kind.removeprefix("bert-")
    return STATIC.get(kind) or ("BERT, a sentence an example" if window == "sentence" else f"BERT, window {window}")


def alpha(weight: float) -> str:
    """A weight of the shift as rows and curves name it: alpha = 3."""
    return f"alpha = {weight:g}"


def place(layer: int, weight: float) -> str:
    """Layer and weight of a shift as rows of table 2 name them: (layer=11, alpha=3)."""
    return f"(layer={layer}, alpha={weight:g})"


@dataclass(frozen=True)
class Study:
    """The configured pretrainings, translations and names.

    models: names of pretrained models, bert-512/200k; sizes: name -> sentences of each language; windows: of BERTs, the paper's
    first; translator: recipe that translates tokens; translation: fields of config.Translation; inference: languages of table 4;
    names: language -> name; half: whether the upper half alone of pretrained models is fine-tuned; equal_epochs: names of
    models on less text with as many epochs as on more.
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
        """Names of the models of a size of data."""
        return [model for model in self.models if model.endswith(f"/{size}")]

    def berts(self) -> list[str]:
        """Names of the masked language models."""
        return [model for model in self.models if model.startswith("bert-")]
