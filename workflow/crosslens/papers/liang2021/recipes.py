"""liang2021: training runs with L-DAR, its baselines, and heads on states without some directions. Layer 0: embeddings."""

from collections.abc import Mapping, Sequence
from typing import Any

from crosslens.config.base import Split
from crosslens.config.heads import TASK, LinearHead, Projection
from crosslens.config.labels import ENTITIES, UPOS
from crosslens.config.recipes import ENCODER, Artefact, Data, Drift, Edit, Penalty, Phase, Recipe, Score, Stage, Term
from crosslens.config.whole import Config, once
from crosslens.papers.liang2021.config import Liang2021, LiangTraining, Model, TaskName, section
from crosslens.papers.liang2021.names import PAPER, Study, part_name, pretrained, recipe_name, untrained

LABELS = {"pos": UPOS, "ner": tuple(tag for tag in ENTITIES if not tag.endswith("-MISC"))}
FROZEN = "frozen"
WATCHED = 1000  # texts of each training language on which distances from the pretrained encoder are recorded


@once
def recipes(config: Config) -> dict[str, Recipe]:
    """Recipes by name, such as liang2021/pos/en/ldar: training runs, pretrained encoders, and one with random weights."""
    paper = section(config)
    untouched = {pretrained(encoder): (encoder, Edit()) for encoder in paper.texts}
    untouched[untrained(paper.encoder)] = (paper.encoder, Edit(layers="all", embeddings=True))
    all_recipes = [
        Recipe.without_training(name, paper=PAPER, encoder=encoder, tokenisation=paper.tokenisation, edit=edit)
        for name, (encoder, edit) in untouched.items()
    ]
    for task in paper.tasks:
        for sources in paper.sources:
            all_recipes += [_model(name, task, sources, model, config) for name, model in paper.models.items()]
        all_recipes += [_frozen(task, config), *(_tuned(task, *part, config) for part in _parts(paper.removal.tuned))]
    return {recipe.name: recipe for recipe in all_recipes}


@once
def study(config: Config) -> Study:
    """The configured training runs and test sets."""
    paper = section(config)
    tasks = {str(task): settings.corpus for task, settings in paper.tasks.items()}
    return Study(
        tasks=tasks,
        languages={corpus: config.corpora[corpus].languages for corpus in tasks.values()},
        sources=paper.sources,
        models={name: bool(model.weight) and model.layers != "all" for name, model in paper.models.items()},
        penalties={
            name: model.model_dump(include={"weight", "layers", "anchor"}) for name, model in paper.models.items() if model.weight
        },
    )


def removals(config: Config) -> dict[str, list[dict[str, Any]]]:
    """Heads shown in figure 4, by task.

    Each has recipe, head, first (number of removed directions) and random (whether these are random).
    """
    paper, english = section(config), section(config).sources[0]
    frozen = {task: recipe_name(task, english, FROZEN) for task in paper.tasks}
    return {
        task: [
            *({"recipe": frozen[task], "head": f"{TASK} {part_name(*part)}", "first": part[0], "random": part[1]}
              for part in _parts(paper.removal.first)),
            *({"recipe": recipe_name(task, english, part_name(*part)), "head": TASK, "first": part[0], "random": part[1]}
              for part in _parts(paper.removal.tuned)),
        ]
        for task in paper.tasks
    }  # fmt: skip


def _parts(numbers: Sequence[int]) -> list[tuple[int, bool]]:
    """(number of removed directions, whether they are random) of each head.

    Heads without removal are of both kinds too: AdamW depends on the coordinates in which a head reads the same states.
    """
    return [(first, random) for random in (False, True) for first in numbers]


def _model(name: str, task: TaskName, sources: Sequence[str], model: Model, config: Config) -> Recipe:
    paper = section(config)
    penalty = Penalty(
        weight=model.weight,
        layers="all" if model.layers == "all" else tuple(model.layers),
        dimensions=paper.dimensions,
        anchor=model.anchor,
    )
    heads = {TASK: LinearHead(labels=LABELS[task])}
    # The released code uses the encoder's dropout rate before the head too (run_tag_LDAR.py, line 89).
    training = paper.training if model.dropout else paper.training.model_copy(update={"dropout": 0.0})
    # Distances at all layers from the pretrained encoder, whatever the model's own penalty, make any two models comparable.
    drift = Penalty(weight=model.weight, dimensions=paper.dimensions)
    own_penalty = penalty if model.weight else None
    return _recipe(name, task, sources, heads, training, config, penalty=own_penalty, drift=drift, encoder_dropout=model.dropout)


