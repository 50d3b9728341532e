"""tanti2021: recipes of the training runs and of the trials of the random search."""

from collections.abc import Iterable, Sequence
from math import prod
from random import Random
from typing import Any, Literal

from crosslens.config.base import Split
from crosslens.config.heads import LANGUAGE, TASK, LinearHead
from crosslens.config.recipes import ENCODER, Data, Edit, Phase, Recipe, Score, Stage, Term
from crosslens.config.units import Units
from crosslens.config.whole import Config, once
from crosslens.papers.tanti2021.config import Run, section
from crosslens.papers.tanti2021.names import LABELS, PAPER, SEARCHED, UNITS, recipe_name


@once
def recipes(config: Config) -> dict[str, Recipe]:
    """Training runs by name, such as tanti2021/pos/finetuned."""
    tasks = section(config).tasks
    return {
        recipe_name(task, name): _recipe(task, name, run, config)
        for task, settings in tasks.items()
        for name, run in settings.runs.items()
    }


@once
def trials(config: Config) -> dict[str, list[Recipe]]:
    """Trials of the random search by job, which is named after its first trial, such as tanti2021/pos/finetuned/trials03.

    With seed 0 and the grid of table 4, they are the authors' own 20 sets in the authors' order, the same for both tasks. Each
    value is sampled independently, and duplicate sets are sampled again (bin/random_parameter_space_generator.py:195-249).
    """
    search, trials_by_job = section(config).search, dict[str, list[Recipe]]()
    for experiment in section(config).experiments():
        task, name = experiment.split("/")
        run = section(config).run(task, name)
        grid = {key: getattr(search, key) for key in SEARCHED if getattr(run, key) is not None}
        number_of_sets = min(search.trials, prod(len(set(values)) for values in grid.values()))
        random, sets = Random(search.seed), dict[tuple[float, ...], None]()
        while len(sets) < number_of_sets:
            sets.setdefault(tuple(random.choice(values) for values in grid.values()))
        for number, values in enumerate(sets):
            job = f"{recipe_name(task, name)}/trials{number - number % search.trials_per_job:02d}"
            trial = _trial(f"{job}/trial{number:02d}", task, run, dict(zip(grid, values, strict=True)), config)
            trials_by_job.setdefault(job, []).append(trial)
    return trials_by_job


def _recipe(task: str, name: str, run: Run, config: Config) -> Recipe:
    """Recipe of a training run: the task first, then language heads on the resulting encoder, which no longer changes."""
    training = section(config).training
    rates = {LANGUAGE: run.language_head_rate or run.head_rate}
    rates |= {f"{LANGUAGE} {rate:.0e}": rate for rate in training.language_head_rates}
    stages = _task_stages(task, run, config)
    for head, rate in rates.items():
        # Under entropy maximisation, the language head keeps its optimiser (authors' code: lang_ent_max_tag/model.py, 989-996).
        carries = (LANGUAGE,) if head == LANGUAGE and run.uniformity is not None else ()
        stages.append(_language_stage(head, head, rate, training.language_epochs, run, config, carries=carries))
    tests = (
        _texts(task, config, "test", [*config.corpora[section(config).task(task).corpus].languages]),
        _paragraphs(config, "test"),
    )
    scores = [Score(head=TASK, data=tests[0]), *(Score(head=head, data=data) for head in rates for data in tests)]
    return Recipe(
        name=recipe_name(task, name), stages=tuple(stages), scores=tuple(scores), **_shared(task, run, rates, config),
    )  # fmt: skip


def _trial(name: str, task: str, run: Run, values: dict[str, float], config: Config) -> Recipe:
    """Recipe of a trial, which learns only the task, with the hyperparameters `values`.

    It is scored on multilingual development data, so the paper's search is not strictly zero-shot.
    """
    run = run.model_copy(update=values)
    *before, main = _task_stages(task, run, config)
    dev_languages = [language for language, split in config.corpora[section(config).task(task).corpus].parts() if split == "dev"]
    return Recipe(
        name=name, trial=values, keeps_weights=False,
        stages=(*before, main.model_copy(update={"watch": ()})),
        scores=(Score(head=TASK, data=_texts(task, config, "dev", dev_languages)),), **_shared(task, run, [LANGUAGE], config),
    )  # fmt: skip


