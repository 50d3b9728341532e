"""Recipes: complete descriptions of training runs. Changes of the configuration rerun only those whose recipe changes.

A recipe has heads on an encoder and a list of stages. A stage runs its phases for some epochs; a phase sums loss terms and
updates some modules. Every objective of the papers is composed of these. Supervised training is one phase with one term. Gradient
reversal adds a second term, whose gradient is reversed on its way to the encoder. Entropy maximisation has two phases per epoch.

The names of recipes and heads have no meaning: all properties are fields.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from crosslens.config import static_embeddings
from crosslens.config.base import Frozen, Split
from crosslens.config.heads import Head, LanguageModelHead, Layer
from crosslens.config.units import Units

ENCODER: Final = "encoder"
STATES_BYTES: Final = 2**34  # maximum size of states of labelled units that are computed only once
BOTTOM_BYTES: Final = 2**32  # the same for outputs of frozen layers; both limits are independent of the memory


class Data(Frozen):
    """Texts read by a term, a selection or a score."""

    corpus: str
    split: Split
    languages: tuple[str, ...]
    capped_by: str | None = None  # cap on each language's random sample: number of texts of this language / number of languages
    texts: Annotated[int, Field(ge=1)] | None = None  # keep only this many texts of each language, the first ones
    # Size of the windows of running text in subwords, including special ones; see crosslens.encoding.packing. None: no windows.
    window: Annotated[int, Field(ge=3)] | None = None
    within: Literal["page", "text"] = "page"  # windows do not extend beyond this unit
    masked: bool = False  # mask texts once, identically in every epoch, as for held-out text of a masked language model

    def files(self) -> list[tuple[str, str, str]]:
        """(corpus, language, split) of each file."""
        return [(self.corpus, language, self.split) for language in self.languages]


class Artefact(Frozen):
    """A measure of another recipe's states that a training run reads, such as `subspaces`. Its rows are not records."""

    kind: str
    recipe: str
    seed: int


class Penalty(Frozen):
    """A penalty that keeps hidden states near those of a frozen anchor, within the subspaces of an artefact: L-DAR (liang2021).

    It is added to a term's loss: weight times the sum over layers of the mean over labelled units of |(E - F) Q w|. E are the
    states, and F those of the anchor. Q holds the first `dimensions` directions of the layer's subspace, and w the share of each
    in the sum of their eigenvalues. See crosslens.training.anchor.
    """

    weight: float
    layers: tuple[Layer, ...] | Literal["all"] = "all"  # all: the outputs of all layers, 1 to L
    dimensions: int  # a number above the subspace's rank counts as the rank
    method: str = "densray"
    anchor: Literal["pretrained", "released"] = "pretrained"


class Term(Frozen):
    """One summand of a loss, a mean over labelled units."""

    head: str
    data: Data
    loss: Literal["cross_entropy", "uniformity", "entropy", "tree"] = "cross_entropy"
    weight: float = 1.0
    layer: Layer | None = None  # layer whose states the head reads for this term; None: the head's own
    reversal: float | None = None  # gradients into the encoder are multiplied by -reversal; None: unchanged
    penalty: Penalty | None = None  # penalty added to the term; the phase must update the encoder
    divided_twice: bool = False  # the mean is divided by the number of labelled units once more (muller2021's sibling code)


class Score(Frozen):
    """Predictions of a head on some texts."""

    head: str
    data: Data


class Drift(Frozen):
    """A measurement of how far labelled units' states are from an anchor's in each layer, with the distance of a penalty.

    It is made whether or not the training run has a penalty, so that both kinds of run can be compared (liang2021).
    """

    head: str
    data: Data
    penalty: Penalty


class Halving(Frozen):
    """Halving of the learning rates after each epoch whose score does not exceed the previous best (wu2019, section 4.1)."""

    floor: float  # the stage ends once a head's learning rate would fall below it


