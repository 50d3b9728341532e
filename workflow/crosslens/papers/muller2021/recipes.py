"""The trainings of muller2021: three tasks, three sources, RANDOM-INIT of sets of blocks, which count from 1."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from crosslens.config.base import Split, languages_table
from crosslens.config.states import Draw
from crosslens.config.whole import Config
from crosslens.labels import ENTITIES, RELATIONS, UPOS
from crosslens.papers.muller2021.layout import DOMAIN
from crosslens.recipes import ENCODER, TASK, Data, Edit, Parser, Phase, Recipe, Score, Stage, Term

PAPER = "muller2021"
REFERENCE = "ref"
PRETRAINED, UNTRAINED = "pretrained", "untrained"  # nothing is trained: the encoder as it is, and one drawn anew
TRIAL = "trial"
LABELS = {"parsing": RELATIONS, "pos": UPOS, "ner": ENTITIES}
SELECT = {"parsing": "las", "pos": "accuracy", "ner": "spans"}


def set_name(layers: Sequence[int] | str) -> str:
    """Name of a set of re-initialised blocks: init1, init1-2, init2_4, initall."""
    if isinstance(layers, str):
        return f"init{layers}"
    run = list(layers) == list(range(layers[0], layers[-1] + 1))
    return f"init{layers[0]}" + ("" if len(layers) == 1 else f"-{layers[-1]}" if run else "".join(f"_{n}" for n in layers[1:]))


def edits(config: Config) -> dict[str, Edit]:
    """All configured sets by name."""
    paper = config.papers.muller2021
    assert paper is not None
    how: dict[str, Any] = {"initialisation": paper.training.initialisation}
    found = {REFERENCE: Edit()}
    for layers in [*paper.pairs, *paper.similarity.sets, *paper.sets]:
        chosen = "all" if isinstance(layers, str) else tuple(layers)
        found[set_name(layers)] = Edit(layers=chosen, embeddings=layers == "all_embeddings", **how)
    return found


def name(task: str, source: str, of: str = REFERENCE) -> str:
    """A recipe's name."""
    return f"{PAPER}/{task}/{source}/{of}"


def with_sets(recipes: Iterable[str], sets: Sequence[str]) -> list[str]:
    """Recipes that show re-initialised blocks, and the same of further sets such as 1-4; others as they are."""
    found = list(recipes)
    stems = {recipe.removesuffix(REFERENCE) for recipe in found if recipe.endswith(f"/{REFERENCE}")}
    edited = {recipe.rpartition("init")[0] for recipe in found if "/init" in recipe}
    return list(dict.fromkeys([*found, *(f"{stem}init{layers}" for stem in sorted(stems & edited) for layers in sets)]))


def names(config: Config) -> Iterator[str]:
    """Recipes of the configuration, such as muller2021/parsing/en/init1-2."""
    paper = config.papers.muller2021
    if paper is None:
        return
    yield from (f"{PAPER}/{PRETRAINED}", f"{PAPER}/{UNTRAINED}")
    pairs = [REFERENCE, *map(set_name, paper.pairs)]
    first, *_ = paper.source_languages
    for task, source in product(paper.tasks, paper.source_languages):
        further = [*map(set_name, [*paper.sets, *paper.similarity.sets])] if source == first else []
        yield from (name(task, source, of) for of in dict.fromkeys([*pairs, *further]))
    if paper.domain_corpus:
        yield from (name(task, f"{first}{DOMAIN}", of) for task in paper.tasks if task != "ner" for of in pairs)


def trials(config: Config) -> dict[str, dict[str, float]]:
    """Trials of the grid search, such as muller2021/pos/en/ref/trial00, and their hyperparameters."""
    paper = config.papers.muller2021
    if paper is None:
        return {}
    grid = list(product(paper.search.batch, paper.search.rate))
    return {
        f"{name(task, source)}/{TRIAL}{number:02d}": {"batch": batch, "rate": rate}
        for task, source in product(paper.tasks, paper.source_languages)
        for number, (batch, rate) in enumerate(grid)
    }


