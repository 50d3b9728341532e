"""The trainings of tanti2021."""

from crosslens.config.base import Split
from crosslens.config.tanti2021 import Run
from crosslens.config.whole import Config
from crosslens.recipes import ENCODER, LANGUAGE, TASK, Data, Phase, Recipe, Score, Stage, Term
from crosslens.upos import UPOS


def pos(name: str, run_name: str, config: Config) -> Recipe:
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
        labels={TASK: UPOS, LANGUAGE: known_languages},
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
