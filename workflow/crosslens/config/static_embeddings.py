"""Settings of static embeddings; liu2020 states only their size, and that windows usually have 5 to 30 subwords."""

from typing import Annotated, Literal

from pydantic import Field

from crosslens.config.base import Count, OneOfKinds, Rate
from crosslens.config.training import NotNegative, Positive


class GloVe(OneOfKinds):
    """GloVe (Pennington et al. 2014), trained jointly on all languages."""

    kind: Literal["glove"] = "glove"
    window: Annotated[int, Field(ge=1, le=20)] = Field(10, description="Context subwords on each side.")
    x_max: Positive = Field(100.0, description="Co-occurrence count from which a pair has full weight in the loss.")
    exponent: Positive = Field(0.75, description="Exponent in the weight of less frequent pairs.")
    epochs: Count = Field(15, description="Passes over all pairs of co-occurring subwords.")
    rate: Positive = Field(0.05, description="Learning rate of AdaGrad.")
    batch: Count = Field(4096, description="Subword pairs per update.")


class Word2Vec(OneOfKinds):
    """Skip-gram with negative sampling (Mikolov et al. 2013), trained jointly on all languages."""

    kind: Literal["word2vec"] = "word2vec"
    window: Count = Field(
        10,
        description="Maximum number of context subwords on each side.",
    )
    negatives: Count = Field(5, description="Negative samples per context subword.")
    sample: NotNegative = Field(
        1e-3,
        description="Relative frequency above which subwords are randomly skipped; 0 skips none.",
    )
    epochs: Count = Field(15, description="Passes over the text.")
    minimum_count: Count = Field(1, description="Occurrences below which a subword is not trained.")
    rate: Rate = Field(0.025, description="Initial learning rate.")
    workers: Count = Field(1, description="Threads. With more than one, runs are not reproducible.")


Static = Annotated[GloVe | Word2Vec, Field(discriminator="kind")]