def _shared(task: str, run: Run, language_heads: Iterable[str], config: Config) -> dict[str, Any]:
    """Fields shared by the recipes of a training run and its trials. language_heads: names of the heads besides the task's."""
    paper = section(config)
    settings, dropout = paper.task(task), run.encoder_dropout_when_frozen
    language_head = LinearHead(learns=LANGUAGE, labels=_paragraphs(config, "train").languages)
    return paper.training.of_recipe() | {
        "paper": PAPER,
        "task": task,
        "source": paper.source_language,
        "encoder": paper.encoder,
        "tokenisation": paper.tokenisation,
        "units": Units(unit=UNITS[task], state=settings.state, segments=settings.segments),
        "edit": Edit(layers="all", embeddings=True) if run.reinitialise == "all" else Edit(),
        "heads": {TASK: LinearHead(labels=LABELS[task]), **dict.fromkeys(language_heads, language_head)},
        "init_sd": run.init_sd,
        **({} if dropout is None else {"encoder_dropout_when_frozen": dropout}),
    }


def _texts(task: str, config: Config, split: Split, languages: Sequence[str] = (), *, capped: bool = False) -> Data:
    """Texts of the task.

    languages: () means the source language.
    capped: whether all languages together, with equal limits, have at most as many texts as the source language.
    """
    paper = section(config)
    return Data(
        corpus=paper.task(task).corpus,
        split=split,
        languages=tuple(languages) or (paper.source_language,),
        capped_by=paper.source_language if capped else None,
    )


def _taught(task: str, run: Run, config: Config, split: Split) -> Data:
    """Texts of a split (train or validation) from which a run learns the task or selects its best epoch."""
    return _texts(task, config, split, run.languages, capped=len(run.languages) > 1)


def _paragraphs(config: Config, split: Split) -> Data:
    corpus = section(config).language_corpus
    return Data(corpus=corpus, split=split, languages=tuple(config.corpora[corpus].languages))


def _task_stages(task: str, run: Run, config: Config) -> list[Stage]:
    """The stage that trains the task, preceded by one that trains only the adversary if adversary_epochs is above 0."""
    adversarial = run.reversal is not None or run.uniformity is not None
    adversary_rate = run.adversary_rate or run.head_rate
    watch = (Score(head=LANGUAGE, data=_paragraphs(config, "validation")),) if adversarial else ()
    main = Stage(
        name="task",
        phases=_phases(task, run, config),
        epochs=section(config).training.epochs,
        batch=run.batch,
        encoder_rate=run.encoder_rate or 0.0,
        head_rate=run.head_rate,
        head_rates={LANGUAGE: adversary_rate} if adversarial else {},
        new_heads=(TASK,) if run.adversary_epochs else (TASK, LANGUAGE),
        select_head=TASK,
        select_data=_taught(task, run, config, "validation"),
        watch=watch,
    )
    if not run.adversary_epochs:
        return [main]
    return [_language_stage("adversary", LANGUAGE, adversary_rate, run.adversary_epochs, run, config, watch=watch), main]


def _phases(task: str, run: Run, config: Config) -> tuple[Phase, ...]:
    """Phases of a run: its objective, composed of terms (tanti2021, section 3)."""
    encoder = (ENCODER,) if run.encoder_rate else ()
    texts, paragraphs = _taught(task, run, config, "train"), _paragraphs(config, "train")
    if run.reversal is not None:
        terms = Term(head=TASK, data=texts), Term(head=LANGUAGE, data=paragraphs, reversal=run.reversal)
        return (Phase(terms=terms, update=(*encoder, TASK, LANGUAGE)),)
    if run.uniformity is not None:
        # First only the language head is trained. Then it is fixed, and the encoder learns to make its output uniform.
        # Authors' code: lang_ent_max_tag/model.py, 888-893; training_process.py, 134-137.
        loss: Literal["uniformity", "entropy"] = "uniformity" if run.entropy == "equation_1" else "entropy"
        label = Term(head=TASK, data=texts, weight=1 - run.uniformity)
        uniform = Term(head=LANGUAGE, data=paragraphs, loss=loss, weight=run.uniformity)
        return (
            Phase(terms=(Term(head=LANGUAGE, data=paragraphs),), update=(LANGUAGE,), at_most=texts),
            Phase(terms=(label, uniform), update=(*encoder, TASK)),
        )
    return (Phase(terms=(Term(head=TASK, data=texts),), update=(*encoder, TASK)),)


def _language_stage(name: str, head: str, rate: float, epochs: int, run: Run, config: Config, **options: Any) -> Stage:
    """A stage that trains only a new language head, on the frozen encoder."""
    return Stage(
        name=name,
        phases=(Phase(terms=(Term(head=head, data=_paragraphs(config, "train")),), update=(head,)),),
        epochs=epochs,
        batch=run.batch,
        head_rate=rate,
        new_heads=(head,),
        select_head=head,
        select_data=_paragraphs(config, "validation"),
        **options,
    )
