"""Settings of heads in recipes: what they predict, and from which states."""

from typing import Annotated, Final, Literal

from pydantic import Field

from crosslens.config.base import OneOfKinds, Section

TASK: Final = "task"  # kind of label, and name of the head that learns it
LANGUAGE: Final = "language"  # kind of label, and name of the head that learns it
ARC: Final = "arc"  # kind of label that a parser needs besides relations: each word's head
TAG: Final = "upos"  # kind of label that a parser may read: each word's gold tag
WORD: Final = "word"  # kind of label of subwords: whether each begins a word
Layer = Annotated[int, Field(ge=0)]  # 0 is the embedding output
ALL: Final = "all"  # all layers, concatenated


class Mix(Section):
    """The feature-based model of wu2019 (section 4.1), between the encoder's states and a head.

    It takes a softmax-weighted sum of all layers' states, and runs a bidirectional LSTM over the words of a text. See
    crosslens.training.heads.mixed.
    """

    lstm_layers: Annotated[int, Field(ge=0)] = 2  # 0: none
    lstm_size: int = 768  # per direction
    pool: bool = False  # whether a text is represented by the maximum over its words
    reads: Literal["words", "subwords"] = "words"  # what the LSTM runs over if words are labelled


class _Head(OneOfKinds):
    """Settings shared by heads of all kinds."""

    kind: str
    labels: tuple[str, ...]  # in the order of their class numbers
    layer: Layer | None = None  # layer whose states it reads; None: the last, in the form that `Units.state` names
    mix: Mix | None = None  # mixture of all layers that it reads instead of one layer

    def reads(self) -> int | Literal["all"] | None:
        """Layer whose states it reads; ALL: all layers, concatenated; None: the states that the units name."""
        return ALL if self.mix else self.layer


class Projection(Section):
    """A projection of states onto an artefact's directions from number `first` onwards (liang2021, figure 4)."""

    first: Annotated[int, Field(ge=0)]
    method: str = "densray"
    random: bool = False  # project onto as many random orthonormal directions instead, sampled for each seed


class LinearHead(_Head):
    """Dropout and one linear layer; see crosslens.training.heads.linear."""

    kind: Literal["linear"] = "linear"
    learns: Literal["task", "language"] = TASK
    projection: Projection | None = None  # projection of the states that it reads
    hidden: Annotated[int, Field(ge=0)] = 0  # size of a hidden layer before the linear one; 0: no hidden layer


class ParserHead(_Head):
    """A biaffine parser, whose labels are relations; see crosslens.training.heads.parser and crosslens.training.biaffine.

    The defaults are wu2019's; muller2021's code has arc 500, relation 200, dropout 0.1 and leaky_relu.

    subtypes: whether labels include subtypes. If so, they are taken from the training data instead of being listed here.
    """

    kind: Literal["parser"] = "parser"
    learns: Literal["task"] = TASK
    subtypes: bool = False
    arc: int = 512
    relation: int = 128
    dropout: float = 0.33
    activation: Literal["elu", "leaky_relu"] = "elu"
    root: Literal["vector", "first", "as_released"] = "vector"
    decoding: Literal["log", "probability"] = "log"
    initialisation: Literal["orthogonal", "pytorch"] = "orthogonal"
    cut_heads: Literal["masked", "last_word"] = "masked"
    one_root: bool = True
    tag_size: int = 0  # size of the embedding of each word's gold UPOS tag, appended to its state; 0: no tags
    relation_divisor: Literal["words", "words_plus_two"] = "words"


class LanguageModelHead(_Head):
    """A head that predicts the subwords at masked positions; see crosslens.training.heads.language_model.

    Its labels are the encoder's vocabulary and are not listed.
    """

    kind: Literal["language_model"] = "language_model"
    labels: tuple[str, ...] = ()
    learns: Literal["task"] = TASK


Head = Annotated[LinearHead | ParserHead | LanguageModelHead, Field(discriminator="kind")]
