"""muller2021: recipes for three tasks and three source languages, with sets of layers re-initialised (RANDOM-INIT)."""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

from crosslens.config.base import Split, families_of, languages_table
from crosslens.config.heads import TASK, LinearHead, ParserHead
from crosslens.config.labels import ENTITIES, RELATIONS, UPOS
from crosslens.config.recipes import ENCODER, Data, Edit, Phase, Recipe, Score, Stage, Term
from crosslens.config.whole import Config, once
from crosslens.numerics.definitions import LAS_SEEN, LAS_WITH_SUBTYPES
from crosslens.papers.muller2021.config import Muller2021, TaskName, section
from crosslens.papers.muller2021.names import COMPARED, DOMAIN, PRETRAINED, REF, UNTRAINED, Study, item_recipes, recipe_name

PAPER = "muller2021"
LABELS = {"pos": UPOS, "ner": ENTITIES}
SELECT = {"parsing": "las", "pos": "accuracy", "ner": "spans"}


def set_name(layers: Sequence[int] | str) -> str:
    """Name of a set of re-initialised layers, such as 1, 1-2, 2_4 or all."""
    if isinstance(layers, str):
        return layers
    run = list(layers) == list(range(layers[0], layers[-1] + 1))
    return f"{layers[0]}-{layers[-1]}" if run and len(layers) > 1 else "_".join(map(str, layers))


def edits(paper: Muller2021) -> dict[str, Edit]:
    """Name of a set of re-initialised layers -> edit of the encoder, for all configured sets."""
    edits_by_set, how = {REF: Edit()}, paper.training.initialisation
    for layers in [*paper.pairs, *paper.sets, *paper.similarity.sets]:
        blocks = "all" if isinstance(layers, str) else tuple(layers)
        edits_by_set[set_name(layers)] = Edit(layers=blocks, embeddings=layers == "all_embeddings", initialisation=how)
    return edits_by_set


class Source(NamedTuple):
    """A task and the data that it is trained on."""

    task: TaskName
    name: str  # the language, followed by DOMAIN for the corpus of table 2
    language: str
    corpus: str


def sources(paper: Muller2021) -> list[Source]:
    """Sources of all configured training runs."""
    all_sources = [Source(task, language, language, paper.tasks[task].corpus)
             for task, language in product(paper.tasks, paper.source_languages)]  # fmt: skip
    first, *_ = paper.source_languages
    if paper.domain_corpus:
        all_sources += [Source(task, f"{first}{DOMAIN}", first, paper.domain_corpus) for task in paper.tasks if task != "ner"]
    return all_sources


@once
def recipes(config: Config) -> dict[str, Recipe]:
    """Training runs by name, such as muller2021/parsing/en/init1-2, and two encoders that are not trained."""
    paper = section(config)
    edits_by_set, compared = edits(paper), [set_name(layers) for layers in paper.similarity.sets]
    with_states = {name for item in COMPARED for name in item_recipes(item, paper.source_languages, compared)}
    untrained = {PRETRAINED: Edit(), UNTRAINED: Edit(layers="all", embeddings=True)}
    shared = {"paper": PAPER, "encoder": paper.encoder, "tokenisation": paper.tokenisation}
    all_recipes = [Recipe.without_training(name, edit=edit, **shared) for name, edit in untrained.items()]
    for source in sources(paper):
        pairs = [REF, *map(set_name, paper.pairs)]
        for layers in edits_by_set if source.name == paper.source_languages[0] else pairs:
            name = recipe_name(source.task, source.name, layers)
            all_recipes.append(_recipe(name, source, config, edit=edits_by_set[layers], keeps_weights=name in with_states))
    return {recipe.name: recipe for recipe in all_recipes}


@once
def trials(config: Config) -> dict[str, list[Recipe]]:
    """Trials of the grid search by job, one each, such as muller2021/pos/en/ref/trials00."""
    paper = section(config)
    grid = [{"batch": batch, "rate": rate} for batch, rate in product(paper.search.batch, paper.search.rate)]
    trials_by_job = {}
    for source in sources(paper):
        for number, values in enumerate(grid if source.name == source.language else ()):
            job = f"{recipe_name(source.task, source.name, REF)}/trials{number:02d}"
            trials_by_job[job] = [_recipe(f"{job}/trial{number:02d}", source, config, trial=values)]
    return trials_by_job


def _recipe(name: str, source: Source, config: Config, *, trial: dict[str, float] | None = None, **options: Any) -> Recipe:
    """Recipe of a training run or, with the hyperparameters `trial`, of a trial, which is scored only on validation data."""
    paper = section(config)
    settings = paper.tasks[source.task].model_copy(update=trial)
    parses = source.task == "parsing"
    term = Term(
        head=TASK, data=_source_data(source, "train"), loss="tree" if parses else "cross_entropy",
        divided_twice=paper.training.divide_twice and not parses,
    )  # fmt: skip
    stage = Stage(
        name="task",
        phases=(Phase(terms=(term,), update=(ENCODER, TASK)),),
        epochs=settings.epochs,
        batch=settings.batch,
        encoder_rate=settings.rate,
        head_rate=settings.head_rate or settings.rate,
        new_heads=(TASK,),
        select_head=TASK,
        select_data=_source_data(source, "validation"),
        keep=paper.training.keep,
    )
    relations = () if paper.parser.subtypes else RELATIONS
    parser = ParserHead(labels=relations, **paper.parser.model_dump()) if parses else None
    tests = [] if trial else _tests(source, config)
    return Recipe(
        name=name,
        paper=PAPER,
        task=source.task,
        source=source.name,
        trial=trial or {},
        encoder=paper.encoder,
        tokenisation=paper.tokenisation,
        heads={TASK: parser or LinearHead(labels=LABELS[source.task])},
        stages=(stage,),
        scores=tuple(Score(head=TASK, data=data) for data in (_source_data(source, "validation"), *tests)),
        select_by=SELECT[source.task],
        **paper.training.of_recipe(),
        **{"keeps_weights": not trial} | options,
    )


def _source_data(source: Source, split: Split) -> Data:
    return Data(corpus=source.corpus, split=split, languages=(source.language,))


def _tests(source: Source, config: Config) -> list[Data]:
    """Test sets: all languages of the task's corpus, and of the parallel treebanks or, for table 2, of its other domains."""
    paper = section(config)
    corpora: list[str | None] = [source.corpus]
    if source.name != source.language:
        corpora += [paper.domain_literature, paper.domain_web]
    elif source.task != "ner":
        corpora.append(paper.parallel)
    elif source.language == paper.source_languages[0]:
        corpora.append(paper.domain_entities)
    return [Data(corpus=corpus, split="test", languages=tuple(config.corpora[corpus].languages)) for corpus in corpora if corpus]


@once
def study(config: Config) -> Study:
    """The configured sources, corpora and languages."""
    paper = section(config)
    own_corpora = {str(task): settings.corpus for task, settings in paper.tasks.items()}
    corpora = dict.fromkeys([*own_corpora.values(), paper.parallel, *paper.domains().values()])
    languages = {corpus: config.corpora[corpus].languages for corpus in corpora}
    names = {code: languages_table()[code]["name"] for codes in languages.values() for code in codes}
    return Study(
        sources=paper.source_languages,
        own=own_corpora,
        parallel=paper.parallel,
        domains=paper.domains(),
        languages=languages,
        names=names,
        families=dict(zip(names, families_of(names), strict=True)),
        with_subtypes=LAS_WITH_SUBTYPES if paper.parser.subtypes else LAS_SEEN,
    )