def draws(config: Config) -> dict[str, Draw]:
    """Means of the parallel sentences' states, at all layers."""
    paper = config.papers.muller2021
    assert paper is not None
    return {paper.parallel: Draw(means=True)}


def recipe(name: str, config: Config) -> Recipe:
    """A training of the paper, or a trial of its search. Raises KeyError for a name that is none."""
    paper = config.papers.muller2021
    if paper is None:
        raise KeyError(f"no recipe '{name}'")
    training = paper.training
    _, task, *rest = name.split("/")
    shared: dict[str, Any] = {"name": name, "encoder": paper.encoder, "init_sd": training.init_sd, "dropout": training.dropout}
    if not rest:
        edit = Edit(layers="all", embeddings=True) if task == UNTRAINED else Edit()
        return Recipe(**shared, edit=edit, labels={}, stages=(), scores=())
    source, of, *trial = rest
    settings = paper.tasks[task]  # type: ignore[index]
    corpus, language = settings.corpus, source.removesuffix(DOMAIN)
    if source.endswith(DOMAIN):
        assert paper.domain_corpus is not None
        corpus = paper.domain_corpus
    if trial:
        settings = settings.model_copy(update=trials(config)[name])

    def own(split: Split) -> Data:
        return Data(corpus=corpus, split=split, languages=(language,))

    tree = task == "parsing"
    term = Term(
        head=TASK, data=own("train"), loss="tree" if tree else "cross_entropy", divided_twice=training.divide_twice and not tree
    )
    stage = Stage(
        name="task",
        phases=(Phase(terms=(term,), update=(ENCODER, TASK)),),
        epochs=settings.epochs,
        batch=settings.batch,
        encoder_rate=settings.rate,
        head_rate=settings.head_rate or settings.rate,
        new_heads=(TASK,),
        select_head=TASK,
        select_data=own("validation"),
        keep=training.keep,
    )
    tests = [] if trial else _tests(task, source, config)
    return Recipe(
        **shared,
        edit=edits(config)[of],
        parser=Parser(**paper.parser.model_dump()) if tree else None,
        labels={TASK: LABELS[task]},
        stages=(stage,),
        scores=tuple(Score(head=TASK, data=data) for data in (own("validation"), *tests)),
        warmup=training.warmup,
        decay=training.decay,
        weight_decay=training.weight_decay,
        epsilon=training.epsilon,
        clip=training.clip,
        select_by=SELECT[task],
        length_pools=training.length_pools,
        precision=training.precision,
    )


def _tests(task: str, source: str, config: Config) -> list[Data]:
    """Test sets: all languages of the task's corpus, and of the parallel treebanks; for table 2 those of its domains."""
    paper = config.papers.muller2021
    assert paper is not None
    corpora: list[str | None] = [paper.tasks[task].corpus]  # type: ignore[index]
    if source.endswith(DOMAIN):
        corpora = [paper.domain_corpus, paper.domain_literature, paper.domain_web]
    elif task != "ner":
        corpora.append(paper.parallel)
    elif source == paper.source_languages[0]:
        corpora.append(paper.domain_entities)
    return [Data(corpus=corpus, split="test", languages=tuple(config.corpora[corpus].languages)) for corpus in corpora if corpus]


def study(config: Config) -> dict[str, Any]:
    """What is scored, as the fields of items.Study."""
    paper = config.papers.muller2021
    assert paper is not None
    own = {str(task): of.corpus for task, of in paper.tasks.items()}
    configured = {
        "trained": paper.domain_corpus, "literature": paper.domain_literature, "web": paper.domain_web,
        "entities": paper.domain_entities,
    }  # fmt: skip
    domains = {domain: corpus for domain, corpus in configured.items() if corpus}
    corpora = dict.fromkeys([*own.values(), paper.parallel, *domains.values()])
    languages = {corpus: config.corpora[corpus].languages for corpus in corpora}
    names = {code: languages_table()[code]["name"] for of in languages.values() for code in of}
    return {
        "sources": paper.source_languages, "own": own, "parallel": paper.parallel, "domains": domains,
        "languages": languages, "names": names,
    }  # fmt: skip
