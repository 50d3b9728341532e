"""wu2019: training runs of five tasks from English and in each language, also with frozen layers; language identification."""

from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from crosslens.config.base import languages_table
from crosslens.config.heads import LANGUAGE, TASK, Head, LinearHead, Mix, ParserHead
from crosslens.config.labels import ENTITIES, NLI, RELATIONS, UPOS
from crosslens.config.recipes import ENCODER, Data, Edit, Halving, Phase, Recipe, Score, Stage, Term
from crosslens.config.units import Units
from crosslens.config.whole import Config, once
from crosslens.corpora.sources.registry import load
from crosslens.papers.wu2019.config import TaskName, section
from crosslens.papers.wu2019.names import (
    FEATURES,
    FULL,
    IDENTIFICATION,
    PAPER,
    RELEASED_ROOT,
    TAGS,
    UNTRAINED,
    Study,
    Variant,
    freeze,
    recipe_name,
)

LABELS: dict[TaskName, tuple[str, ...]] = {"nli": NLI, "ner": ENTITIES, "pos": UPOS, "parsing": RELATIONS}
"""Task -> its labels, except `topic`, which has the labels of its corpora."""
SELECT = {"topic": "accuracy", "nli": "accuracy", "ner": "spans", "pos": "accuracy", "parsing": "las"}
OF_TEXTS: tuple[TaskName, ...] = ("topic", "nli")
PRINTED = {
    "topic": ["mldoc"], "nli": ["xnli_translated"], "ner": ["conll2003", "conll2003_german", "conll2002", "msra"],
    "pos": ["wu2019_tagging"], "parsing": ["wu2019_parsing"],
}  # fmt: skip
"""Task -> keys of the paper's corpora."""
CONSTANT = {"warmup": 0.0, "decay": "none", "weight_decay": 0.0}
"""Settings of training runs on a frozen encoder: no schedule, since Halving lowers the learning rate."""


@once
def recipes(config: Config) -> dict[str, Recipe]:
    """Training runs by name, such as wu2019/ner/en/freeze3."""
    paper = section(config)
    all_recipes = [
        _recipe(task, *language_and_variant, config) for task in paper.tasks for language_and_variant in _trained(task, config)
    ]
    if paper.identification:
        all_recipes += [_identification(IDENTIFICATION, config), _identification(UNTRAINED, config, reinitialised=True)]
    return {recipe.name: recipe for recipe in all_recipes}


class Trial(NamedTuple):
    """A trial of the grid search.

    job: name of its job, such as wu2019/pos/en/full/trials00.
    values: its hyperparameters.
    """

    job: str
    name: str
    task: TaskName
    variant: Variant
    values: dict[str, float]


@once
def grid(config: Config) -> list[Trial]:
    """All trials of the grid search, each in a job of its own."""
    paper, searchable = section(config), section(config).searchable()
    grid_trials, tasks = [], [task for task in paper.search.tasks if task in paper.tasks]
    for task, name in product(tasks, paper.search.variants):
        values = product(paper.search.rate, paper.search.batch, paper.search.epochs)
        for number, (rate, batch, epochs) in enumerate(values):
            job = f"{recipe_name(task, paper.source_language, searchable[name])}/trials{number:02d}"
            hyperparameters = {"rate": rate, "batch": batch, "epochs": epochs}
            grid_trials.append(Trial(job, f"{job}/trial{number:02d}", task, searchable[name], hyperparameters))
    return grid_trials


@once
def trials(config: Config) -> dict[str, list[Recipe]]:
    """Trials of the grid search by job, one each."""
    source = section(config).source_language
    return {
        trial.job: [_recipe(trial.task, source, trial.variant, config, name=trial.name, trial=trial.values)]
        for trial in grid(config)
    }


@once
def study(config: Config) -> Study:
    """The configured training runs and test sets."""
    paper = section(config)
    tests = {str(task): paper.corpora(task, config, "test") for task in paper.tasks}
    codes = dict.fromkeys(code for languages in tests.values() for code in languages)
    return Study(
        source=paper.source_language,
        tests=tests,
        trains={str(task): paper.corpora(task, config, "train") for task in paper.tasks},
        frozen=paper.frozen,
        features=paper.features is not None,
        released_root=paper.released_root,
        names={code: languages_table()[code]["name"] for code in codes},
        chance={task: 100 / len(_labels(task, config)) for task in OF_TEXTS if task in paper.tasks},
        substitutes={
            str(task): _sources(settings.corpora, config)
            for task, settings in paper.tasks.items()
            if settings.corpora != PRINTED[task]
        },
    )


def _sources(corpora: Iterable[str], config: Config) -> list[str]:
    """Names of the distributions that some corpora come from."""
    keys = dict.fromkeys(key for corpus in corpora for key in sorted(config.corpora[corpus].sources()))
    return [_titles().get(key, key) for key in keys]  # sources added in an overlay have no title


@cache
def _titles() -> dict[str, str]:
    return {key: source.name for key, source in load().items()}


def _trained(task: TaskName, config: Config) -> list[tuple[str, Variant]]:
    """Language and variant of each training run of a task."""
    paper = section(config)
    source, tests = paper.source_language, paper.corpora(task, config, "test")
    variants = [FULL, *map(freeze, paper.frozen), *([FEATURES] if paper.features else [])]
    if task == "parsing":
        variants += [TAGS, *([RELEASED_ROOT] if paper.released_root else [])]
    other_languages = [code for code in paper.corpora(task, config, "train") if code != source and code in tests]
    return [*((source, variant) for variant in variants), *((code, FULL) for code in other_languages)]


