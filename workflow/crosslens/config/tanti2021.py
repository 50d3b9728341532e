"""tanti2021: hyperparameters and measures, each with its place in the paper."""

from typing import Annotated, Literal

from pydantic import Field

from crosslens.config.base import Count, Language, Rate, Section, Share


class Run(Section):
    """Hyperparameters of one training (tanti2021, table 5)."""

    init_sd: Annotated[float, Field(gt=0)] = Field(0.01, description="standard deviation of new heads")
    batch: Count = Field(32, description="texts a step")
    encoder_rate: Rate | None = Field(None, description="learning rate of the encoder; null: it is not trained")
    head_rate: Rate = Field(1e-3, description="learning rate of the heads")
    reversal: Annotated[float, Field(gt=0)] | None = Field(None, description="lambda of gradient reversal")
    uniformity: Annotated[float, Field(gt=0)] | None = Field(None, description="weight of entropy maximisation")
    language_head_rate: Rate | None = Field(
        None, description="learning rate of the language head trained after; null: head_rate, as the authors' code did"
    )
    reinitialise: Literal["none", "all"] = Field("none", description="draw the encoder's weights anew: the untrained control")


class Training(Section):
    """What all trainings share."""

    epochs: Count = Field(5, description="epochs of the task (tanti2021, appendix C)")
    language_epochs: Count = Field(5, description="epochs of the language head (tanti2021, appendix C)")
    dropout: Share = Field(0.1, description="before each head (tanti2021, appendix C)")
    warmup: Share = Field(0.0, description="share of the steps in which the rates rise from 0")
    decay: Literal["none", "linear"] = Field("none", description="how the rates fall after that")
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.0, description="AdamW's decoupled decay of the encoder")
    clip: Annotated[float, Field(gt=0)] | None = Field(None, description="largest norm of the gradient")
    entropy: Literal["paper", "entropy"] = Field(
        "paper", description="entropy maximisation by equation 1 (minus the sum of log probabilities) or by true entropy"
    )
    select_by: Literal["paper", "token"] = Field("token", description="macro F1 that picks the best epoch")
    encoder_dropout_when_frozen: bool = Field(
        False, description="true: as the authors' code, the frozen encoder drops out while heads train on it; no caching"
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field("float32", description="of matrix products in training")


class Probe(Section):
    """The converged logistic regression beside the recipe's head, and its controls."""

    train_words: Count = Field(500, description="training words a language")
    test_words: Count = Field(400, description="test words a language, from other sentences")
    penalties: list[Rate] = Field([0.01, 0.1, 1.0], min_length=1, description="C, chosen by validation")


class Clustering(Section):
    """V-measure of k-means on the appendix's samples."""

    runs: Count = Field(10, description="k-means runs that are averaged (tanti2021, section 4.1)")
    points_per_label: Count = Field(10, description="points of a language and label (tanti2021, appendix B)")
    points_per_language: Count = Field(100, description="Wikipedia points of a language (tanti2021, appendix B)")
    language_clusters: Count | None = Field(None, description="k for languages; null: as many as there are")


class Tsne(Section):
    """t-SNE of the appendix's samples."""

    perplexity: Annotated[float, Field(gt=0)] = Field(30.0, description="scikit-learn 0.23's default")
    learning_rate: Annotated[float, Field(gt=0)] = Field(200.0, description="scikit-learn 0.23's default")
    iterations: Annotated[int, Field(ge=250)] = Field(1000, description="scikit-learn 0.23's default")
    seed: int = Field(0, ge=0, description="random_state")


class Tanti2021(Section):
    """On the language-specificity of multilingual BERT and the impact of fine-tuning (Tanti et al. 2021)."""

    encoder: str = Field(description="key of encoders")
    corpus: str = Field(description="key of corpora: the task's sentences")
    language_corpus: str = Field(description="key of corpora: the paragraphs that the language head learns from")
    source_language: Language = Field("en", description="language of the task's training data")
    training: Training = Field(Training(), description="what all trainings share")
    runs: dict[Literal["frozen", "finetuned", "gradient_reversal", "entropy_maximisation", "untrained"], Run] = Field(
        description="hyperparameters of each training (table 5)"
    )
    probe: Probe = Field(Probe(), description="the converged probe")
    clustering: Clustering = Field(Clustering(), description="k-means")
    tsne: Tsne = Field(Tsne(), description="t-SNE")
    bootstrap: Count = Field(1000, description="resamples of the sentences for 95 % intervals")
