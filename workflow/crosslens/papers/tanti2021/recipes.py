"""The trainings of tanti2021."""

from collections.abc import Iterator
from math import prod
from random import Random

from crosslens.config.base import Split
from crosslens.config.whole import Config
from crosslens.encoding.reading import Reading
from crosslens.papers.tanti2021.config import Run
from crosslens.papers.tanti2021.layout import LABELS, recipe_name
from crosslens.recipes import ENCODER, LANGUAGE, TASK, Data, Edit, Phase, Recipe, Score, Stage, Term

TRIAL = "trial"  # and its number
SEARCHED = ("encoder_rate", "reversal", "init_sd", "uniformity", "batch", "head_rate")
"""Hyperparameters in the alphabetical order of the authors' names: encoder_learning_rate, grl_lambda, init_stddev,
lang_error_weighting, minibatch_size, postencoder_learning_rate; a set is drawn in this order."""


def names(config: Config) -> Iterator[str]:
    """Recipes of the configuration, such as tanti2021/pos/finetuned."""
    for task, of in config.papers.tanti2021.tasks.items():
        yield from (recipe_name(task, run) for run in of.runs)


def recipe(name: str, config: Config) -> Recipe:
    """A training of the paper, or a trial of its search. Raises KeyError for a name that is none."""
    _, task, run_name, *trial = name.split("/")
    run = config.papers.tanti2021.tasks[task].runs[run_name]  # type: ignore[index]
    if not trial:
        return _recipe(name, task, run, config, search=False)
    return _recipe(name, task, run.model_copy(update=trials(config)[name]), config, search=True)


def trials(config: Config) -> dict[str, dict[str, float]]:
    """Trials of the random search, such as tanti2021/pos/finetuned/trial03, and their hyperparameters.

    With seed 0 and table 4's grid they are the authors' own 20 sets, in their order, alike for both tasks: each value is drawn by
    itself, and a set that there is already again (bin/random_parameter_space_generator.py:195-249).
    """
    search, found = config.papers.tanti2021.search, {}
    for experiment in search.experiments:
        task, run = experiment.split("/")
        of = config.papers.tanti2021.tasks[task].runs[run]  # type: ignore[index]
        values = {key: getattr(search, key) for key in SEARCHED if getattr(of, key) is not None}
        most = min(search.trials, prod(len(set(each)) for each in values.values()))
        random, drawn = Random(search.seed), dict[tuple[float, ...], None]()
        while len(drawn) < most:
            drawn.setdefault(tuple(random.choice(each) for each in values.values()))
        for number, chosen in enumerate(drawn):
            found[f"{recipe_name(task, run)}/{TRIAL}{number:02d}"] = dict(zip(values, chosen, strict=True))
    return found