class Phase(Frozen):
    """One pass over the first term's data, in which the updated modules minimise the sum of the terms.

    The data of the other terms are repeated in new shuffles, or cut, to the same number of texts (tanti2021's code:
    lang_ent_max_cls/training_process.py 183-192, common/dataset/dataset.py 316-352).
    """

    terms: tuple[Term, ...]
    update: tuple[str, ...]  # ENCODER and names of heads
    # Number of the encoder's lowest layers that are frozen, together with its embeddings. Their dropout is off unless the recipe
    # sets encoder_dropout_when_frozen. None: nothing is frozen.
    frozen_layers: Annotated[int, Field(ge=0)] | None = None
    at_most: Data | None = None  # limits a pass to as many texts as these data have, newly sampled each time
    # Number of steps per pass. The next pass continues where the last one ended; texts are reshuffled after each full round.
    updates: Annotated[int, Field(ge=1)] | None = None

    def items(self, sizes: Mapping[Data, int]) -> int:
        """Number of texts of each term in a pass, if `updates` is None. sizes: number of texts of each Data."""
        return min(sizes[data] for data in (self.terms[0].data, self.at_most) if data)

    def steps(self, batch: int, sizes: Mapping[Data, int]) -> int:
        """Number of steps of a pass; its last batch may be smaller. batch: texts per step. sizes: texts in each Data."""
        return self.updates or -(-self.items(sizes) // batch)


class Stage(Frozen):
    """Epochs over some phases. By default, the weights of the best pass are kept, possibly those from before the stage.

    Weights are scored after each pass: an epoch or, in a single-phase stage, `interval` updates. The history has a row per pass.
    Source: tanti2021's code, training_process.py 320-342.
    """

    name: str
    phases: tuple[Phase, ...]
    epochs: int
    batch: int
    batch_of: Literal["texts", "subwords"] = "texts"  # subwords: a step has as many texts as contain `batch` subwords on average
    encoder_rate: float = 0.0
    head_rate: float
    head_rates: dict[str, float] = {}  # by head, for heads that learn at another rate
    new_heads: tuple[str, ...]  # heads re-initialised at the start of the stage
    carries: tuple[str, ...] = ()  # heads whose optimiser keeps its moments from the previous stage
    select_head: str
    select_data: Data
    # Number of updates per pass; None: a pass is an epoch. Batches and their order stay the same, but weights are scored every
    # `interval` updates, across epochs, and after the last one (XTREME's --save_steps, third_party/run_tag.py 194-206).
    interval: Annotated[int, Field(ge=1)] | None = None
    keep: Literal["best", "last"] = "best"  # pass whose weights are kept at the end of the stage
    halving: Halving | None = None  # if set, `epochs` is the maximum number of epochs
    # Accuracies and distances that the history records at the start and after each phase.
    watch: tuple[Score | Drift, ...] = ()

    @model_validator(mode="after")
    def _an_interval_is_of_one_phase(self) -> Self:
        if self.interval and len(self.phases) > 1:
            raise ValueError(f"{self.name}: expected one phase beside an interval, found {len(self.phases)}")
        return self

    def texts_a_step(self, length: float) -> int:
        """Number of texts per step. length: mean length of the texts, in subwords."""
        return self.batch if self.batch_of == "texts" else max(1, round(self.batch / length))

    def trains_encoder(self) -> bool:
        """Whether any phase updates the encoder."""
        return any(ENCODER in phase.update for phase in self.phases)

    def updates(self, sizes: Mapping[Data, int]) -> int:
        """Total number of updates in all epochs. sizes: number of texts of each Data."""
        return self.epochs * sum(phase.steps(self.batch, sizes) for phase in self.phases)

    def passes(self, sizes: Mapping[Data, int]) -> int:
        """Number of passes, after each of which weights are scored; the last may be shorter."""
        return -(-self.updates(sizes) // self.interval) if self.interval else self.epochs

    def loss_columns(self, phase: int) -> list[str]:
        """Names of the history's columns for the losses of a phase. Terms are numbered throughout the stage. phase: its index."""
        first = sum(len(before.terms) for before in self.phases[:phase])
        return [
            f"loss {i} {term.head} {name}"
            for i, term in enumerate(self.phases[phase].terms, first)
            for name in ([term.loss, "penalty"] if term.penalty else [term.loss])
        ]


class Edit(Frozen):
    """A change to an encoder before it is trained: RANDOM-INIT (muller2021, section 2.1)."""

    layers: tuple[int, ...] | Literal["all"] = ()  # re-initialised layers, 1 to L
    embeddings: bool = False  # whether the embeddings are re-initialised too
    initialisation: Literal["bert", "released"] = "bert"  # see crosslens.training.edit
    sd: float | None = None  # standard deviation of weights with "bert"; None: the encoder's initializer_range

    def changes(self) -> bool:
        """Whether anything is changed."""
        return bool(self.layers) or self.embeddings


class Masking(Frozen):
    """Random choice of the subwords that a masked language model predicts (Devlin et al. 2019, section 3.1)."""

    share: float = 0.15  # share of the subwords to predict, among all except special ones
    masked: float = 0.8  # share of these that are replaced by the mask
    random: float = 0.1  # share of these that are replaced by a random subword; the rest stay unchanged


class Static(Frozen):
    """Word embeddings learned from running text; see crosslens.training.static_embeddings."""

    data: Data
    embeddings: static_embeddings.Static


class Model(Frozen):
    """Weights of another recipe's training runs. A run with seed s starts from the run with seed seeds[s % len(seeds)]."""

    recipe: str
    seeds: tuple[int, ...]

    def seed(self, training: int) -> int:
        """Seed of the model from which a training run starts. training: seed of the training run."""
        return self.seeds[training % len(self.seeds)]


class Recipe(Frozen):
    """A training run, from an encoder to predictions on all its targets. Without stages or `static`, only `edit` applies."""

    name: str
    paper: str | None = None
    task: str | None = None  # task in the paper; None: nothing is learned
    source: str | None = None  # source of the task's training data: a language, or a name that the paper uses
    trial: dict[str, int | float] = {}  # hyperparameters, if this is a trial of a search
    keeps_weights: bool = True
    encoder: str
    tokenisation: str  # how its texts become tokens
    units: Units = Units()
    artefact: Artefact | None = None  # artefact with the directions for penalties and projections
    pretrained: Model | None = None  # model whose encoder weights replace those in the encoder's folder at the start
    edit: Edit = Edit()
    static: Static | None = None  # training of word embeddings, an encoder without layers, instead of stages
    heads: dict[str, Head]
    stages: tuple[Stage, ...]
    scores: tuple[Score, ...]
    init_sd: float | None  # standard deviation of linear heads' initial weights; None: PyTorch's default
    dropout: float  # dropout rate before linear heads
    input_dropout: float = 0.0  # dropout rate of states before heads of all kinds, with one mask per text
    warmup: float = 0.0
    decay: Literal["none", "linear"] = "none"
    weight_decay: float = 0.0
    decays: Literal["encoder", "matrices"] = "encoder"  # matrices: of encoder and heads, no biases and layer norms
    beta2: float = 0.999  # of AdamW
    epsilon: float = 1e-8
    clip: float | None = None
    select_by: Literal["paper", "token", "accuracy", "spans", "las", "subwords"] = "token"
    encoder_dropout: bool = True  # whether the encoder has dropout while it is trained
    encoder_dropout_when_frozen: bool = False
    length_pools: bool = False  # whether batches have texts of similar length
    precision: Literal["float32", "tf32", "bfloat16", "float16", "auto"] = "float32"
    gpu_step: Literal["eager", "captured", "compiled"] = "captured"  # how a GPU computes updates: crosslens.training.gpu
    masking: Masking = Masking()
    # Number of parts of a batch, each with its own random stream for dropout. Their gradients are computed one after the other
    # or on several GPUs, and added.
    parts: Annotated[int, Field(ge=1)] = 1

    @classmethod
    def without_training(cls, name: str, *, paper: str, encoder: str, tokenisation: str, edit: Edit | None = None) -> Self:
        """Return a recipe that trains nothing: the encoder as it was pretrained, or with an edit such as random weights."""
        empty: dict[str, Any] = {"heads": {}, "stages": (), "scores": (), "init_sd": None, "dropout": 0.0}
        return cls(name=name, paper=paper, encoder=encoder, tokenisation=tokenisation, edit=edit or Edit(), **empty)

    @model_validator(mode="after")
    def _penalties_reach_the_encoder(self) -> Self:
        for phase in (phase for stage in self.stages for phase in stage.phases):
            if ENCODER not in phase.update and any(term.penalty for term in phase.terms):
                raise ValueError(f"{self.name}: expected a penalty in phases that update the encoder alone, found one elsewhere")
        return self

    @model_validator(mode="after")
    def _one_set_of_labels(self) -> Self:
        for head in self.heads.values():
            if head.labels != self.labels(head.learns):
                raise ValueError(f"{self.name}: expected the same labels for all heads that learn '{head.learns}', found others")
        return self

    def trains(self) -> bool:
        """Whether anything is trained or edited; otherwise the recipe is the pretrained encoder."""
        return bool(self.stages) or self.static is not None or self.edit.changes()

    def reads_running_text(self) -> bool:
        """Whether the recipe learns from running text, regardless of its words and their labels."""
        return self.static is not None or any(isinstance(head, LanguageModelHead) for head in self.heads.values())

    def labels(self, target: str) -> tuple[str, ...]:
        """Labels of a kind, TASK or LANGUAGE; () if no head learns it."""
        return next((head.labels for head in self.heads.values() if head.learns == target), ())

    def taught(self, head: str) -> list[Data]:
        """Data from which a head learns, each once."""
        terms = [term for stage in self.stages for phase in stage.phases for term in phase.terms]
        return list(dict.fromkeys(term.data for term in terms if term.head == head))

    def settings(self) -> dict[str, Any]:
        """Settings of the recipe without those at their defaults, ready for JSON and for `Recipe.model_validate`.

        A new field with a default therefore leaves the settings of every recipe unchanged.
        """
        return self.model_dump(mode="json", exclude_defaults=True)

    def rehearsed(self) -> Self:
        """Recipe shortened for a rehearsal: at most one epoch per stage, scored once, and one epoch of static embeddings."""
        stages = tuple(stage.model_copy(update={"epochs": min(stage.epochs, 1), "interval": None}) for stage in self.stages)
        static = self.static and self.static.model_copy(
            update={"embeddings": self.static.embeddings.model_copy(update={"epochs": 1})}
        )
        return self.model_copy(update={"stages": stages, "static": static})

    def reads(self, term: Term) -> int | Literal["all"] | None:
        """Layer whose states a term's head reads; ALL: all layers; None: the states that the units name."""
        return self.heads[term.head].reads() if term.layer is None else term.layer

    def penalties(self) -> list[Penalty]:
        """Penalties of all terms, each once."""
        terms = [term for stage in self.stages for phase in stage.phases for term in phase.terms]
        return list(dict.fromkeys(term.penalty for term in terms if term.penalty))

    def anchored(self) -> list[Penalty]:
        """Distinct penalties whose distances a training run computes, for a loss or only to monitor them."""
        drifts = [item.penalty for stage in self.stages for item in stage.watch if isinstance(item, Drift)]
        return list(dict.fromkeys([*self.penalties(), *drifts]))

    def trains_encoder(self) -> bool:
        """Whether any stage updates the encoder."""
        return any(stage.trains_encoder() for stage in self.stages)

    def keeps_states(self, stage: Stage) -> bool:
        """Whether states of labelled units are computed only once for a stage, since its encoder is frozen, without dropout."""
        return not (stage.trains_encoder() or self.encoder_dropout_when_frozen)

    def frozen_bottom(self, stage: Stage) -> int | None:
        """Number of the encoder's lowest layers whose outputs are computed once for a stage; None if all run in each step.

        They run in each step if their dropout is on, if phases freeze different numbers of layers, if a head or penalty reads a
        layer other than the last, or if units are means of states.
        """
        numbers = {phase.frozen_layers for phase in stage.phases if ENCODER in phase.update}
        terms = [term for phase in stage.phases for term in phase.terms]
        reads_other_layers = any(term.penalty or self.reads(term) is not None for term in terms)
        if len(numbers) != 1 or self.encoder_dropout_when_frozen or reads_other_layers or self.units.state == "mean":
            return None
        return numbers.pop()

    def data(self) -> list[Data]:
        """All Data that the recipe reads, each once."""
        data = [term.data for stage in self.stages for phase in stage.phases for term in phase.terms]
        data += [phase.at_most for stage in self.stages for phase in stage.phases if phase.at_most]
        data += [stage.select_data for stage in self.stages]
        data += [score.data for stage in self.stages for score in stage.watch] + [score.data for score in self.scores]
        data += [self.static.data] if self.static else []
        return list(dict.fromkeys(data))

    def files(self) -> list[tuple[str, str, str]]:
        """(corpus, language, split) of each file that the recipe reads, each once."""
        return list(dict.fromkeys(file for data in self.data() for file in data.files()))
