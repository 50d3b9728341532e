"""Settings of static embeddings; liu2020 states only their size, and that windows usually have 5 to 30 subwords."""

from typing import Annotated, Literal

from pydantic import Field

from crosslens.config.base import Count, OneOfKinds, Rate
from crosslens.config.training import NotNegative, Positive


class GloVe(OneOfKinds):
    """GloVe (Pennington et al. 2014), jointly over all languages; the paper leaves all of this open.

    Defaults are those of the paper of GloVe and of its code, where they have one.
    """

    kind: Literal["glove"] = "glove"
    window: Annotated[int, Field(ge=1, le=20)] = Field(
        10, description="pieces on either side that count as context, within a text; one at distance k counts 1/k"
    )
    x_max: Positive = Field(100.0, description="count from which a pair has the full weight 1 in the loss")
    exponent: Positive = Field(0.75, description="of the weight of a pair below that, (count / x_max)^exponent")
    epochs: Count = Field(15, description="passes over all pairs of pieces that occur together")
    rate: Positive = Field(0.05, description="learning rate of AdaGrad, applied to gradients before they are squared and summed")
    batch: Count = Field(4096, description="pairs whose gradients are summed to one update, each in both orders")


class Word2Vec(OneOfKinds):
    """Skip-gram with negative sampling (Mikolov et al. 2013), jointly over all languages; the paper leaves all of this open."""

    kind: Literal["word2vec"] = "word2vec"
    window: Count = Field(10, description="most pieces on either side that count as context; each time drawn from 1 to so many")
    negatives: Count = Field(5, description="pieces drawn against each one of the context")
    sample: NotNegative = Field(1e-3, description="share of the text above which a piece is left out at random; 0: never")
    epochs: Count = Field(15, description="passes over the text")
    minimum_count: Count = Field(1, description="pieces that occur less often get no vector")
    rate: Rate = Field(0.025, description="learning rate at the start; it falls to 0.0001")
    workers: Count = Field(1, description="threads; with several, two runs differ")


Static = Annotated[GloVe | Word2Vec, Field(discriminator="kind")]
