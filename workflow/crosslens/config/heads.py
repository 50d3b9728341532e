"""Settings of heads in recipes: what they predict, and from which states."""

from typing import Annotated, Final, Literal

from pydantic import Field

from crosslens.config.base import OneOfKinds, Section

TASK: Final = "task"  # kind of label, and name of the head that learns it
LANGUAGE: Final = "language"  # kind of label, and name of the head that learns it
ARC: Final = "arc"  # kind of label beside a parser's relations: each word's head
TAG: Final = "upos"  # kind of label that a parser may read: each word's gold tag
WORD: Final = "word"  # kind of label beside those of subwords: which of them begin a word
Layer = Annotated[int, Field(ge=0)]  # 0 is the embedding output
ALL: Final = "all"  # all layers, concatenated


class Mix(Section):
    """The feature-based model of wu2019 (section 4.1), between the encoder's states and a head.

    A softmax-weighted sum of all layers' states, and a bidirectional LSTM over the words of a text. See
    crosslens.training.heads.mixed.
    """

    lstm_layers: Annotated[int, Field(ge=0)] = 2  # 0: none
    lstm_size: int = 768  # of each direction
    pool: bool = False  # a text is the maximum over its words
    reads: Literal["words", "subwords"] = "words"  # of texts whose words are labelled, what the LSTM runs over


class _Head(OneOfKinds):
    """Settings shared by heads of all kinds."""

    kind: str
    labels: tuple[str, ...]  # in the order of their numbers
    layer: Layer | None = None  # layer whose states it reads; None: the last, in the form that the units name
    mix: Mix | None = None  # mixture of all layers that it reads instead

    def reads(self) -> int | Literal["all"] | None:
        """Layer whose states it reads; ALL: all layers, concatenated; None: the states that the units name."""
        return ALL if self.mix else self.layer


class Projection(Section):
    """A projection of states onto an artefact's directions from number `first` onwards (liang2021, figure 4)."""

    first: Annotated[int, Field(ge=0)]
    method: str = "densray"
    random: bool = False  # on as many random directions, orthonormal, drawn for each seed


class LinearHead(_Head):
    """Dropout and one linear layer; see crosslens.training.heads.linear."""

    kind: Literal["linear"] = "linear"
    learns: Literal["task", "language"] = TASK
    projection: Projection | None = None  # of the state that it reads
    hidden: Annotated[int, Field(ge=0)] = 0  # units of a layer before it; 0: there is none


class ParserHead(_Head):
    """A biaffine parser, whose labels are relations; see crosslens.training.heads.parser.

    subtypes: whether its labels, which are then not listed, are the relations in its training data, with subtypes.
    """

    kind: Literal["parser"] = "parser"
    learns: Literal["task"] = TASK
    subtypes: bool = False
    arc: int = 512
    relation: int = 128
    dropout: float = 0.33
    activation: Literal["elu", "leaky_relu"] = "elu"
    root: Literal["vector", "first", "as_released"] = "vector"  # see crosslens.training.biaffine
    decoding: Literal["log", "probability"] = "log"
    initialisation: Literal["orthogonal", "pytorch"] = "orthogonal"
    cut_heads: Literal["masked", "last_word"] = "masked"
    one_root: bool = True
    tag_size: int = 0  # of the embedding of each word's gold UPOS, beside its state; 0: tags are not given
    relation_divisor: Literal["words", "words_plus_two"] = "words"


class LanguageModelHead(_Head):
    """A head that predicts the subwords at masked positions; see crosslens.training.heads.language_model.

    Its labels are the encoder's vocabulary and are not listed.
    """

    kind: Literal["language_model"] = "language_model"
    labels: tuple[str, ...] = ()
    learns: Literal["task"] = TASK


Head = Annotated[LinearHead | ParserHead | LanguageModelHead, Field(discriminator="kind")]