def _recipe(name: str, task: str, run: Run, config: Config, search: bool) -> Recipe:
    """A task stage, then a language head on the encoder as the task left it; a search stops after the task."""
    paper = config.papers.tanti2021
    training, of = paper.training, paper.tasks[task]  # type: ignore[index]
    task_languages = tuple(config.corpora[of.corpus].languages)
    known_languages = tuple(config.corpora[paper.language_corpus].languages)
    source = (paper.source_language,)

    def texts(split: Split, languages: tuple[str, ...]) -> Data:
        return Data(corpus=of.corpus, split=split, languages=languages)

    def paragraphs(split: Split) -> Data:
        return Data(corpus=paper.language_corpus, split=split, languages=known_languages)

    label = Term(head=TASK, data=texts("train", source))
    language = Term(head=LANGUAGE, data=paragraphs("train"))
    trained = (ENCODER,) if run.encoder_rate else ()
    adversarial = run.reversal is not None or run.uniformity is not None
    adversary_rate = run.adversary_rate or run.head_rate
    known = Score(head=LANGUAGE, data=paragraphs("validation"))
    stages = [
        Stage(
            name="task",
            phases=_phases(run, label, language, trained),
            epochs=training.epochs,
            batch=run.batch,
            encoder_rate=run.encoder_rate or 0.0,
            head_rate=run.head_rate,
            head_rates={LANGUAGE: adversary_rate} if adversarial else {},
            new_heads=(TASK,) if run.adversary_epochs else (TASK, LANGUAGE),
            select_head=TASK,
            select_data=texts("validation", source),
            watch=(known,) if adversarial and not search else (),
        )
    ]
    if run.adversary_epochs:  # the adversary knows the languages before the encoder moves
        alone = _head_stage("adversary", language, adversary_rate, run.adversary_epochs, run.batch, known.data)
        stages.insert(0, alone.model_copy(update={"watch": (known,)}))
    rates = {LANGUAGE: run.language_head_rate or run.head_rate}
    rates |= {f"{LANGUAGE} {rate:.0e}": rate for rate in training.language_head_rates}
    if not search:
        for head, rate in rates.items():
            term = Term(head=head, data=paragraphs("train"))
            stage = _head_stage(head, term, rate, training.language_epochs, run.batch, paragraphs("validation"))
            # Entropy maximisation's language head goes on with its optimiser (authors' code: lang_ent_max_tag/model.py, 989-996).
            carries = (LANGUAGE,) if head == LANGUAGE and run.uniformity is not None else ()
            stages.append(stage.model_copy(update={"carries": carries}))
    scores = [Score(head=TASK, data=texts("test", task_languages))]
    scores += [Score(head=head, data=data) for head in rates for data in (texts("test", task_languages), paragraphs("test"))]
    if search:
        # Departure that is the paper's: dev is multilingual, so that the search is not strictly zero-shot.
        developed = tuple(language for language, split in config.corpora[of.corpus].parts() if split == "dev")
        rates, scores = {LANGUAGE: 0.0}, [Score(head=TASK, data=texts("dev", developed))]
    return Recipe(
        name=name,
        encoder=paper.encoder,
        reading=Reading(unit="word" if task == "pos" else "text", state=of.state, segments=of.segments),
        edit=Edit(layers="all", embeddings=True) if run.reinitialise == "all" else Edit(),
        labels={TASK: LABELS[task]} | dict.fromkeys(rates, known_languages),
        stages=tuple(stages),
        scores=tuple(scores),
        init_sd=run.init_sd,
        dropout=training.dropout,
        warmup=training.warmup,
        decay=training.decay,
        weight_decay=training.weight_decay,
        clip=training.clip,
        select_by=training.select_by,
        encoder_dropout_when_frozen=(
            training.encoder_dropout_when_frozen if run.encoder_dropout_when_frozen is None else run.encoder_dropout_when_frozen
        ),
        length_pools=training.length_pools,
        precision=training.precision,
    )


def _phases(run: Run, label: Term, language: Term, trained: tuple[str, ...]) -> tuple[Phase, ...]:
    """The objective of a run, composed of terms (tanti2021, section 3)."""
    if run.reversal is not None:
        reversed_language = language.model_copy(update={"reversal": run.reversal})
        return (Phase(terms=(label, reversed_language), update=(*trained, TASK, LANGUAGE)),)
    if run.uniformity is not None:
        # The language head learns first, alone; then the encoder learns to make its output uniform (the head does not move).
        # Authors' code: lang_ent_max_tag/model.py, 888-893; training_process.py, 134-137.
        loss = "uniformity" if run.entropy == "equation_1" else "entropy"
        uniform = language.model_copy(update={"loss": loss, "weight": run.uniformity})
        weighed = label.model_copy(update={"weight": 1 - run.uniformity})
        return (
            Phase(terms=(language,), update=(LANGUAGE,), at_most=label.data),
            Phase(terms=(weighed, uniform), update=(*trained, TASK)),
        )
    return (Phase(terms=(label,), update=(*trained, TASK)),)


def _head_stage(name: str, term: Term, rate: float, epochs: int, batch: int, held_out: Data) -> Stage:
    """A new head learns alone, on the encoder as it is."""
    return Stage(
        name=name,
        phases=(Phase(terms=(term,), update=(term.head,)),),
        epochs=epochs,
        batch=batch,
        head_rate=rate,
        new_heads=(term.head,),
        select_head=term.head,
        select_data=held_out,
    )
