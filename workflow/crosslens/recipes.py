"""Recipes: what a training does, written out in full so that its settings alone decide whether it runs again.

A recipe is a list of stages; a stage is some epochs over phases; a phase adds up loss terms and updates some modules.
Every objective of the papers is composed of these: supervised training is one phase of one term; gradient reversal is a
second term whose gradient is reversed on its way to the encoder; entropy maximisation is two phases an epoch.
"""

from typing import Literal

from crosslens.config import Config, Run, Section, Split

UPOS = (
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
).split()

TASK, LANGUAGE, ENCODER = "task", "language", "encoder"  # module names


class Data(Section):
    """Texts that a term, a selection or a score reads."""

    corpus: str
    split: Split
    languages: tuple[str, ...]

    def files(self) -> list[tuple[str, str, str]]:
        """(corpus, language, split) of each file."""
        return [(self.corpus, language, self.split) for language in self.languages]


class Term(Section):
    """One summand of a loss, a mean over labelled positions."""

    head: str
    data: Data
    loss: Literal["cross_entropy", "uniformity", "entropy"] = "cross_entropy"
    weight: float = 1.0
    reversal: float | None = None  # the gradient into the encoder is multiplied by -reversal


class Phase(Section):
    """One pass: the terms' sum is minimised in the updated modules; the shortest term's data sets the number of steps."""

    terms: tuple[Term, ...]
    update: tuple[str, ...]  # ENCODER and head names


class Stage(Section):
    """Epochs of phases; keeps the best epoch, the untrained one included (tanti2021's code: training_process.py 320-342)."""

    name: str
    phases: tuple[Phase, ...]
    epochs: int
    batch: int
    encoder_rate: float = 0.0
    head_rate: float
    new_heads: tuple[str, ...]  # drawn anew at the start
    select_head: str
    select_data: Data

    def trains_encoder(self) -> bool:
        """Whether any phase updates the encoder."""
        return any(ENCODER in phase.update for phase in self.phases)


class Score(Section):
    """Predictions of a head that are kept."""

    head: str
    data: Data


class Recipe(Section):
    """One training, from an encoder to predictions on all its targets."""

    name: str
    encoder: str
    reinitialise: Literal["none", "all"] = "none"
    labels: dict[str, tuple[str, ...]]  # of each head
    stages: tuple[Stage, ...]
    scores: tuple[Score, ...]
    init_sd: float
    dropout: float
    warmup: float = 0.0
    decay: Literal["none", "linear"] = "none"
    weight_decay: float = 0.0
    clip: float | None = None
    select_by: Literal["paper", "token"] = "token"
    encoder_dropout_when_frozen: bool = False
    precision: Literal["float32", "bfloat16", "float16"] = "float32"

    def data(self) -> list[Data]:
        """All texts that the recipe reads, each once."""
        found = [term.data for stage in self.stages for phase in stage.phases for term in phase.terms]
        found += [stage.select_data for stage in self.stages] + [score.data for score in self.scores]
        return list(dict.fromkeys(found))

    def files(self) -> list[tuple[str, str, str]]:
        """(corpus, language, split) of each file that the recipe reads, each once."""
        return list(dict.fromkeys(file for data in self.data() for file in data.files()))


def resolve(name: str, config: Config) -> Recipe:
    """The recipe of a path-like name, such as tanti2021/pos/finetuned. Raises KeyError for a name that is none."""
    paper, task, run = name.split("/")
    if (paper, task) != ("tanti2021", "pos"):
        raise KeyError(f"no recipe '{name}'")
    return _tanti2021_pos(name, run, config)


def names(config: Config) -> list[str]:
    """Names of all recipes of the configuration."""
    return [f"tanti2021/pos/{run}" for run in config.papers.tanti2021.runs]


def _tanti2021_pos(name: str, run_name: str, config: Config) -> Recipe:
    """Part-of-speech half of tanti2021: a task stage, then a language head on the encoder as the task left it."""
    paper = config.papers.tanti2021
    training, run = paper.training, paper.runs[run_name]  # type: ignore[index]
    task_languages = tuple(config.corpora[paper.corpus].languages)
    known_languages = tuple(config.corpora[paper.language_corpus].languages)
    source = (paper.source_language,)

    def sentences(split: Split, languages: tuple[str, ...]) -> Data:
        return Data(corpus=paper.corpus, split=split, languages=languages)

    def paragraphs(split: Split) -> Data:
        return Data(corpus=paper.language_corpus, split=split, languages=known_languages)

    label = Term(head=TASK, data=sentences("train", source))
    language = Term(head=LANGUAGE, data=paragraphs("train"))
    trained = (ENCODER,) if run.encoder_rate else ()
    task_stage = Stage(
        name="task",
        phases=_phases(run, label, language, trained, training.entropy),
        epochs=training.epochs,
        batch=run.batch,
        encoder_rate=run.encoder_rate or 0.0,
        head_rate=run.head_rate,
        new_heads=(TASK, LANGUAGE),
        select_head=TASK,
        select_data=sentences("validation", source),
    )
    language_stage = Stage(
        name="language",
        phases=(Phase(terms=(language,), update=(LANGUAGE,)),),
        epochs=training.language_epochs,
        batch=run.batch,
        head_rate=run.language_head_rate or run.head_rate,
        new_heads=(LANGUAGE,),
        select_head=LANGUAGE,
        select_data=paragraphs("validation"),
    )
    return Recipe(
        name=name,
        encoder=paper.encoder,
        reinitialise=run.reinitialise,
        labels={TASK: tuple(UPOS), LANGUAGE: known_languages},
        stages=(task_stage, language_stage),
        scores=(
            Score(head=TASK, data=sentences("test", task_languages)),
            Score(head=LANGUAGE, data=sentences("test", task_languages)),
            Score(head=LANGUAGE, data=paragraphs("test")),
        ),
        init_sd=run.init_sd,
        dropout=training.dropout,
        warmup=training.warmup,
        decay=training.decay,
        weight_decay=training.weight_decay,
        clip=training.clip,
        select_by=training.select_by,
        encoder_dropout_when_frozen=training.encoder_dropout_when_frozen,
        precision=training.precision,
    )


def _phases(run: Run, label: Term, language: Term, trained: tuple[str, ...], entropy: str) -> tuple[Phase, ...]:
    """The objective of a run, composed of terms (tanti2021, section 3)."""
    if run.reversal is not None:
        reversed_language = language.model_copy(update={"reversal": run.reversal})
        return (Phase(terms=(label, reversed_language), update=(*trained, TASK, LANGUAGE)),)
    if run.uniformity is not None:
        # The language head learns first, alone; then the encoder learns to make its output uniform (the head does not move).
        loss = "uniformity" if entropy == "paper" else "entropy"
        uniform = language.model_copy(update={"loss": loss, "weight": run.uniformity})
        return (
            Phase(terms=(language,), update=(LANGUAGE,)),
            Phase(terms=(label, uniform), update=(*trained, TASK)),
        )
    return (Phase(terms=(label,), update=(*trained, TASK)),)