def _recipe(
    task: TaskName, language: str, variant: Variant, config: Config, *, name: str = "", trial: dict[str, float] | None = None
) -> Recipe:  # fmt: skip
    """Recipe of a training run or of a trial.

    Runs on the source language are tested in all languages, the others in their own. A trial is scored only on validation data.

    name, trial: name and hyperparameters of a trial.
    """
    paper, task_settings = section(config), section(config).tasks[task]
    features = paper.features if variant == FEATURES else None
    of_task = task_settings.model_dump(include={"epochs", "batch", "rate", "head_rate"}, exclude_none=True)
    training = paper.training.model_copy(update=of_task | (trial or {}))
    if features:
        heads_alone = features.model_dump(include={"epochs", "batch", "rate"}) | {"head_rate": None}
        training = training.model_copy(update=heads_alone | CONSTANT)
    corpus = paper.corpora(task, config, "train")[language]
    train = Data(corpus=corpus, split="train", languages=(language,))
    selecting = language if task_settings.selection == "own" else paper.source_language
    selection_corpus = paper.corpora(task, config, "train")[selecting]
    held_out = Data(corpus=selection_corpus, split=_held_out(selection_corpus, config), languages=(selecting,))
    phase = Phase(
        terms=(Term(head=TASK, data=train, loss="tree" if task == "parsing" else "cross_entropy"),),
        update=(*([] if features else [ENCODER]), TASK),
        frozen_layers=variant.frozen,
    )
    stage = Stage(
        name="task",
        phases=(phase,),
        epochs=training.epochs,
        batch=training.batch,
        encoder_rate=0.0 if features else training.rate,
        head_rate=training.head_rate or training.rate,
        new_heads=(TASK,),
        select_head=TASK,
        select_data=held_out,
        halving=Halving(floor=features.floor) if features else None,
    )
    tests = [] if trial else _tests(task, language, config)
    of_texts = {"unit": "text", "state": "words" if features else "hidden", "segments": paper.segments}
    return Recipe(
        name=name or recipe_name(task, language, variant),
        paper=PAPER,
        task=task,
        source=language,
        trial=trial or {},
        keeps_weights=False,
        encoder=paper.encoder,
        tokenisation=paper.tokenisation_of(task),
        units=Units.model_validate(of_texts) if task in OF_TEXTS else Units(),
        heads={TASK: _head(task, variant, config)},
        stages=(stage,),
        scores=tuple(Score(head=TASK, data=data) for data in (held_out, *tests)),
        select_by=SELECT[task],
        decays="matrices",
        **training.of_recipe(),
    )


def _labels(task: TaskName, config: Config) -> tuple[str, ...]:
    return LABELS.get(task) or section(config).topics(config)


def _head(task: TaskName, variant: Variant, config: Config) -> Head:
    paper, mix = section(config), None
    if variant == FEATURES and paper.features:
        of_lstm = paper.features.model_dump(include={"lstm_layers", "lstm_size", "reads"})
        mix = Mix(**of_lstm, pool=task in OF_TEXTS)
    if task != "parsing":
        return LinearHead(labels=_labels(task, config), mix=mix)
    settings = paper.parser.model_dump()
    if variant == RELEASED_ROOT:
        settings |= {"root": "as_released", "decoding": "probability"}
    return ParserHead(labels=RELATIONS, mix=mix, **settings | {"tag_size": paper.parser.tag_size if variant == TAGS else 0})


def _held_out(corpus: str, config: Config) -> Any:
    """Split on which the epoch is selected: validation or, if the corpus has none, dev (XNLI)."""
    splits = {split for _, split in config.corpora[corpus].parts()}
    return "validation" if "validation" in splits else "dev"


def _tests(task: TaskName, language: str, config: Config) -> list[Data]:
    """Test sets of a training run: of all languages, by corpus, for the source language; otherwise only of its own language."""
    paper = section(config)
    by_language = paper.corpora(task, config, "test")
    if language != paper.source_language:
        return [Data(corpus=by_language[language], split="test", languages=(language,))]
    corpora = dict.fromkeys(by_language.values())
    return [
        Data(corpus=corpus, split="test", languages=tuple(code for code, test in by_language.items() if test == corpus))
        for corpus in corpora
    ]


def _identification(name: str, config: Config, *, reinitialised: bool = False) -> Recipe:
    """Recipe that trains a linear language head on the mean hidden state of each layer in turn, with a frozen encoder."""
    paper, settings = section(config), section(config).identification
    assert settings is not None
    layers = range(int(config.encoders[paper.encoder].n_layers() or 0) + 1)
    languages = tuple(config.corpora[settings.corpus].languages)
    train, validation, test = (
        Data(corpus=settings.corpus, split=split, languages=languages)
        for split in ("train", _held_out(settings.corpus, config), "test")
    )
    heads = {f"{LANGUAGE} layer {layer}": LinearHead(labels=languages, layer=layer, learns=LANGUAGE) for layer in layers}
    stages = [
        Stage(
            name=head,
            phases=(Phase(terms=(Term(head=head, data=train),), update=(head,)),),
            epochs=settings.epochs,
            batch=settings.batch,
            head_rate=settings.rate,
            new_heads=(head,),
            select_head=head,
            select_data=validation,
            halving=Halving(floor=settings.floor),
        )
        for head in heads
    ]
    return Recipe(
        name=name,
        paper=PAPER,
        task=LANGUAGE,
        keeps_weights=False,
        encoder=paper.encoder,
        tokenisation=settings.tokenisation,
        units=Units(unit="text", state="mean", segments=paper.segments),
        edit=Edit(layers="all", embeddings=True) if reinitialised else Edit(),
        heads=heads,
        stages=tuple(stages),
        scores=tuple(Score(head=head, data=test) for head in heads),
        select_by="accuracy",
        **paper.training.model_copy(update=CONSTANT).of_recipe(),
    )