def _tuned(task: TaskName, first: int, random: bool, config: Config) -> Recipe:
    paper, head = section(config), LinearHead(labels=LABELS[task], projection=Projection(first=first, random=random))
    return _recipe(part_name(first, random), task, paper.sources[0], {TASK: head}, paper.training, config)


def _frozen(task: TaskName, config: Config) -> Recipe:
    """Recipe that trains all heads of figure 4 on the frozen encoder at once.

    The heads share only the states. Gradients are not clipped, since their norm would be taken over all heads.
    """
    paper = section(config)
    parts = {f"{TASK} {part_name(*part)}": Projection(first=part[0], random=part[1]) for part in _parts(paper.removal.first)}
    heads = {name: LinearHead(labels=LABELS[task], projection=projection) for name, projection in parts.items()}
    rate = paper.removal.rate
    training = paper.training.model_copy(update={"rate": rate, "head_rate": rate, "clip": None, "keep": "last"})
    return _recipe(FROZEN, task, paper.sources[0], heads, training, config, frozen=True)


def _recipe(
    name: str, task: TaskName, sources: Sequence[str], heads: Mapping[str, LinearHead], training: LiangTraining, config: Config,
    *, penalty: Penalty | None = None, drift: Penalty | None = None, frozen: bool = False, encoder_dropout: bool = True,
) -> Recipe:  # fmt: skip
    """Recipe that trains some heads and scores them in all languages.

    penalty: part of the loss; drift: penalty whose distances are recorded; frozen: whether only the heads are trained, and
    validated once per epoch.
    """
    paper = section(config)
    train, validation = (_source_data(paper, task, split, sources) for split in ("train", "validation"))
    watched_data = validation.model_copy(update={"texts": WATCHED})
    stage = Stage(
        name="task",
        phases=(
            Phase(
                terms=tuple(Term(head=head, data=train, penalty=penalty) for head in heads),
                update=(*([] if frozen else [ENCODER]), *heads),
            ),
        ),
        epochs=training.epochs,
        batch=training.batch,
        encoder_rate=0.0 if frozen else training.rate,
        head_rate=training.head_rate or training.rate,
        new_heads=tuple(heads),
        select_head=next(iter(heads)),
        select_data=validation,
        interval=None if frozen else paper.tasks[task].interval,
        keep=training.keep,
        watch=(Drift(head=TASK, data=watched_data, penalty=drift),) if drift else (),
    )
    corpus = paper.tasks[task].corpus
    test = Data(corpus=corpus, split="test", languages=tuple(config.corpora[corpus].languages))
    needs_subspaces = drift or any(head.projection and not head.projection.random for head in heads.values())
    return Recipe(
        name=recipe_name(task, sources, name),
        paper=PAPER,
        task=task,
        source="_".join(sources),
        encoder=paper.encoder,
        tokenisation=paper.tokenisation,
        artefact=Artefact(kind="subspaces", recipe=pretrained(paper.encoder), seed=paper.seeds[0]) if needs_subspaces else None,
        heads=heads,
        stages=(stage,),
        scores=tuple(Score(head=head, data=test) for head in heads),
        select_by="spans",  # seqeval's f1_score for both tasks (run_tag_LDAR.py, lines 272-274 and 390-392)
        keeps_weights=False,
        encoder_dropout=encoder_dropout,
        **training.of_recipe(),
    )


def _source_data(paper: Liang2021, task: TaskName, split: Split, sources: Sequence[str]) -> Data:
    capped_by = sources[0] if len(sources) > 1 else None
    return Data(corpus=paper.tasks[task].corpus, split=split, languages=tuple(sources), capped_by=capped_by)
